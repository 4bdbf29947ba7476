// What a batch says of its cases: one line of JSON each, and messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/batch/batch_case.h"
#include "app/files/manifest.h"
#include "app/options/options.h"
#include "core/io/file.h"

namespace dmlop {

// With its line break. Two runs give the same but for times, which may be left out.
std::string CaseJson(const CaseOutcome& outcome, bool times);

// The faults of a case: "manifest:line:column: text", one a line. `details`: with what each has of
// them.
std::string FaultText(const CaseOutcome& outcome, const std::string& manifest, bool details);

// The lines of all cases, written as they come, so that a batch that does not end leaves those of
// the cases that have.
class BatchReport {
 public:
  // What a file had is lost with this.
  explicit BatchReport(const std::string& path);

  void Write(const std::string& lines);
  void Close(bool synced);

 private:
  std::optional<OutputStream> stream_;  // none: standard output
};

// What is told of the cases of a batch on standard error: some of them, and how many there are.
class BatchSummary {
 public:
  BatchSummary(const BatchOptions& options, const CommonOptions& common, const Manifest& manifest)
      : options_(options), common_(common), manifest_(manifest) {}

  void Begin(int64_t total) { total_ = total; }

  // In the order of the manifest.
  void Add(CaseOutcome outcome);

  // The greatest of the cases.
  ExitStatus status() const { return status_; }

  // At the end.
  void Tell(std::optional<double> seconds) const;

  // Before it, when a signal ends the batch.
  void TellInterruption(int64_t ended) const;

 private:
  bool is_compared() const { return options_.check || options_.judge; }
  void KeepFailure(CaseOutcome outcome);
  void TellWarnings() const;
  void TellFailures() const;
  void TellPasses() const;
  void TellRest(size_t count, const char* what) const;
  std::string CommandFor(const CaseOutcome& outcome) const;
  std::string Counts() const;

  const BatchOptions& options_;
  const CommonOptions& common_;
  const Manifest& manifest_;
  int64_t total_ = 0;
  int64_t counts_[4] = {};             // by CaseStatus
  std::vector<CaseOutcome> failures_;  // that are told, in this order
  size_t failure_count_ = 0;
  std::vector<std::string> warnings_;  // that are told
  size_t warning_count_ = 0;
  std::vector<std::string> passes_;  // the first of them
  ExitStatus status_ = ExitStatus::kSuccess;
};

}  // namespace dmlop
