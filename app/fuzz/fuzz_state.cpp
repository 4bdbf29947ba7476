// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/fuzz_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "app/files/output.h"
#include "app/fuzz/finding.h"
#include "app/text/comparison_text.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "/state.json";
constexpr double kSecondsBetween = 1;  // two writings of the state

int64_t Sum(const std::map<std::string, int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

// "12 not supported: FLOAT64 8, INT64 4"
std::string UnsupportedText(const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [type, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type, count);
  }
  return fmt::format("{} not supported: {}", Sum(counts), text);
}

std::string RestText(const OperatorCounts& counts) {
  std::string text = fmt::format("{} fail", counts.failed);
  if (counts.accepted > 0) text += fmt::format("   {} accepted", counts.accepted);
  if (!counts.unsupported.empty()) text += "   " + UnsupportedText(counts.unsupported);
  return text;
}

// Rounded down, so that only all pairs are 100 %.
int64_t PercentOf(const PairCoverage& coverage) {
  return coverage.reachable == 0 ? 100 : 100 * coverage.seen / coverage.reachable;
}

Json ReadState(const std::string& folder) {
  return Json::parse(ReadText(folder + kState, JsonDocument::kMaxBytes));
}

}  // namespace

std::string CoverageText(const PairCoverage& coverage) {
  return fmt::format("{} % of {} pairs of settings", PercentOf(coverage),
                     WithSeparators(static_cast<size_t>(coverage.reachable)));
}

FuzzState::FuzzState(const FuzzOptions& options, uint64_t seed, CaseSource& source)
    : options_(options), seed_(seed), source_(source), counts_(source.operators().size()) {}

void FuzzState::Resume(const std::string& folder) {
  ReadRecord(folder + kState, [&] {
    const Json operators = ReadState(folder).at("operators");
    for (size_t i = 0; i < counts_.size(); ++i) {
      FuzzedOperator& op = source_.operators()[i];
      if (!operators.contains(op.info->name)) continue;
      const Json& saved = operators.at(std::string(op.info->name));
      op.next = op.ended = saved.at("ended").get<uint64_t>();
      counts_[i] = {saved.at("cases").get<int64_t>(), saved.at("failed").get<int64_t>(),
                    saved.at("accepted").get<int64_t>(),
                    saved.at("unsupported").get<std::map<std::string, int64_t>>()};
      const Json& pairs = saved.at("pairs");
      op.before = {pairs.at("seen").get<int64_t>(), pairs.at("reachable").get<int64_t>()};
    }
  });
}

void FuzzState::Add(const SourcedCase& one, const DeviceVerdict& verdict) {
  OperatorCounts& counts = counts_[one.op];
  ++counts.cases;
  source_.End(one);
  counts.failed += verdict.fails() ? 1 : 0;
  counts.accepted += verdict.what == CaseClass::kAccepted ? 1 : 0;
  if (verdict.what != CaseClass::kUnsupported) return;
  const TensorSlot first = TensorSlots(one.one.computation.op).front();
  ++counts.unsupported[std::string(Name(*first.desc->data_type))];
}

Json FuzzState::CountsJson() const {
  Json operators = Json::object();
  for (size_t i = 0; i < counts_.size(); ++i) {
    const FuzzedOperator& op = source_.operators()[i];
    if (counts_[i].cases == 0) continue;
    const PairCoverage coverage = source_.CoverageOf(i);
    operators[std::string(op.info->name)] = {
        {"ended", op.ended},
        {"cases", counts_[i].cases},
        {"failed", counts_[i].failed},
        {"accepted", counts_[i].accepted},
        {"unsupported", counts_[i].unsupported},
        {"pairs", {{"seen", coverage.seen}, {"reachable", coverage.reachable}}}};
  }
  return operators;
}

void FuzzState::Write(const std::string& folder, bool is_last) {
  const double seconds = SecondsSince(start_);
  if (!is_last && written_seconds_ >= 0 && seconds < written_seconds_ + kSecondsBetween) return;
  written_seconds_ = seconds;
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const Json state = {{"dmlop", DMLOP_VERSION},
                      {"generator", kGeneratorVersion},
                      {"seed", fmt::format("{}", seed_)},
                      {"words", options_.words},
                      {"operators", CountsJson()}};
  ResultFile(folder + kState, Utf8Text(state) + "\n").Publish();
}

std::string FuzzState::Text(bool has_unseen) const {
  size_t width = 0;
  std::vector<std::string> parts;
  size_t part_width = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const FuzzedOperator& op = source_.operators()[i];
    parts.push_back(fmt::format("{}, {}", Counted(counts_[i].cases, "case"),
                                CoverageText(source_.CoverageOf(i))));
    if (counts_[i].cases > 0) width = std::max(width, op.info->name.size());
    part_width = std::max(part_width, parts.back().size());
  }
  std::string text;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i].cases == 0) continue;
    const FuzzedOperator& op = source_.operators()[i];
    text += fmt::format("{:<{}}  {:<{}}  {}\n", op.info->name, width, parts[i], part_width,
                        RestText(counts_[i]));
    if (!has_unseen || !op.generator) continue;
    for (const std::string& pair : op.generator->PairsWithout(op.run)) {
      text += "  not covered: " + pair + "\n";
    }
  }
  return text;
}

std::string FuzzState::ReportLine() const {
  return OneLine({{"dmlop", DMLOP_VERSION},
                  {"generator", kGeneratorVersion},
                  {"seed", fmt::format("{}", seed_)},
                  {"options", options_.words},
                  {"operators", CountsJson()}}) +
         "\n";
}

int64_t FuzzState::cases() const {
  return std::accumulate(
      counts_.begin(), counts_.end(), int64_t{0},
      [](int64_t sum, const OperatorCounts& counts) { return sum + counts.cases; });
}

int64_t FuzzState::failed() const {
  return std::accumulate(
      counts_.begin(), counts_.end(), int64_t{0},
      [](int64_t sum, const OperatorCounts& counts) { return sum + counts.failed; });
}

FuzzOptions OptionsOfState(const std::string& folder) {
  FuzzOptions options;
  ReadRecord(folder + kState, [&] {
    const Json state = ReadState(folder);
    options = ParseFuzzWords(state.at("words").get<std::vector<std::string>>());
    options.seed = state.at("seed").get<std::string>();
  });
  return options;
}

FuzzReport::FuzzReport(const std::string& path, bool goes_on) {
  if (path.empty()) return;
  if (goes_on && FileExists(path)) {
    const std::string text = ReadText(path, size_t{1} << 30);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      if (end == std::string::npos) break;
      const std::string line = text.substr(begin, end + 1 - begin);
      begin = end + 1;
      if (!line.starts_with("{\"line\":")) continue;
      before_ += line;
      ++line_;
    }
  }
  report_.emplace(path);
  if (!before_.empty()) report_->Write(std::exchange(before_, ""));
}

void FuzzReport::Add(const SourcedCase& one, const DeviceVerdict& verdict,
                     const std::vector<DiagnosedFile>& diagnoses) {
  if (!report_) return;
  Json json = {{"line", ++line_},
               {"dmlop", DMLOP_VERSION},
               {"status", Name(verdict.what)},
               {"exitStatus", verdict.fails() ? 1 : 0},
               {"name", one.one.name},
               {"operator", one.one.computation.op.name()},
               {"descriptor", OperatorJson(one.one.computation.op)}};
  const std::vector<TensorSlot> slots = TensorSlots(one.one.computation.op, TensorRole::kOutput);
  for (const JudgedOutput& output : verdict.outputs) {
    Json compared = {{"tensor", DisplayName(slots[output.number].path)}, {"role", "actual"}};
    compared.update(JudgementJson(output.judgement));
    json["comparisons"].push_back(std::move(compared));
  }
  for (const DiagnosedFile& file : diagnoses) json["diagnoses"].push_back(DiagnosisJson(file));
  if (verdict.fails()) json["error"] = verdict.text;
  report_->Write(OneLine(json) + "\n");
}

void FuzzReport::Close(const std::string& last_line) {
  if (!report_) return;
  report_->Write(last_line);
  report_->Close(/*synced=*/false);
}

}  // namespace dmlop
