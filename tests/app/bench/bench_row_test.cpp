// SPDX-License-Identifier: Apache-2.0
// The statements of bench about rows: shares, coldness and notes, for made-up times.

#include "app/bench/bench_row.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/case_name.h"

namespace dmlop {
namespace {

constexpr int64_t kBytes = 1'000'000;

std::vector<Sample> SamplesOf(const std::vector<double>& seconds) {
  std::vector<Sample> samples;
  for (const double value : seconds) samples.push_back({value, value, 1});
  return samples;
}

// A steady row that takes a millisecond, as does its limit.
BenchRow RowOf(const std::vector<double>& seconds, const std::vector<double>& limit_seconds) {
  BenchRow row;
  row.name = "x.json";
  row.traffic = {kBytes / 2, kBytes / 2};
  row.samples = SamplesOf(seconds);
  row.limit_samples = SamplesOf(limit_seconds);
  row.time = StatisticsOf(row.samples);
  row.limit_time = StatisticsOf(row.limit_samples);
  return row;
}

const std::vector<double> kSteady = {1.00e-3, 1.01e-3, 0.99e-3, 1.02e-3, 0.98e-3};
const std::vector<double> kNoisy = {1e-3, 2e-3, 1.5e-3, 3e-3, 1.2e-3};

TEST(BenchRow, RatesAreThoseOfTheMedians) {
  const BenchRow row = RowOf({1e-3, 2e-3, 9e-3}, {1e-3, 1e-3, 1e-3});
  EXPECT_DOUBLE_EQ(RateOf(row), 0.5e9);
  EXPECT_DOUBLE_EQ(LimitRateOf(row), 1e9);
  EXPECT_DOUBLE_EQ(ShareOfLimit(row), 0.5);
  EXPECT_EQ(KeyOf(row), "x.json/hot/threads:1");
}

TEST(BenchRow, IsNotColdBeyondWhatMemoryGives) {
  BenchRow row = RowOf(kSteady, kSteady);
  row.cache = CacheState::kCold;
  row.memory_rate = 0.95e9;
  EXPECT_TRUE(IsAsCold(row));
  row.memory_rate = 0.9e9;
  EXPECT_FALSE(IsAsCold(row));
  row.cache = CacheState::kHot;
  EXPECT_TRUE(IsAsCold(row));
}

BenchRow ColdRow(double memory_rate) {
  BenchRow row = RowOf(kSteady, kSteady);
  row.cache = CacheState::kCold;
  row.memory_rate = memory_rate;
  return row;
}

// A millisecond, for the given share of which the process had a CPU.
BenchRow StarvedRow(double share) {
  BenchRow row = RowOf(kSteady, kSteady);
  for (Sample& sample : row.samples) sample.cpu_seconds *= share;
  return row;
}

const std::vector<double> kOneOutlierOfSix = {1.00e-3, 1.01e-3, 0.99e-3, 1.02e-3, 0.98e-3, 5e-3};
const Machine kQuietMachine{"cpu", 2, "avx2", "", 0.1};

// What is advised where nothing else is known to help.
std::string MeasureLonger(std::string_view note) {
  return fmt::format("{}; measure longer with --min-time, or on a quieter machine", note);
}

struct NoteCase {
  const char* name;
  std::vector<BenchRow> rows;
  std::vector<std::string> notes;
  Machine machine = kQuietMachine;
};

class BenchNotes : public testing::TestWithParam<NoteCase> {};

TEST_P(BenchNotes, SayEachCauseOnce) {
  const NoteCase& c = GetParam();
  EXPECT_EQ(NotesAbout({{c.machine, {}, {}, {}, false}, c.rows}), c.notes);
}

// The interquartile range of kNoisy is 1.2 to 2, and its median 1.5: 53%.
INSTANTIATE_TEST_SUITE_P(
    , BenchNotes,
    testing::Values(
        NoteCase{"Steady", {RowOf(kSteady, kSteady), ColdRow(2e9), StarvedRow(0.95)}, {}},
        NoteCase{
            "NotCold",
            {ColdRow(0.5e9)},
            {"x.json/cold/threads:1 is not cold: 1 GB/s are more than memory gives (0.5 GB/s), "
             "so caches helped that the system does not report"}},
        NoteCase{
            "TwoNotCold",
            {ColdRow(0.5e9), RowOf(kSteady, kSteady), ColdRow(0.8e9)},
            {"2 of 3 rows are not cold, most of all x.json/cold/threads:1: 1 GB/s are more "
             "than memory gives (0.5 GB/s), so caches helped that the system does not report"}},
        NoteCase{"Noisy",
                 {RowOf(kNoisy, kSteady)},
                 {MeasureLonger("x.json/hot/threads:1 is noisy: the middle half of its samples "
                                "spreads over 53% of the median")}},
        NoteCase{
            "NoisyLimit",
            {RowOf(kSteady, kNoisy)},
            {MeasureLonger("x.json/hot/threads:1 is noisy: the middle half of its limit's over "
                           "53%")}},
        NoteCase{"Outlier",
                 {RowOf(kOneOutlierOfSix, kSteady)},
                 {MeasureLonger("x.json/hot/threads:1 is noisy: 1 of 6 samples are outliers, up to "
                                "4.98 times the median")}},
        NoteCase{"Starved",
                 {StarvedRow(0.33)},
                 {"x.json/hot/threads:1 is noisy: it had a processor for 33% of the time only; "
                  "other programs keep the machine busy (load average 0.10); end them first"}},
        NoteCase{
            "All",
            {RowOf(kNoisy, kNoisy), StarvedRow(0.33), RowOf(kOneOutlierOfSix, kSteady),
             ColdRow(0.5e9)},
            {"x.json/cold/threads:1 is not cold: 1 GB/s are more than memory gives (0.5 GB/s), "
             "so caches helped that the system does not report",
             "3 of 4 rows are noisy, most of all x.json/hot/threads:1: the middle half of its "
             "samples spreads over 53% of the median, the middle half of its limit's over "
             "53%; other programs keep the machine busy (load average 0.10); end them first"}},
        NoteCase{"BusyMachine",
                 {RowOf(kNoisy, kSteady)},
                 {"x.json/hot/threads:1 is noisy: the middle half of its samples spreads over 53% "
                  "of the median; other programs keep the machine busy (load average 1.50); end "
                  "them first"},
                 {"cpu", 2, "avx2", "powersave", 1.5}},
        NoteCase{"SavingMachine",
                 {RowOf(kNoisy, kSteady)},
                 {"x.json/hot/threads:1 is noisy: the middle half of its samples spreads over 53% "
                  "of the median; the frequency governor is 'powersave'; 'performance' gives "
                  "steadier times"},
                 {"cpu", 2, "avx2", "powersave", 0.1}}),
    CaseName<NoteCase>);

}  // namespace
}  // namespace dmlop
