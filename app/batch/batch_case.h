// SPDX-License-Identifier: Apache-2.0
// One case of a batch, from a line of the manifest to its files or its faults.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/batch_files.h"
#include "app/batch/model_case.h"
#include "app/compare/judgement.h"
#include "app/exit_status.h"
#include "app/files/manifest.h"
#include "app/run/run_comparisons.h"
#include "core/compare/alignment.h"
#include "core/document/operator_case.h"
#include "core/io/output_file.h"
#include "core/io/output_tensor.h"

namespace dmlop {

// The settings that the cases of a batch share.
struct BatchSettings {
  BatchOptions options;
  std::string manifest;  // its path; empty if it is no file
  std::string folder;    // bindings are relative to it
  OutputFolder output_folder;
  std::shared_ptr<NewFolders> new_folders = std::make_shared<NewFolders>();
  // If set, outputs are compared instead of written; the files to compare with are on that side.
  // Input values have files next to the outputs with --inputs, which are written or must exist;
  // existing files are always compared.
  std::optional<Side> compared;
  ColorMode color = ColorMode::kAuto;
  std::shared_ptr<WrittenInputs> written_inputs = std::make_shared<WrittenInputs>();
  // If set, cases whose outputs are newer than this time and than their inputs are not run.
  std::optional<std::filesystem::file_time_type> manifest_time;

  bool is_reported() const { return !options.report.empty(); }
};

// A fault or a warning of a case.
struct CaseFault {
  Diagnostic what;                      // has no code if it is not the document's fault
  std::optional<TextPosition> place{};  // in the manifest
  std::string details{};                // further lines of text

  std::string text() const { return what.code.empty() ? what.message : LineOf(what); }
};

enum class CaseStatus { kDone, kUpToDate, kDifferent, kFailed, kMissing, kUnsupported };

struct CaseOutcome {
  int64_t line = 0;
  std::string name;  // empty if it has no name
  CaseStatus status = CaseStatus::kDone;
  ExitStatus exit_status = ExitStatus::kSuccess;
  bool is_case = true;  // false for sweeps, which can fail on their own
  std::vector<CaseFault> faults;
  std::vector<CaseFault> warnings;
  std::string lacks_tolerance;             // the operator, if WebNN's was asked for and it has none
  std::string type;                        // operator type; empty if unknown
  std::shared_ptr<const Json> descriptor;  // complete; null if not valid or not reported
  int64_t missing = 0;                     // outputs whose files are not there
  ReportedFiles files;
  std::vector<DiagnosedFile> diagnoses;  // of the outputs that differ, if that was asked for
  RunTimes times;

  // The comparison that is furthest off; null if nothing was compared.
  const ComparedFile* worst() const;

  bool passed() const { return faults.empty(); }
};

// Throws nothing: every error becomes a fault of the outcome.
class BatchCase {
 public:
  BatchCase(const BatchSettings& settings, const ManifestLine& line);

  // Reads and checks the line.
  void Prepare();

  // True if nothing is left to run.
  bool is_finished() const { return is_finished_; }

  // True if the work occupies all threads.
  bool is_large() const;

  // With --sync, the files that this writes are left for Publish.
  void Run();
  bool is_to_be_published() const { return is_to_be_published_; }

  OutputSet& files() { return files_; }
  void Publish(bool flush_first);  // only files; folders must be flushed afterwards

  const CaseOutcome& outcome() const { return outcome_; }

  // A valid case runs one operator, or the nodes of a model.
  std::vector<const OperatorDesc*> operators() const;

 private:
  template <typename Step>
  void Attempt(Step&& step);
  void Read();
  ModelCase::Settings ForModels() const;
  void ReadModel(JsonCursor root);
  void ReadModel(Descriptor descriptor, std::unique_ptr<ModelDocument> model,
                 Diagnostics& diagnostics);
  void TakeModel(const Diagnostics& diagnostics);
  std::string PathOf(const ModelCase::Output& output) const;
  Side SideOfModel() const;
  bool is_model_compared() const;
  void RunModel();
  void WriteModelOutput(const ModelCase::Output& output, const ConstTensorView& view);
  void CompareModelOutput(const ModelCase::Output& output, const ConstTensorView& view,
                          const ModelCase::Filling* filling, Drawing& drawing);
  Tolerance ModelTolerance(DataType type, const ModelCase::Filling* filling) const;
  bool PassesAsNoise(const ModelCase::Filling* filling, const ComparedFile& compared);
  FileShapes ShapesOfModel() const;
  [[noreturn]] void RefuseAsCase(const char* message);
  void MoveOutputs();
  void RequireConfined();
  void RequireBound(TensorRole role) const;
  bool IsUpToDate() const;
  std::vector<OutputTensor> Compute();
  void Write(std::vector<OutputTensor>& outputs);
  void PublishSoon();
  void PublishFiles();
  bool HasValues(const TensorSlot& slot) const;
  std::string InputPath(const TensorSlot& slot) const;
  std::vector<std::string> InputPaths(const TensorSlot& slot) const;
  void WriteInputs();
  std::vector<std::string> WrittenPaths() const;
  bool IsExpected(const TensorSlot& slot) const;
  bool IsMissing(const TensorSlot& slot) const;
  bool SkipIfMissing();
  bool SkipIfUnsupported();
  bool SkipModelIfMissing();
  Json CompleteJson() const;
  ComparedFile Compared(const TensorSlot& slot, const OutputTensor& output, size_t number,
                        const JudgeDetails& details);
  void Compare(const std::vector<OutputTensor>& outputs);
  void TellMissing(const std::string& name, const std::string& path, Side side,
                   const TensorDesc& desc);
  bool PassesAsNoise(size_t output, const ComparedFile& compared);
  void AddChecks(DiagnosedFile& file) const;
  bool PassesAsNoise(const Computation& computation, size_t output, const ComparedFile& compared,
                     const LoadedTensor& tensor);
  void CompareInputs();
  void CompareInput(const TensorSlot& slot, const ConstTensorView& values, const std::string& path);
  void TellDifference(const std::string& text, const Judgement& judgement,
                      const std::string& drawn = "");
  void RequireSeparatePicture() const;
  void ReportFiles();
  void Refuse(const Diagnostics& diagnostics);
  std::vector<CaseFault> FaultsOf(const Diagnostics& diagnostics, Severity severity) const;
  TextPosition PlaceOf(const TextPosition& in_case) const;
  void Fail(ExitStatus status, std::string text);

  const BatchSettings& settings_;
  const ManifestLine& line_;
  std::unique_ptr<OperatorDocument> document_;
  std::optional<OperatorCase> case_;
  std::optional<ModelCase> model_;  // in place of the two above
  std::string unmoved_output_;      // the first output as the line binds it
  CaseOutcome outcome_;
  OutputSet files_;
  bool is_finished_ = false;
  bool is_to_be_published_ = false;
  std::vector<std::pair<std::string, std::string>> new_inputs_;  // paths, and hashes of their bytes
};

}  // namespace dmlop
