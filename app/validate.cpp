#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/text/diagnostic_text.h"
#include "core/base/counted.h"
#include "core/base/error.h"
#include "core/document/document_json.h"
#include "core/document/operator_case.h"
#include "core/model/model_memory.h"
#include "core/model/model_text.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

// One document, judged.
struct Verdict {
  Descriptor descriptor;
  Diagnostics diagnostics;
  Document document;
  std::optional<ModelResources> resources;  // of a model
  BoundModel bound;
  std::optional<Error> file_error;  // of the document itself

  bool valid() const {
    return (document.op || document.model) && !file_error && !diagnostics.has_errors();
  }

  // The operators of the document.
  std::vector<const OperatorDesc*> operators() const {
    std::vector<const OperatorDesc*> all;
    if (document.op) all.push_back(&document.op->op());
    if (!document.model) return all;
    for (const ModelDispatchable& dispatchable : document.model->dispatchables()) {
      for (const auto& named : dispatchable.operators()) all.push_back(named.op);
    }
    return all;
  }

  ExitStatus status() const {
    if (diagnostics.has_errors() || !file_error) return StatusOf(diagnostics);
    return StatusOf(file_error->kind());
  }
};

void JudgeOperator(FeatureLevel level, Verdict& verdict) {
  OperatorCase files(*verdict.document.op);
  files.Bind(TensorRole::kInput, {});
  files.Bind(TensorRole::kOutput, {});
  files.Judge(level, verdict.diagnostics);
}

void JudgeModel(const ValidateOptions& options, Verdict& verdict) {
  const ModelDocument& model = *verdict.document.model;
  const std::string& folder =
      options.input_folder.empty() ? verdict.descriptor.folder : options.input_folder;
  verdict.resources.emplace(model, folder, verdict.diagnostics);
  verdict.bound = BindModel(model, *verdict.resources, verdict.diagnostics);
  if (options.print_complete && !verdict.diagnostics.has_errors()) {
    CheckMemory(model, *verdict.resources, verdict.bound, verdict.diagnostics);
  }
}

void Judge(const std::string& argument, const ValidateOptions& options, Verdict& verdict) {
  verdict.descriptor.name = argument;
  try {
    verdict.descriptor = ReadDescriptor(argument, options.line);
    verdict.document = ReadDocument(verdict.descriptor, options.level,
                                    {options.confine, options.input_folder}, verdict.diagnostics);
    if (verdict.document.op) JudgeOperator(options.level, verdict);
    if (verdict.document.model) JudgeModel(options, verdict);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) throw;
    verdict.file_error = error;
  }
  verdict.diagnostics.SortByPlace();
}

// What the elements of all tensors of a role amount to; broadcast ones count each time.
uint64_t BytesOf(const OperatorDesc& desc, TensorRole role) {
  uint64_t bytes = 0;
  for (const TensorSlot& slot : TensorSlots(desc)) {
    if (slot.role() != role) continue;
    bytes += BufferBytes(*slot.desc->data_type,
                         static_cast<uint64_t>(LayoutOf(*slot.desc).element_count()));
  }
  return bytes;
}

uint64_t BytesOf(const Verdict& verdict, TensorRole role) {
  uint64_t bytes = 0;
  for (const OperatorDesc* desc : verdict.operators()) bytes += BytesOf(*desc, role);
  return bytes;
}

FeatureLevel MinimumFeatureLevel(const Verdict& verdict) {
  FeatureLevel level = FeatureLevels().front();
  for (const OperatorDesc* desc : verdict.operators()) {
    level = std::max(level, MinimumFeatureLevel(*desc));
  }
  return level;
}

std::string ValidText(const Verdict& verdict) {
  const std::string level = ToString(MinimumFeatureLevel(verdict));
  if (const ModelDocument* model = verdict.document.model.get()) {
    return fmt::format("{}: valid: {}, {} and {}; runs from feature level {}\n",
                       verdict.descriptor.name, Counted(model->resources().size(), "resource"),
                       Counted(model->dispatchables().size(), "dispatchable"),
                       Counted(model->commands().size(), "command"), level);
  }
  return fmt::format("{}: valid: {} runs from feature level {}; it reads {} bytes and writes {}\n",
                     verdict.descriptor.name, verdict.document.op->op().name(), level,
                     BytesOf(verdict, TensorRole::kInput), BytesOf(verdict, TensorRole::kOutput));
}

Json DiagnosticJson(const Diagnostic& diagnostic, PositionFinder& positions) {
  Json json = {{"severity", diagnostic.severity == Severity::kError ? "error" : "warning"},
               {"code", diagnostic.code},
               {"pointer", diagnostic.pointer}};
  if (diagnostic.offset) {
    const TextPosition position = positions.Find(*diagnostic.offset);
    json["line"] = position.line;
    json["column"] = position.column;
  }
  json["message"] = diagnostic.message;
  return json;
}

std::string VerdictJson(const Verdict& verdict) {
  Json json;
  SetPath("document", verdict.descriptor.name, json);
  json["valid"] = verdict.valid();
  if (verdict.valid()) {
    json["minimumFeatureLevel"] = ToString(MinimumFeatureLevel(verdict));
    json["bytesRead"] = BytesOf(verdict, TensorRole::kInput);
    json["bytesWritten"] = BytesOf(verdict, TensorRole::kOutput);
  } else {
    json["minimumFeatureLevel"] = nullptr;
  }
  json["diagnostics"] = Json::array();
  PositionFinder positions(verdict.descriptor.text);
  for (const Diagnostic& diagnostic : verdict.diagnostics.list()) {
    json["diagnostics"].push_back(DiagnosticJson(diagnostic, positions));
  }
  if (verdict.diagnostics.omitted() > 0) json["omitted"] = verdict.diagnostics.omitted();
  if (verdict.file_error) json["fileError"] = verdict.file_error->what();
  return Utf8Text(json) + "\n";
}

void PrintComplete(Verdict& verdict, const CommonOptions& common) {
  if (!verdict.document.model) return PrintResult(CompleteText(*verdict.document.op));
  verdict.resources->Fill();
  ModelRun run(*verdict.document.model, *verdict.resources, std::move(verdict.bound));
  Diagnostics warnings;
  WriteDescriptors(
      *verdict.document.model, run,
      [](const WrittenDescriptor& written) { PrintResult(written.text); }, warnings);
  if (common.quiet) return;
  PrintDiagnostics(warnings, verdict.descriptor.name, verdict.descriptor.text,
                   UseColor(common.color));
}

// A model has values for every input.
void RequireBindings(const OperatorCase& files, Verdict& verdict) {
  const JsonCursor root = verdict.document.op->json().root();
  const JsonCursor place = root.Find("bindings").value_or(root);
  for (const std::string& name : files.UnboundInputs()) {
    verdict.diagnostics.Error(
        "JSON-2", place.pointer(),
        fmt::format("{} has no values; a model needs a file or values for it", name),
        place.offset());
  }
}

// What a model needs that may not be there where it is to run.
void WarnOfDxDispatch(const OperatorDesc& op) {
  constexpr FeatureLevel kOfDxDispatch = Level(6, 3);
  constexpr FeatureLevel kOfWindows = Level(6, 2);
  const FeatureLevel level = MinimumFeatureLevel(op);
  if (level > kOfDxDispatch) {
    PrintMessage(
        fmt::format("dmlop: warning: DxDispatch cannot run the model: it has no {}, but the "
                    "operators up to feature level {}\n",
                    op.info().name, ToString(kOfDxDispatch)));
  } else if (level > kOfWindows) {
    PrintMessage(
        fmt::format("dmlop: warning: the model needs feature level {}; the DirectML of "
                    "Windows has {}, and its redistributable has more\n",
                    ToString(level), ToString(kOfWindows)));
  }
}

// Prints the descriptor as a model, for which its inputs are read.
ExitStatus PrintModel(Verdict& verdict, const CommonOptions& common) {
  if (verdict.document.model) {
    throw Error(ErrorKind::kUsage, fmt::format("{} is a model already", verdict.descriptor.name));
  }
  OperatorCase files(*verdict.document.op);
  RequireBindings(files, verdict);
  if (!verdict.diagnostics.has_errors()) files.LoadInputs(verdict.diagnostics);
  if (verdict.diagnostics.has_errors()) {
    PrintDiagnostics(verdict.diagnostics, verdict.descriptor.name, verdict.descriptor.text,
                     UseColor(common.color));
    return StatusOf(verdict.diagnostics);
  }
  if (!common.quiet) WarnOfDxDispatch(verdict.document.op->op());
  PrintResult(ModelText(files));
  return ExitStatus::kSuccess;
}

void Report(Verdict& verdict, const ValidateOptions& options, const CommonOptions& common) {
  if (options.format == TextFormat::kJson) {
    PrintResult(VerdictJson(verdict));
  } else if (!common.quiet || verdict.diagnostics.has_errors()) {
    PrintDiagnostics(verdict.diagnostics, verdict.descriptor.name, verdict.descriptor.text,
                     UseColor(common.color));
  }
  if (verdict.file_error) {
    PrintMessage(fmt::format("dmlop: {}\n", Printable(verdict.file_error->what())));
  }
  if (!verdict.valid() || options.to_model) return;
  if (options.print_complete) {
    PrintComplete(verdict, common);
  } else if (options.format == TextFormat::kText && !common.quiet) {
    PrintResult(ValidText(verdict));
  }
}

}  // namespace

ExitStatus ValidateCommand(const ValidateOptions& options, const CommonOptions& common) {
  if (std::count(options.descriptors.begin(), options.descriptors.end(), "-") > 1) {
    throw Error(ErrorKind::kUsage, "standard input cannot be two documents");
  }
  ExitStatus status = ExitStatus::kSuccess;
  for (const std::string& argument : options.descriptors) {
    Verdict verdict;
    Judge(argument, options, verdict);
    Report(verdict, options, common);
    status = std::max(status, verdict.status());
    if (verdict.valid() && options.to_model) {
      status = std::max(status, PrintModel(verdict, common));
    }
  }
  return status;
}

}  // namespace dmlop
