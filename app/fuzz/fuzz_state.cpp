// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/fuzz_state.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/files/output.h"
#include "app/fuzz/finding.h"
#include "app/text/comparison_text.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"
#include "core/ops/words.h"

namespace dmlop {

// --- cases of a run ------------------------------------------------------------------------------

namespace {

constexpr uint64_t kMostCases = 1000;  // of an operator, unless a number is given
constexpr double kEnoughPairs = 0.95;
constexpr uint64_t kCasesBetweenCounts = 10;
constexpr size_t kTurn = 32;  // cases of an operator, before the next one has its turn

bool IsGlob(const std::string& word) {
  return word.find_first_of("*?[") != std::string::npos;
}

// The operators that a name, a glob or a group stands for.
std::vector<const OperatorInfo*> OperatorsCalled(const std::string& word) {
  for (const OperatorGroup& group : OperatorGroups()) {
    if (EqualIgnoringCase(group.name, word)) return group.operators;
  }
  std::vector<const OperatorInfo*> found;
  for (const OperatorInfo* info : Operators()) {
    const std::string name(info->name);
    const bool is_called = IsGlob(word) ? fnmatch(word.c_str(), name.c_str(), FNM_CASEFOLD) == 0
                                        : EqualIgnoringCase(name, word);
    if (is_called) found.push_back(info);
  }
  if (found.empty() && FindOperator(word) != nullptr) return {FindOperator(word)};
  return found;
}

std::vector<const OperatorInfo*> ChosenOperators(const std::vector<std::string>& words) {
  if (words.empty()) return {Operators().begin(), Operators().end()};
  std::vector<const OperatorInfo*> chosen;
  for (const std::string& word : words) {
    const auto called = OperatorsCalled(word);
    if (called.empty()) {
      throw Error(ErrorKind::kUsage, "'{}' is no operator, and no group of operators{}", word,
                  DidYouMeanOperator(word));
    }
    for (const OperatorInfo* info : called) {
      if (std::ranges::find(chosen, info) == chosen.end()) chosen.push_back(info);
    }
  }
  return chosen;
}

// A word that is no JSON is a string, as a shell takes away the quotes.
DescriptorChange ChangeOf(const std::string& word) {
  const size_t equals = word.find('=');
  const std::string pointer = word.substr(0, equals);
  if (equals == std::string::npos || !pointer.starts_with("/desc/")) {
    throw Error(ErrorKind::kUsage,
                "--set '{}' is not a field and its value, such as "
                "/desc/Direction=FORWARD",
                word);
  }
  const std::string value = word.substr(equals + 1);
  const bool is_json = IsJson(value);
  return {pointer, is_json ? value : OneLine(Json(value)), ""};
}

CaseBounds BoundsOf(const FuzzOptions& options) {
  CaseBounds bounds{.level = options.level,
                    .ranks = options.ranks,
                    .max_elements = options.max_elements,
                    .packed_only = options.packed_only,
                    .open = options.open};
  for (const DataType type : options.types) bounds.types = bounds.types | DataTypeSet{type};
  for (const std::string& word : options.set) bounds.kept.push_back(ChangeOf(word));
  return bounds;
}

}  // namespace

CaseSource::CaseSource(const FuzzOptions& options, uint64_t seed) : options_(options), seed_(seed) {
  std::vector<const OperatorInfo*> chosen;
  if (options.only_case.empty()) {
    chosen = ChosenOperators(options.operators);
  } else {
    const auto id = ParseFuzzCaseName(options.only_case);
    if (!id) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("--case '{}' is no name of a case, such as GEMM/0/17", options.only_case));
    }
    chosen = {id->info};
    only_ = id->index;
  }
  bounds_ = BoundsOf(options);
  for (const OperatorInfo* info : chosen) operators_.push_back({info});
}

void CaseSource::RequireAny() const {
  if (!std::ranges::all_of(operators_, &FuzzedOperator::is_left_out)) return;
  const FuzzedOperator& first = operators_[0];
  const bool is_alone = operators_.size() == 1;
  std::string message = is_alone ? fmt::format("{} has no such cases", first.info->name)
                                 : "none of the operators has such cases";
  if (!first.fault.empty()) {
    message += is_alone ? ": " : fmt::format("; {}: ", first.info->name);
    message += "--set " + first.fault;
  }
  throw Error(ErrorKind::kUsage, std::move(message));
}

bool CaseSource::HasNext(FuzzedOperator& op) {
  if (op.is_done) return false;
  if (!op.generator) {
    op.generator.emplace(*op.info, bounds_, seed_);
    op.is_left_out = !op.generator->can_draw();
    op.fault = op.generator->fault();
    TakeBefore(op);
  }
  op.is_done = op.is_left_out || IsDone(op);
  if (!op.is_done) return true;
  op.generator->End();
  return false;
}

// Takes those of the run that goes on.
void CaseSource::TakeBefore(FuzzedOperator& op) const {
  if (op.is_left_out) return;
  for (uint64_t index = only_.value_or(0); index < op.next; ++index) {
    op.run.Add(op.generator->SettingsOfCase(index));
  }
}

void CaseSource::End(const SourcedCase& one) {
  FuzzedOperator& op = operators_[one.op];
  op.ended = one.index + 1;
  op.run.Add(one.settings);
}

PairCoverage CaseSource::CoverageOf(size_t op) const {
  const FuzzedOperator& of = operators_[op];
  if (!of.generator) return of.before;
  return {of.run.count(), of.generator->coverage().reachable};
}

bool CaseSource::IsDone(const FuzzedOperator& op) const {
  if (only_) return op.next > *only_;
  if (options_.cases) return op.next >= static_cast<uint64_t>(*options_.cases);
  if (options_.seconds) return false;
  if (op.next >= kMostCases) return true;
  if (op.next == 0 || op.next % kCasesBetweenCounts != 0) return false;
  const PairCoverage coverage = op.generator->coverage();
  return static_cast<double>(coverage.seen) >=
         kEnoughPairs * static_cast<double>(coverage.reachable);
}

SourcedCase CaseSource::Take(size_t op) {
  FuzzedOperator& from = operators_[op];
  if (only_) from.next = *only_;
  const uint64_t index = from.next++;
  DrawnCase drawn = from.generator->Case(index);
  return {op,
          index,
          {FuzzCaseName(*from.info, seed_, index), std::move(drawn.computation)},
          std::move(drawn.values),
          from.generator->SettingsOfCase(index)};
}

std::vector<SourcedCase> CaseSource::Next(size_t most) {
  std::vector<SourcedCase> cases;
  size_t done = 0;  // operators without another case, one after another
  while (cases.size() < most && done < operators_.size()) {
    if (!HasNext(operators_[at_])) {
      ++done;
    } else {
      cases.push_back(Take(at_));
      done = 0;
      if (!options_.seconds || ++in_turn_ < kTurn) continue;
    }
    at_ = (at_ + 1) % operators_.size();
    in_turn_ = 0;
  }
  if (cases.empty()) RequireAny();
  return cases;
}

// --- how far it has come -------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "/state.json";
constexpr double kSecondsBetween = 1;  // two writings of the state

// "12 not supported: FLOAT64 8, INT64 4"
std::string UnsupportedText(const std::map<std::string, int64_t>& counts) {
  std::string text;
  int64_t sum = 0;
  for (const auto& [type, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type, count);
    sum += count;
  }
  return fmt::format("{} not supported: {}", sum, text);
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

Json FuzzState::Record(const char* words) const {
  return {{"dmlop", DMLOP_VERSION},
          {"generator", kGeneratorVersion},
          {"seed", fmt::format("{}", seed_)},
          {words, options_.words},
          {"operators", CountsJson()}};
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
  ResultFile(folder + kState, Utf8Text(Record("words")) + "\n").Publish();
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
  return OneLine(Record("options")) + "\n";
}

int64_t FuzzState::cases() const {
  int64_t cases = 0;
  for (const OperatorCounts& counts : counts_) cases += counts.cases;
  return cases;
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
