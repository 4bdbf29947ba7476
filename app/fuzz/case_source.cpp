// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/case_source.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/ops/words.h"

namespace dmlop {
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
      throw Error(ErrorKind::kUsage, fmt::format("'{}' is no operator, and no group of operators{}",
                                                 word, DidYouMeanOperator(word)));
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
    throw Error(ErrorKind::kUsage, fmt::format("--set '{}' is not a field and its value, such as "
                                               "/desc/Direction=FORWARD",
                                               word));
  }
  const std::string value = word.substr(equals + 1);
  const bool is_json = Json::accept(value);
  return {pointer, is_json ? value : OneLine(Json(value)), ""};
}

GeneratorOptions GeneratorOptionsOf(const FuzzOptions& options) {
  GeneratorOptions of_generator;
  of_generator.level = options.level;
  for (const DataType type : options.types)
    of_generator.types = of_generator.types | DataTypeSet{type};
  of_generator.ranks = options.ranks;
  of_generator.max_elements = options.max_elements;
  for (const std::string& word : options.set) of_generator.set.push_back(ChangeOf(word));
  of_generator.packed_only = options.packed_only;
  of_generator.open = options.open;
  return of_generator;
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
  of_generator_ = GeneratorOptionsOf(options);
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
    op.generator.emplace(*op.info, of_generator_, seed_);
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

}  // namespace dmlop
