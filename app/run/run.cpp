// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "app/batch/batch_files.h"
#include "app/commands.h"
#include "app/files/descriptor.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/fuzz/case_folder.h"
#include "app/graph/graph_model.h"
#include "app/options/option_kinds.h"
#include "app/run/run_comparisons.h"
#include "app/shell_word.h"
#include "app/text/tensor_text.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"
#include "core/io/output_tensor.h"
#include "core/io/tensor_file.h"
#include "core/judge/varied_run.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

// One run from document to files. Member functions are in the order in which they are called.
class OperatorRun {
 public:
  OperatorRun(const RunOptions& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        varied_("--as", options.as),
        comparisons_(options, common) {}

  ExitStatus Execute() {
    CheckDescriptorStream();
    descriptor_ = ReadDescriptor(options_.descriptor, options_.line);
    Document document =
        ReadDocument(descriptor_, options_.level,
                     {options_.confine, options_.input_folder, options_.output_folder},
                     diagnostics_, options_.sizes);
    if (document.model) {
      if (!varied_.empty()) RefuseForModel("--as is");
      return RunModel(options_, common_, descriptor_, *document.model, diagnostics_);
    }
    if (document.op) RequireOptionsOfOperator();
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
    if (writes_files()) OutliveReader();
    const ExitStatus status = CompareOutputs();
    if (status > ExitStatus::kDifferent) {  // a file is missing
      if (is_json()) PrintJson();
      return status;
    }
    std::optional<ResultFile> report;
    if (!options_.report.empty()) report.emplace(options_.report, Report());
    is_json() ? PrintJson() : PrintUnbound();
    OutputSet files;
    for (Output& output : outputs_) output.tensor.Flush(files);
    if (report) report->AddTo(files);
    if (comparisons_.picture()) comparisons_.picture()->AddTo(files);
    files.Publish(options_.sync);
    return status;
  }

 private:
  struct Output {
    TensorSlot slot;
    std::string path;  // empty if not bound to a file
    OutputTensor tensor;
  };

  // A file to be compared with an output.
  struct JudgedFile {
    FileArgument file;
    Side side;
  };

  ExitStatus Refuse() const { return TellDiagnostics(diagnostics_, descriptor_, common_); }

  // False if the document has faults.
  bool Check() {
    // Files that the document binds to compared outputs are left; CheckOutputs judges others.
    const bool compares = !options_.expected.empty() || !options_.judged.empty();
    case_.emplace(*document_,
                  CaseFiles{.shapes = options_.rules.shapes, .reads_outputs = compares});
    case_->Bind(TensorRole::kInput, options_.inputs);
    for (const auto* files : {&options_.expected, &options_.judged}) {
      case_->AddOptionalTensors(TensorRole::kOutput, *files);
    }
    case_->Bind(TensorRole::kOutput, options_.outputs);
    CheckDescriptorStream();
    return case_->Check(options_.level, diagnostics_);
  }

  bool writes_files() const {
    return !options_.report.empty() || !options_.drawing.picture.empty() ||
           std::ranges::any_of(outputs_, [](const Output& output) { return !output.path.empty(); });
  }

  bool is_json() const { return options_.format == TextFormat::kJson; }

  // Refuses options of models, which would have no effect.
  void RequireOptionsOfOperator() const {
    if (!options_.keep.empty() || !options_.keep_folder.empty()) {
      throw Error(ErrorKind::kUsage, "--keep and --keep-all are for models; bind outputs with -o");
    }
    if (!options_.input_folder.empty() || !options_.output_folder.empty()) {
      RefuseForOperator("--input-path and --output-path are", "-i and -o");
    }
  }

  // The command line's streams are checked first, the bindings' once they are known.
  void CheckDescriptorStream() const {
    std::vector<std::string> paths;
    for (const auto* files : {&options_.inputs, &options_.expected, &options_.judged}) {
      for (const std::string& file : *files) paths.push_back(FileArgument::Parse(file).path);
    }
    RequireOneReader(options_.descriptor, paths);
    if (case_) RequireOneReader(options_.descriptor, case_->InputPaths());
  }

  // Each file has one use; standard output takes tensors or text, a terminal no tensors.
  void CheckOutputs() {
    AddJudgedFiles(options_.expected, Side::kExpected);
    AddJudgedFiles(options_.judged, Side::kActual);
    comparisons_.RequireDrawn(judged_.size());
    LeaveComparedFilesAlone();
    StandardOutput output;
    for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
      const std::string path = case_->PathOf(slot);
      const std::string name = DisplayName(slot.path);
      if ((path.empty() && !IsCompared(slot)) || is_json()) output.AddText(name);
      if (path.empty()) continue;
      OutputFormatOf(path);
      output.AddTensor(path, name);
    }
    RequireSeparateFiles();
    output.AddTextFile(options_.report, "the report");
    output.RequireOneKind();
  }

  void AddJudgedFiles(const std::vector<std::string>& arguments, Side side) {
    for (const FileArgument& file : case_->Assign(TensorRole::kOutput, WithFilesOf(arguments))) {
      judged_.push_back({file, side});
    }
  }

  // A folder stands for a file of each output in it, which is called as the output's own.
  std::vector<std::string> WithFilesOf(const std::vector<std::string>& arguments) const {
    std::vector<std::string> files;
    for (const std::string& argument : arguments) {
      if (!fs::is_directory(argument)) {
        files.push_back(argument);
        continue;
      }
      for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
        const fs::path own = case_->PathOf(slot);
        const std::string name = own.empty() ? FileOfTensor(slot) : own.filename().string();
        files.push_back(slot.path + "=" + FileOrStandIn((fs::path(argument) / name).string()));
      }
    }
    return files;
  }

  bool IsCompared(const TensorSlot& slot) const {
    return std::any_of(judged_.begin(), judged_.end(),
                       [&](const JudgedFile& judged) { return judged.file.name == slot.path; });
  }

  // Compared outputs are written only if the command line says so, not if just the document does.
  void LeaveComparedFilesAlone() {
    std::set<std::string> asked;
    for (const FileArgument& file : case_->Assign(TensorRole::kOutput, options_.outputs)) {
      asked.insert(file.name);
    }
    for (const JudgedFile& judged : judged_) {
      if (!asked.contains(judged.file.name)) document_->bindings().erase(judged.file.name);
    }
  }

  void RequireSeparateFiles() const {
    FileRoles roles;
    roles.Reads(descriptor_.path, "the descriptor");
    for (const TensorSlot& slot : case_->Slots(TensorRole::kInput)) {
      roles.ReadsTensor(case_->PathOf(slot), DisplayName(slot.path));
    }
    for (const auto& [file, side] : judged_) {
      roles.Reads(file.path, RoleOfCompared(side, DisplayName(file.name)));
    }
    for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
      roles.WritesTensor(case_->PathOf(slot), DisplayName(slot.path));
    }
    roles.Writes(options_.report, "the report");
    roles.Writes(options_.drawing.picture, "the picture");
    roles.RequireSeparate();
  }

  void CreateOutputs() {
    const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
    std::vector<OutputTensor> tensors = case_->CreateOutputs(/*writes_files=*/true);
    for (size_t i = 0; i < slots.size(); ++i) {
      outputs_.push_back({slots[i], case_->PathOf(slots[i]), std::move(tensors[i])});
    }
  }

  void WarnOfValues() {
    if (common_.quiet && options_.report.empty()) return;
    document_->WarnOfValues(case_->InputViews(), warnings_);
    if (common_.quiet || warnings_.list().empty()) return;
    TellDiagnostics(warnings_, descriptor_, common_);
  }

  void Compute() {
    const std::vector<ConstTensorView> inputs = case_->InputViews();
    std::vector<OutputTensor*> outputs;
    for (Output& output : outputs_) outputs.push_back(&output.tensor);
    const OperatorDesc& desc = document_->op();
    const Clock::time_point start = Clock::now();
    varied_.empty() ? RunInto(desc, inputs, outputs) : ComputeVaried(inputs);
    times_.run_seconds = SecondsSince(start);
    if (common_.verbose) {
      PrintMessage("dmlop: {} ran in {:.3g} ms on {} with {}\n", desc.name(),
                   times_.run_seconds * 1e3, Counted(SettledThreadCount(), "thread"), CurrentIsa());
    }
  }

  // Computes what a device may have computed, and says so.
  void ComputeVaried(InputViews inputs) {
    changed_ = varied_.Changed(document_->op(), inputs);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      varied_.RunInto(*changed_, i, outputs_[i].tensor.view());
    }
    reported_.as = varied_.ids();
    if (common_.quiet) return;
    PrintMessage("dmlop: computed as {}, which is not DirectML's result\n",
                 Printable(varied_.text()));
  }

  // Names an output that is printed, and what was computed in place of DirectML's result.
  std::string HeadingOf(const Output& output) const {
    const std::string name = DisplayName(output.slot.path);
    if (varied_.empty()) return name;
    return fmt::format("{} as {}, not DirectML's", name, fmt::join(varied_.ids(), " + "));
  }

  ExitStatus CompareOutputs() {
    const std::string lacking = NameLackingTolerance(options_.rules, *document_);
    if (!judged_.empty() && !common_.quiet && !lacking.empty()) {
      PrintMessage(LacksToleranceText({lacking}));
    }
    for (const Output& output : outputs_) {
      for (const JudgedFile& judged : judged_) {
        if (judged.file.name == output.slot.path) Compare(output, judged);
      }
    }
    reported_.compared = comparisons_.all();
    return comparisons_.status();
  }

  void Compare(const Output& output, const JudgedFile& judged) {
    const std::string& path = judged.file.path;
    comparisons_.Compare(
        {DisplayName(output.slot.path), AsConst(output.tensor.view()),
         ToleranceFor(options_.rules, *document_, output.tensor.type()), UnitsOf(output),
         /*is_bool=*/false, varied_.RoundsTowardZero()},
        path, [&] { return LoadCompared(path, *output.slot.desc, options_.rules.shapes); },
        judged.side, ExplainCommand());
  }

  OutputUnits UnitsOf(const Output& output) const {
    const auto number = static_cast<size_t>(&output - outputs_.data());
    return {[this, &output, number] {
              if (changed_) return varied_.UnitsOf(*changed_, number);
              return ErrorUnitsOf(document_->op(), case_->InputViews(),
                                  AsConst(output.tensor.view()), number);
            },
            UnitToleranceFor(options_.rules, *document_)};
  }

  // Returns nothing for a document from standard input, which cannot be read again.
  std::optional<RunComparisons::Command> ExplainCommand() const {
    if (descriptor_.name == kStandardInputName) return std::nullopt;
    RunComparisons::Command command{PathWord(options_.descriptor), ""};
    for (const std::string& input : options_.inputs) command.behind += " -i " + PathWord(input);
    for (const std::string& id : options_.as) command.behind += " --as " + ShellWord(id);
    if (options_.line) command.behind += fmt::format(" --line {}", *options_.line);
    if (options_.rules.shapes == FileShapes::kByCount) command.behind += " --reshape";
    command.behind += ConfineWords(options_.confine);
    return command;
  }

  // Prints the outputs that text would show, and the comparisons.
  void PrintJson() const {
    Json outputs = Json::array();
    for (const Output& output : outputs_) {
      if (!output.path.empty() || IsCompared(output.slot)) continue;
      Json json = {{"tensor", DisplayName(output.slot.path)}};
      json.update(TensorJson(AsConst(output.tensor.view()), options_.full));
      outputs.push_back(std::move(json));
    }
    Json json = Json::object();
    if (!varied_.empty()) json["as"] = varied_.ids();
    json.update({{"outputs", outputs}, {"comparisons", ComparisonsJson(reported_.compared)}});
    PrintResult(Utf8Text(json) + "\n");
  }

  void PrintUnbound() const {
    for (const Output& output : outputs_) {
      if (!output.path.empty() || IsCompared(output.slot)) continue;
      WriteTensor(Printable(HeadingOf(output)), AsConst(output.tensor.view()),
                  {.full = options_.full, .columns = OutputWidth()}, PrintResult);
    }
  }

  std::string Report() {
    reported_.inputs = InputFilesOf(*case_);
    for (const Output& output : outputs_) {
      if (output.path.empty()) continue;
      reported_.outputs.push_back(
          {DisplayName(output.slot.path), output.path, Sha256(output.tensor.bytes())});
    }
    return ReportText(*case_, reported_, warnings_, times_);
  }

  const RunOptions& options_;
  const CommonOptions& common_;
  Descriptor descriptor_;
  Diagnostics diagnostics_;
  Diagnostics warnings_;  // about values
  const VariedRun varied_;
  std::optional<Computation> changed_;  // by these variations
  RunComparisons comparisons_;
  std::unique_ptr<OperatorDocument> document_;
  std::optional<OperatorCase> case_;
  std::vector<JudgedFile> judged_;
  std::vector<Output> outputs_;
  ReportedFiles reported_;
  RunTimes times_;
};

}  // namespace

ExitStatus RunCommand(const RunOptions& options, const CommonOptions& common) {
  SetEngine(options.threads, options.isa);
  if (IsGraphModel(options.descriptor)) return RunGraphModel(options, common);
  return OperatorRun(options, common).Execute();
}

}  // namespace dmlop
