#include <fmt/format.h>
#include <algorithm>
#include <set>

#include "app/commands.h"
#include "app/descriptor.h"
#include "app/engine.h"
#include "app/file_roles.h"
#include "app/output.h"
#include "app/run_model.h"
#include "app/run_report.h"
#include "app/text/comparison_text.h"
#include "app/text/diagnostic_text.h"
#include "app/text/tensor_text.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/document/operator_case.h"
#include "core/document/run_into.h"
#include "core/io/file.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

// One run from documents to files. The steps are members in the order in which they are called.
class OperatorRun {
 public:
  OperatorRun(const RunOptions& options, const CommonOptions& common)
      : options_(options), common_(common) {}

  ExitStatus Execute() {
    CheckDescriptorStream();
    descriptor_ = ReadDescriptor(options_.descriptor);
    Document document = ReadDocument(
        descriptor_, options_.level,
        {options_.confine, options_.input_folder, options_.output_folder}, diagnostics_);
    if (document.model) {
      return RunModel(options_, common_, descriptor_, *document.model, diagnostics_);
    }
    document_ = std::move(document.op);
    if (!document_ || !Check()) return Refuse();
    CheckOutputs();
    case_->RequireBoundInputs();
    const Clock::time_point start = Clock::now();
    case_->LoadInputs(diagnostics_);
    if (diagnostics_.has_errors()) return Refuse();
    CreateOutputs();
    times_.load_seconds = SecondsSince(start);

    WarnOfValues();
    Compute();
    const bool as_expected = CompareWithExpected();
    std::optional<ResultFile> report;
    if (!options_.report.empty()) report.emplace(options_.report, Report());
    PrintUnbound();
    OutputSet files;
    for (Output& output : outputs_) output.tensor.Flush(files);
    if (report) report->AddTo(files);
    files.Publish(options_.sync);
    return as_expected ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  struct Output {
    TensorSlot slot;
    std::string path;      // empty: not bound to a file
    std::string expected;  // empty: not compared
    OutputTensor tensor;
  };

  ExitStatus Refuse() const {
    PrintDiagnostics(diagnostics_, descriptor_.name, descriptor_.text, UseColor(common_.color));
    return StatusOf(diagnostics_);
  }

  // False when the document has faults.
  bool Check() {
    case_.emplace(*document_);
    case_->Bind(TensorRole::kInput, options_.inputs);
    case_->Bind(TensorRole::kOutput, options_.outputs);
    CheckDescriptorStream();
    return case_->Check(options_.level, diagnostics_);
  }

  // What the command line claims is found before anything is read; bindings are known only then.
  void CheckDescriptorStream() const {
    std::vector<std::string> paths;
    for (const auto* files : {&options_.inputs, &options_.expected}) {
      for (const std::string& file : *files) paths.push_back(FileArgument::Parse(file).path);
    }
    RequireOneReader(options_.descriptor, paths);
    if (case_) RequireOneReader(options_.descriptor, case_->InputPaths());
  }

  // Files are used for one thing each; standard output takes tensors or text, not both, and a
  // terminal takes no tensors.
  void CheckOutputs() {
    expected_ = case_->Assign(TensorRole::kOutput, options_.expected);
    LeaveComparedFilesAlone();
    std::string streamed;
    std::string printed;
    for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
      const std::string path = case_->PathOf(slot);
      if (path == kStandardStream) streamed = DisplayName(slot.path);
      if (path.empty() && ExpectedFor(slot).empty()) printed = DisplayName(slot.path);
      if (!path.empty()) CheckTarget(path, DisplayName(slot.path));
    }
    RequireSeparateFiles();
    const bool report_is_printed =
        options_.report == kStandardStream || options_.report == "/dev/stdout";
    if (report_is_printed && printed.empty()) printed = "the report";
    if (streamed.empty()) return;
    if (!printed.empty()) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("standard output cannot be both the file of {} and the print of {}",
                              streamed, printed));
    }
  }

  void CheckTarget(const std::string& path, const std::string& tensor) {
    FormatOf(path);
    if (IsTerminal(path)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} is a terminal; {} is binary",
                              path == kStandardStream ? "standard output" : path, tensor));
    }
  }

  // What is compared is written where the command line asks for it, not where the document does.
  void LeaveComparedFilesAlone() {
    std::set<std::string> asked;
    for (const FileArgument& file : case_->Assign(TensorRole::kOutput, options_.outputs)) {
      asked.insert(file.name);
    }
    for (const FileArgument& file : expected_) {
      if (!asked.contains(file.name)) document_->bindings().erase(file.name);
    }
  }

  void RequireSeparateFiles() const {
    FileRoles roles;
    roles.Reads(descriptor_.path, "the descriptor");
    for (const TensorSlot& slot : case_->Slots(TensorRole::kInput)) {
      roles.ReadsTensor(case_->PathOf(slot), DisplayName(slot.path));
    }
    for (const FileArgument& file : expected_) {
      roles.Reads(file.path, "the golden file of " + DisplayName(file.name));
    }
    for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
      roles.WritesTensor(case_->PathOf(slot), DisplayName(slot.path));
    }
    roles.Writes(options_.report, "the report");
    roles.RequireSeparate();
  }

  std::string ExpectedFor(const TensorSlot& slot) const {
    const auto found = std::find_if(expected_.begin(), expected_.end(),
                                    [&](const FileArgument& f) { return f.name == slot.path; });
    return found == expected_.end() ? "" : found->path;
  }

  void CreateOutputs() {
    const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
    std::vector<const TensorDesc*> descs;
    for (const TensorSlot& slot : slots) descs.push_back(slot.desc);
    const Composed composed = ComposedFor(descs);
    for (const TensorSlot& slot : slots) {
      const std::string path = case_->PathOf(slot);
      outputs_.push_back({slot, path, ExpectedFor(slot),
                          path.empty() ? OutputTensor::ToNoFile(*slot.desc, composed)
                                       : OutputTensor::ToFile(path, *slot.desc, composed)});
    }
  }

  void WarnOfValues() const {
    Diagnostics warnings;
    document_->WarnOfValues(case_->InputViews(), warnings);
    PrintDiagnostics(warnings, descriptor_.name, descriptor_.text, UseColor(common_.color));
  }

  void Compute() {
    const std::vector<ConstTensorView> inputs = case_->InputViews();
    std::vector<OutputTensor*> outputs;
    for (Output& output : outputs_) outputs.push_back(&output.tensor);
    const OperatorDesc& desc = document_->op();
    const Clock::time_point start = Clock::now();
    RunInto(desc, inputs, outputs);
    times_.run_seconds = SecondsSince(start);
    if (common_.verbose) {
      PrintMessage(fmt::format("dmlop: {} ran in {:.3g} ms on {} thread{} with {}\n", desc.name(),
                               times_.run_seconds * 1e3, ThreadCount(),
                               ThreadCount() == 1 ? "" : "s", CurrentIsa()));
    }
  }

  bool CompareWithExpected() {
    Tolerance& tolerance = reported_.tolerance = options_.tolerance;
    if (options_.webnn_tolerance) {
      tolerance.ulp = std::max(tolerance.ulp, WebnnUlp(document_->op()));
    }
    bool as_expected = true;
    for (const Output& output : outputs_) {
      if (output.expected.empty()) continue;
      const LoadedTensor golden = LoadInput(output.expected, *output.slot.desc);
      const Comparison comparison = Compare(AsConst(output.tensor.view()), golden.view, tolerance);
      if (!options_.report.empty()) {
        reported_.expected.push_back(
            {{DisplayName(output.slot.path), output.expected, Sha256(golden.file_bytes)},
             comparison.difference_count});
      }
      if (comparison.passes()) continue;
      as_expected = false;
      if (!common_.quiet) {
        PrintResult(fmt::format("{} differs from {}: {}", DisplayName(output.slot.path),
                                Printable(output.expected),
                                ComparisonText(comparison, golden.view, tolerance.bits)));
      }
    }
    return as_expected;
  }

  void PrintUnbound() const {
    for (const Output& output : outputs_) {
      if (!output.path.empty() || !output.expected.empty()) continue;
      WriteTensor(DisplayName(output.slot.path), AsConst(output.tensor.view()),
                  {.full = options_.full}, PrintResult);
    }
  }

  std::string Report() {
    reported_.inputs = InputFilesOf(*case_);
    for (const Output& output : outputs_) {
      if (output.path.empty()) continue;
      reported_.outputs.push_back(
          {DisplayName(output.slot.path), output.path, Sha256(output.tensor.bytes())});
    }
    return ReportText(*case_, reported_, times_);
  }

  const RunOptions& options_;
  const CommonOptions& common_;
  Descriptor descriptor_;
  Diagnostics diagnostics_;
  std::unique_ptr<OperatorDocument> document_;
  std::optional<OperatorCase> case_;
  std::vector<FileArgument> expected_;
  std::vector<Output> outputs_;
  ReportedFiles reported_;
  RunTimes times_;
};

}  // namespace

ExitStatus RunCommand(const RunOptions& options, const CommonOptions& common) {
  if (options.threads) SetThreadCount(*options.threads);
  if (!options.isa.empty()) RequireIsa(options.isa);
  return OperatorRun(options, common).Execute();
}

}  // namespace dmlop
