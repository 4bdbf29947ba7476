// One case of a batch: a line of the manifest, from its text to files, or to what is wrong with it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/output_folder.h"
#include "app/exit_status.h"
#include "app/files/manifest.h"
#include "app/run/run_report.h"
#include "core/compare/alignment.h"
#include "core/document/operator_case.h"
#include "core/io/new_folders.h"
#include "core/io/output_tensor.h"

namespace dmlop {

// What the cases of a batch have in common.
struct BatchSettings {
  std::string folder;   // what bindings are relative to
  std::string confine;  // where all files of the cases must lie; empty: anywhere
  FeatureLevel level = kHighestFeatureLevel;
  OutputFolder output_folder;
  std::shared_ptr<NewFolders> new_folders = std::make_shared<NewFolders>();
  // Outputs are compared instead of written; what is compared with them stands on that side.
  std::optional<Side> compared;
  ComparisonRules rules;
  // Inputs whose values the lines state have files beside the outputs: they are written or, where
  // outputs are compared, must be there. Those that are there are compared in any case.
  bool has_inputs = false;
  bool is_reported = false;
  bool sync = false;  // outputs are on the disk when they appear
  // Cases with outputs that are newer than this and their inputs are not run again.
  std::optional<std::filesystem::file_time_type> manifest_time;
};

// What is wrong with a case, or what it warns of.
struct CaseFault {
  Diagnostic what;                      // without a code where the document is not to blame
  std::optional<TextPosition> place{};  // in the manifest
  std::string details{};                // further lines

  std::string text() const { return what.code.empty() ? what.message : LineOf(what); }
};

enum class CaseStatus { kDone, kUpToDate, kDifferent, kFailed };

struct CaseOutcome {
  int64_t line = 0;
  std::string name;  // empty: it has none
  CaseStatus status = CaseStatus::kDone;
  ExitStatus exit_status = ExitStatus::kSuccess;
  bool is_case = true;  // and not a sweep or a model, which fail by themselves, too
  std::vector<CaseFault> faults;
  std::vector<CaseFault> warnings;
  std::string type;                        // of its operator; empty where that is not known
  std::shared_ptr<const Json> descriptor;  // complete; none where it is not valid or not reported
  ReportedFiles files;
  RunTimes times;

  // The comparison that is furthest off; none where nothing was compared.
  const ComparedFile* worst() const;

  bool passed() const { return faults.empty(); }
};

// Nothing is thrown: all that goes wrong becomes the outcome's fault.
class BatchCase {
 public:
  BatchCase(const BatchSettings& settings, const ManifestLine& line);

  // Reads and checks the line.
  void Prepare();

  // True where there is nothing to run.
  bool is_finished() const { return is_finished_; }

  // True where the work is worth all threads.
  bool is_large() const;

  // With --sync what it wrote is left for Publish.
  void Run();
  bool is_to_be_published() const { return is_to_be_published_; }

  OutputSet& files() { return files_; }
  void Publish(bool flush_first);  // the files alone; folders are to be flushed after it

  const CaseOutcome& outcome() const { return outcome_; }

  // Of a case that is valid.
  const OperatorDesc& op() const { return document_->op(); }

 private:
  template <typename Step>
  void Attempt(Step&& step);
  void Read();
  [[noreturn]] void RefuseAsCase(const char* message);
  void MoveOutputs();
  void RequireConfined();
  void RequireBound(TensorRole role) const;
  bool IsUpToDate() const;
  std::vector<OutputTensor> Compute();
  void Write(std::vector<OutputTensor>& outputs);
  bool HasValues(const TensorSlot& slot) const;
  std::string InputPath(const TensorSlot& slot) const;
  std::vector<std::string> InputPaths(const TensorSlot& slot) const;
  void WriteInputs();
  std::vector<std::string> WrittenPaths() const;
  bool IsExpected(const TensorSlot& slot) const;
  ComparedFile Compared(const TensorSlot& slot, const OutputTensor& output);
  void Compare(const std::vector<OutputTensor>& outputs);
  void CompareInputs();
  void CompareInput(const TensorSlot& slot, const ConstTensorView& values, const std::string& path);
  void TellDifference(const std::string& text, const Judgement& judgement);
  void ReportFiles();
  void Refuse(const Diagnostics& diagnostics);
  std::vector<CaseFault> FaultsOf(const Diagnostics& diagnostics, Severity severity) const;
  TextPosition PlaceOf(const TextPosition& in_case) const;
  void Fail(ExitStatus status, std::string text);

  const BatchSettings& settings_;
  const ManifestLine& line_;
  std::unique_ptr<OperatorDocument> document_;
  std::optional<OperatorCase> case_;
  std::string unmoved_output_;  // the first output, as the line binds it
  CaseOutcome outcome_;
  OutputSet files_;
  bool is_finished_ = false;
  bool is_to_be_published_ = false;
};

}  // namespace dmlop
