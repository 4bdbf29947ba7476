// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/commands.h"
#include "app/compare/judgement.h"
#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "app/text/comparison_text.h"
#include "core/base/error.h"
#include "core/document/operator_case.h"

namespace dmlop {
namespace {

// One diagnosis, from the command line to the text. Member functions are in the order in which they
// are called.
class OutputDiagnosis {
 public:
  OutputDiagnosis(const DiagnoseOptions& options, const CommonOptions& common)
      : options_(options), common_(common) {}

  ExitStatus Execute() {
    RequireOneReader(options_.descriptor, GivenPaths());
    descriptor_ = ReadDescriptor(options_.descriptor, options_.line);
    Document document = ReadDocument(descriptor_, kHighestFeatureLevel, {options_.confine},
                                     diagnostics_, options_.sizes);
    if (document.model) {
      return DiagnoseModel(options_, common_, descriptor_, *document.model, diagnostics_);
    }
    document_ = std::move(document.op);
    if (document_) RequireOptionsOfOperator();
    if (!document_ || !Check()) return Refuse();
    const std::vector<FileArgument> files = case_->Assign(TensorRole::kOutput, options_.actual);
    case_->RequireBoundInputs();
    case_->LoadInputs(diagnostics_);
    if (diagnostics_.has_errors()) return Refuse();
    for (const FileArgument& file : files) diagnosed_.push_back(Diagnosed(file));
    Print();
    if (std::ranges::any_of(diagnosed_, &DiagnosedFile::is_missing)) return ExitStatus::kFileSystem;
    const bool passes = std::ranges::all_of(diagnosed_, &DiagnosedFile::passes);
    return passes ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  std::vector<std::string> GivenPaths() const {
    std::vector<std::string> paths;
    for (const auto* files : {&options_.inputs, &options_.actual}) {
      for (const std::string& file : *files) paths.push_back(FileArgument::Parse(file).path);
    }
    return paths;
  }

  void RequireOptionsOfOperator() const {
    if (options_.node.empty() && options_.from.empty()) return;
    throw Error(ErrorKind::kUsage, "{}: is an operator; --node and --from are for models",
                descriptor_.name);
  }

  ExitStatus Refuse() const { return TellDiagnostics(diagnostics_, descriptor_, common_); }

  // Returns false if the document has faults.
  bool Check() {
    case_.emplace(*document_, CaseFiles{.shapes = options_.rules.shapes, .reads_outputs = true});
    case_->Bind(TensorRole::kInput, options_.inputs);
    case_->AddOptionalTensors(TensorRole::kOutput, options_.actual);
    case_->Bind(TensorRole::kOutput, {});
    RequireOneReader(options_.descriptor, case_->InputPaths());
    return case_->Check(kHighestFeatureLevel, diagnostics_);
  }

  DiagnosedFile Diagnosed(const FileArgument& file) const {
    const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
    size_t output = 0;
    while (slots[output].path != file.name) ++output;
    const TensorDesc& desc = *slots[output].desc;
    if (IsMissing(file.path)) {
      return DiagnoseMissing({document_->op(), case_->InputViews()}, output, file.path);
    }
    const DiagnosisOptions how{ToleranceFor(options_.rules, *document_, *desc.data_type),
                               UnitToleranceFor(options_.rules, *document_), options_.is_thorough};
    DiagnosedFile diagnosed = DiagnoseFile(
        {document_->op(), case_->InputViews()}, output, file.path,
        LoadCompared(file.path, desc, options_.rules.shapes), how, options_.rules.leniency);
    AddChecks(file, diagnosed);
    return diagnosed;
  }

  void AddChecks(const FileArgument& file, DiagnosedFile& diagnosed) const {
    std::string command = fmt::format("dmlop run {}", PathWord(options_.descriptor));
    if (options_.line) command += fmt::format(" --line {}", *options_.line);
    for (const std::string& input : options_.inputs) command += " -i " + PathWord(input);
    const bool is_named = case_->Slots(TensorRole::kOutput).size() > 1;
    dmlop::AddChecks({command, is_named ? file.name + "=" + file.path : file.path,
                      ConfineWords(options_.confine)},
                     diagnosed);
  }

  void Print() const {
    if (options_.format == TextFormat::kText) return PrintResult(DiagnosisText(diagnosed_));
    Json outputs = Json::array();
    for (const DiagnosedFile& file : diagnosed_) outputs.push_back(DiagnosisJson(file));
    PrintResult(Utf8Text({{"outputs", outputs}}) + "\n");
  }

  const DiagnoseOptions& options_;
  const CommonOptions& common_;
  Descriptor descriptor_;
  Diagnostics diagnostics_;
  std::unique_ptr<OperatorDocument> document_;
  std::optional<OperatorCase> case_;
  std::vector<DiagnosedFile> diagnosed_;
};

}  // namespace

ExitStatus DiagnoseCommand(const DiagnoseOptions& options, const CommonOptions& common) {
  if (options.actual.empty() && options.from.empty()) {
    throw Error(ErrorKind::kUsage, "ACTUAL is missing: the file that a device has written");
  }
  if (IsGraphModel(options.descriptor)) return DiagnoseGraph(options, common);
  return OutputDiagnosis(options, common).Execute();
}

}  // namespace dmlop
