// What a batch says of its cases: one line of JSON each, and messages.
#pragma once

#include <optional>
#include <string>

#include "app/batch/batch_case.h"
#include "core/io/file.h"
#include "core/io/output_set.h"

namespace dmlop {

// With its line break. Two runs give the same but for times, which may be left out.
std::string CaseJson(const CaseOutcome& outcome, bool times);

// The faults of a case: "manifest:line:column: text", one a line. `details`: with what each has of
// them.
std::string FaultText(const CaseOutcome& outcome, const std::string& manifest, bool details);

// The lines of all cases, written as they come. A file appears whole at the end.
class BatchReport {
 public:
  explicit BatchReport(const std::string& path);

  void Write(const std::string& lines);
  void Publish(bool synced);

 private:
  std::optional<OutputFile> file_;
  std::optional<OutputStream> device_;  // neither: standard output
  size_t size_ = 0;
};

}  // namespace dmlop
