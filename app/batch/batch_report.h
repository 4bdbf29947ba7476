// SPDX-License-Identifier: Apache-2.0
// The reports of a batch on its cases: one line of JSON each, and messages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/batch/batch_case.h"
#include "app/files/manifest.h"
#include "app/options/options.h"
#include "core/io/file.h"

namespace dmlop {

// The cases that differ, grouped by what their devices do otherwise.
class CauseGroups {
 public:
  // Takes cases in the manifest's order; those without diagnoses belong to no group.
  void Add(const CaseOutcome& outcome);

  // "263 of 312 differ: 101 noise; 72 StartPadding and EndPadding exchanged", then a line with an
  // example of each group, its worst case, the largest group first. Empty if there is none.
  std::string Text(const std::string& manifest, int64_t total) const;

 private:
  struct Group {
    int64_t count = 0;
    std::string text;         // that of the example
    bool has_others = false;  // with other details
    std::string example;
    int64_t line = 0;
    Judgement worst{};
  };

  std::map<std::string, Group> groups_;
};

// The line with its line break. Only the times, which may be left out, differ between runs.
std::string CaseJson(const CaseOutcome& outcome, bool times);

// The faults of a case as lines "manifest:line:column: text", with their details if `details`.
std::string FaultText(const CaseOutcome& outcome, const std::string& manifest, bool details);

// The lines of all cases. They are written as cases end, so that an interrupted batch leaves those
// of the cases that ended.
class BatchReport {
 public:
  // Discards the previous content of a file.
  explicit BatchReport(const std::string& path);

  void Write(const std::string& lines);
  void Close(bool synced);

 private:
  std::optional<OutputStream> stream_;  // null for standard output
};

// The messages about a batch on standard error: some of the cases, and how many there are.
class BatchSummary {
 public:
  BatchSummary(const BatchOptions& options, const CommonOptions& common, const Manifest& manifest)
      : options_(options), common_(common), manifest_(manifest) {}

  void Begin(int64_t total) { total_ = total; }

  // Takes cases in the manifest's order.
  void Add(CaseOutcome outcome);

  // The greatest status of the cases; not that of a success if there was nothing to judge.
  ExitStatus status() const { return HasNothing() ? ExitStatus::kFileSystem : status_; }

  // Prints the summary at the end.
  void Tell(std::optional<double> seconds) const;

  // Prints it early, when a signal ends the batch.
  void TellInterruption(int64_t ended) const;

 private:
  bool is_compared() const { return options_.check || options_.judge; }
  // Returns whether all outputs of the suite are left out, as of a folder that is a wrong one.
  bool HasNothing() const;
  void KeepFailure(CaseOutcome outcome);
  void TellWarnings() const;
  void ReportFailures() const;
  void TellPasses() const;
  void TellMissing() const;
  void TellRest(size_t count, const char* what) const;
  std::string CommandFor(const CaseOutcome& outcome) const;
  std::string Counts() const;

  const BatchOptions& options_;
  const CommonOptions& common_;
  const Manifest& manifest_;
  int64_t total_ = 0;
  int64_t counts_[6] = {};             // indexed by CaseStatus
  int64_t missing_ = 0;                // files of outputs that are not there
  std::vector<CaseOutcome> failures_;  // to be printed, in this order
  size_t failure_count_ = 0;
  CauseGroups causes_;
  std::set<std::string> without_tolerance_;  // operators
  std::vector<std::string> warnings_;        // to be printed
  size_t warning_count_ = 0;
  std::vector<std::string> passes_;  // the first few
  ExitStatus status_ = ExitStatus::kSuccess;
};

}  // namespace dmlop
