// SPDX-License-Identifier: Apache-2.0
// The cases of a run, operator by operator or in turn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/fuzz/case_folder.h"
#include "core/fuzz/generator.h"

namespace dmlop {

// An operator with its cases so far. The generator, which takes time, is there from the first case
// on.
struct FuzzedOperator {
  const OperatorInfo* info;
  std::optional<CaseGenerator> generator{};
  uint64_t next = 0;   // index of the next case
  uint64_t ended = 0;  // cases that have been judged: those below this index
  bool is_done = false;
  bool is_left_out = false;  // it has nothing of what the options ask for
  std::string fault{};       // of a field that it should keep, if that is why
  PairSet run{};             // the pairs of cases that have been judged
  PairCoverage before{};     // of the run that goes on, until the generator is there
};

struct SourcedCase {
  size_t op;  // among the operators
  uint64_t index;
  NamedCase one;
  ValueClasses classes;
  SettingPairs::Ids settings;
};

class CaseSource {
 public:
  // Throws an Error of kind kUsage for a name that no operator has.
  CaseSource(const FuzzOptions& options, uint64_t seed);

  // The next cases, up to so many; empty at the end. Throws an Error of kind kUsage if none of the
  // operators has what the options ask for.
  std::vector<SourcedCase> Next(size_t most);

  // Counts a case that has been judged.
  void End(const SourcedCase& one);

  // How many cases are drawn before the only one that is asked for.
  uint64_t cases_before() const { return only_.value_or(0); }

  // The fields that all cases have as they are asked for.
  const std::vector<DescriptorChange>& kept() const { return of_generator_.set; }

  // The pairs of the cases of an operator that have been judged.
  PairCoverage CoverageOf(size_t op) const;

  const std::vector<FuzzedOperator>& operators() const { return operators_; }
  std::vector<FuzzedOperator>& operators() { return operators_; }

 private:
  bool HasNext(FuzzedOperator& op);
  void TakeBefore(FuzzedOperator& op) const;
  bool IsDone(const FuzzedOperator& op) const;
  void RequireAny() const;
  SourcedCase Take(size_t op);

  const FuzzOptions& options_;
  const uint64_t seed_;
  std::optional<uint64_t> only_;  // index of the only case
  GeneratorOptions of_generator_;
  std::vector<FuzzedOperator> operators_;
  size_t at_ = 0;       // the operator whose turn it is
  size_t in_turn_ = 0;  // cases that it has had in this turn
};

}  // namespace dmlop
