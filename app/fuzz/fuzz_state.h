// SPDX-License-Identifier: Apache-2.0
// How far a run has come: counts, for people, for reports and for another run that goes on.
#pragma once

#include <map>
#include <string>

#include "app/batch/batch_report.h"
#include "app/fuzz/case_source.h"
#include "app/fuzz/device.h"
#include "app/timing.h"

namespace dmlop {

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
  int64_t failed() const;

 private:
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
