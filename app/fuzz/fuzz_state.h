// SPDX-License-Identifier: Apache-2.0
// The cases of a run, operator by operator or in turn, and how far it has come: counts, for people,
// for reports and for another run that goes on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/batch_report.h"
#include "app/fuzz/case_folder.h"
#include "app/fuzz/device.h"
#include "app/timing.h"
#include "core/fuzz/generator.h"

namespace dmlop {

// --- cases of a run ------------------------------------------------------------------------------

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

  // Returns the number of cases that are drawn before the only one that is asked for.
  uint64_t cases_before() const { return only_.value_or(0); }

  const CaseBounds& bounds() const { return bounds_; }

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
  CaseBounds bounds_;
  std::vector<FuzzedOperator> operators_;
  size_t at_ = 0;       // the operator whose turn it is
  size_t in_turn_ = 0;  // cases that it has had in this turn
};

// --- how far it has come -------------------------------------------------------------------------

// The cases of an operator by what became of them.
struct OperatorCounts {
  int64_t cases = 0, failed = 0, accepted = 0;
  std::map<std::string, int64_t> unsupported{};  // by type
};

// "97 % of 1,204 pairs of settings"
std::string CoverageText(const PairCoverage& coverage);

class FuzzState {
 public:
  FuzzState(const FuzzOptions& options, uint64_t seed, CaseSource& source);

  // Takes the state of the run that goes on.
  void Resume(const std::string& folder);

  void Add(const SourcedCase& one, const DeviceVerdict& verdict);

  // Writes state.json, unless it was written a moment ago.
  void Write(const std::string& folder, bool is_last);

  // A line for each operator.
  std::string Text(bool has_unseen) const;

  // The last line of a report.
  std::string ReportLine() const;

  int64_t cases() const;

 private:
  // The member `words` has the options.
  Json Record(const char* words) const;
  Json CountsJson() const;

  const FuzzOptions& options_;
  const uint64_t seed_;
  CaseSource& source_;
  std::vector<OperatorCounts> counts_;  // of the source's operators
  double written_seconds_ = -1;         // when the state was written last
  const Clock::time_point start_ = Clock::now();
};

// The words and the seed of the run that a folder has the state of.
FuzzOptions OptionsOfState(const std::string& folder);

// The lines of cases in a report, which goes on behind those of an earlier run.
class FuzzReport {
 public:
  FuzzReport(const std::string& path, bool goes_on);

  void Add(const SourcedCase& one, const DeviceVerdict& verdict,
           const std::vector<DiagnosedFile>& diagnoses);
  void Close(const std::string& last_line);

 private:
  std::string before_;
  std::optional<BatchReport> report_;
  int64_t line_ = 0;
};

}  // namespace dmlop
