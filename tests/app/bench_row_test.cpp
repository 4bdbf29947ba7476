// What bench says about a row: shares, coldness and warnings, on times made up for each.

#include "app/bench/bench_row.h"

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

// A steady row that takes a millisecond, and as long as its limit.
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

struct WarningCase {
  const char* name;
  std::vector<double> seconds, limit_seconds;
  double memory_rate;              // of a cold row; 0: the row is hot
  std::vector<const char*> parts;  // of each warning
  bool is_noisy;
};

const std::vector<double> kOneOutlierOfSix = {1.00e-3, 1.01e-3, 0.99e-3, 1.02e-3, 0.98e-3, 5e-3};

class BenchWarnings : public testing::TestWithParam<WarningCase> {};

TEST_P(BenchWarnings, SayWhatIsWrong) {
  const WarningCase& c = GetParam();
  BenchRow row = RowOf(c.seconds, c.limit_seconds);
  row.memory_rate = c.memory_rate;
  if (c.memory_rate > 0) row.cache = CacheState::kCold;
  EXPECT_EQ(IsNoisy(row), c.is_noisy);
  const std::vector<std::string> warnings = WarningsAbout(row);
  ASSERT_EQ(warnings.size(), c.parts.size());
  for (size_t i = 0; i < warnings.size(); ++i) {
    EXPECT_NE(warnings[i].find(c.parts[i]), std::string::npos) << warnings[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    , BenchWarnings,
    testing::Values(WarningCase{"Steady", kSteady, kSteady, 0, {}, false},
                    WarningCase{"NotCold", kSteady, kSteady, 0.5e9, {"is not cold: 1 GB/s"}, false},
                    WarningCase{"Noisy", kNoisy, kSteady, 0, {"is noisy"}, true},
                    WarningCase{"NoisyLimit", kSteady, kNoisy, 0, {"has a noisy limit"}, true},
                    WarningCase{"Outlier", kOneOutlierOfSix, kSteady, 0, {"1 of 6 samples"}, true}),
    CaseName<WarningCase>);

TEST(BenchAdvice, NamesWhatDisturbs) {
  const Machine busy{"cpu", 2, "avx2", "powersave", 1.5};
  const Machine saving{"cpu", 2, "avx2", "powersave", 0.1};
  EXPECT_NE(AdviceFor(busy).find("load average 1.50"), std::string::npos);
  EXPECT_NE(AdviceFor(saving).find("'powersave'"), std::string::npos);
  for (const char* governor : {"", "performance"}) {
    const Machine quiet{"cpu", 2, "avx2", governor, 0.1};
    EXPECT_NE(AdviceFor(quiet).find("--min-time"), std::string::npos);
  }
}

}  // namespace
}  // namespace dmlop
