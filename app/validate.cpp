// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/batch/batch_case.h"
#include "app/batch/batch_report.h"
#include "app/commands.h"
#include "app/files/descriptor.h"
#include "app/files/manifest.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/document/document_json.h"
#include "core/document/operator_case.h"
#include "core/model/model_run.h"
#include "core/model/model_text.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

// The verdict on one document.
struct Verdict {
  Descriptor descriptor;
  Diagnostics diagnostics;
  Document document;
  std::optional<ModelResources> resources;  // for a model
  BoundModel bound;
  std::optional<Error> file_error;  // for the document itself

  bool valid() const {
    return (document.op || document.model) && !file_error && !diagnostics.has_errors();
  }

  // All operators of the document.
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

void JudgeOperator(const ValidateOptions& options, Verdict& verdict) {
  OperatorCase files(*verdict.document.op, {.shapes = options.shapes});
  files.Bind(TensorRole::kInput, options.inputs);
  files.Bind(TensorRole::kOutput, {});
  files.Judge(options.level, verdict.diagnostics);
}

void JudgeModel(const ValidateOptions& options, Verdict& verdict) {
  if (!options.inputs.empty()) {
    throw Error(ErrorKind::kUsage, "-i is not for DxDispatch models, which bind their resources");
  }
  const ModelDocument& model = *verdict.document.model;
  const std::string& folder =
      options.input_folder.empty() ? verdict.descriptor.folder : options.input_folder;
  verdict.resources.emplace(model, folder, verdict.diagnostics);
  verdict.bound = BindModel(model, *verdict.resources, verdict.diagnostics);
  if (options.print_complete && !verdict.diagnostics.has_errors()) {
    CheckMemory(model, *verdict.resources, verdict.bound, verdict.diagnostics);
  }
}

// Calls body() and keeps the Error of a file that it throws.
template <typename Body>
void WithFaults(Verdict& verdict, Body&& body) {
  try {
    if (!verdict.file_error) body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) throw;
    verdict.file_error = error;
  }
}

void Read(const std::string& argument, const ValidateOptions& options, Verdict& verdict) {
  verdict.descriptor.name = argument;
  WithFaults(verdict, [&] { verdict.descriptor = ReadDescriptor(argument, options.line); });
}

void Judge(const ValidateOptions& options, Verdict& verdict) {
  WithFaults(verdict, [&] {
    verdict.document =
        ReadDocument(verdict.descriptor, options.level, {options.confine, options.input_folder},
                     verdict.diagnostics, options.sizes);
    if (verdict.document.op) JudgeOperator(options, verdict);
    if (verdict.document.model) JudgeModel(options, verdict);
  });
  verdict.diagnostics.SortByPlace();
}

// The size of all elements of all tensors of a role; broadcast elements count repeatedly.
uint64_t BytesOf(const OperatorDesc& desc, TensorRole role) {
  uint64_t bytes = 0;
  for (const TensorSlot& slot : TensorSlots(desc)) {
    if (slot.role() != role) continue;
    bytes += BufferBytes(*slot.desc->data_type,
                         static_cast<uint64_t>(LayoutOf(*slot.desc).element_count()));
  }
  return bytes;
}

// The needs of operators that run one after another.
struct Figures {
  FeatureLevel level = FeatureLevels().front();  // the lowest level that supports all
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;

  void Add(const OperatorDesc& desc) {
    level = std::max(level, MinimumFeatureLevel(desc));
    bytes_read += BytesOf(desc, TensorRole::kInput);
    bytes_written += BytesOf(desc, TensorRole::kOutput);
  }

  void AddTo(Json& json) const {
    json.update({{"minimumFeatureLevel", ToString(level)},
                 {"bytesRead", bytes_read},
                 {"bytesWritten", bytes_written}});
  }
};

Figures FiguresOf(const Verdict& verdict) {
  Figures figures;
  for (const OperatorDesc* desc : verdict.operators()) figures.Add(*desc);
  return figures;
}

std::string ValidText(const Verdict& verdict) {
  const Figures figures = FiguresOf(verdict);
  const std::string level = ToString(figures.level);
  if (const ModelDocument* model = verdict.document.model.get()) {
    return fmt::format("{}: valid: {}, {} and {}; runs from feature level {}\n",
                       verdict.descriptor.name, Counted(model->resources().size(), "resource"),
                       Counted(model->dispatchables().size(), "dispatchable"),
                       Counted(model->commands().size(), "command"), level);
  }
  return fmt::format("{}: valid: {} runs from feature level {}; it reads {} and writes {}\n",
                     verdict.descriptor.name, verdict.document.op->op().name(), level,
                     Counted(figures.bytes_read, "byte"), figures.bytes_written);
}

Json DiagnosticJson(const Diagnostic& diagnostic, const std::optional<TextPosition>& position) {
  Json json = {{"severity", diagnostic.severity == Severity::kError ? "error" : "warning"},
               {"code", diagnostic.code},
               {"pointer", diagnostic.pointer}};
  if (position) json.update({{"line", position->line}, {"column", position->column}});
  json["message"] = diagnostic.message;
  return json;
}

std::string VerdictJson(const Verdict& verdict) {
  Json json;
  SetPath("document", verdict.descriptor.name, json);
  json["valid"] = verdict.valid();
  if (verdict.valid()) {
    FiguresOf(verdict).AddTo(json);
  } else {
    json["minimumFeatureLevel"] = nullptr;
  }
  json["diagnostics"] = Json::array();
  PositionFinder positions(verdict.descriptor.text);
  for (const Diagnostic& diagnostic : verdict.diagnostics.list()) {
    const std::optional<size_t>& offset = diagnostic.offset;
    json["diagnostics"].push_back(
        DiagnosticJson(diagnostic, offset ? std::optional(positions.Find(*offset)) : std::nullopt));
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
  TellDiagnostics(warnings, verdict.descriptor, common);
}

// Reports inputs without values, all of which a model needs.
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

// Warns of what the model needs and other machines may lack.
void WarnOfDxDispatch(const OperatorDesc& op) {
  constexpr FeatureLevel kOfDxDispatch = Level(6, 3);
  constexpr FeatureLevel kOfWindows = Level(6, 2);
  const FeatureLevel level = MinimumFeatureLevel(op);
  if (level > kOfDxDispatch) {
    PrintMessage(
        "dmlop: warning: DxDispatch cannot run the model: it has no {}, but the operators up to "
        "feature level {}\n",
        op.info().name, ToString(kOfDxDispatch));
  } else if (level > kOfWindows) {
    PrintMessage(
        "dmlop: warning: the model needs feature level {}; the DirectML of Windows has {}, and its "
        "redistributable has more\n",
        ToString(level), ToString(kOfWindows));
  }
}

// Prints the descriptor as a model, which requires its inputs.
ExitStatus PrintModel(const ValidateOptions& options, Verdict& verdict,
                      const CommonOptions& common) {
  if (verdict.document.model) {
    throw Error(ErrorKind::kUsage, "{} is a model already", verdict.descriptor.name);
  }
  OperatorCase files(*verdict.document.op, {.shapes = options.shapes});
  RequireBindings(files, verdict);
  if (!verdict.diagnostics.has_errors()) files.LoadInputs(verdict.diagnostics);
  if (verdict.diagnostics.has_errors()) {
    return TellDiagnostics(verdict.diagnostics, verdict.descriptor, common);
  }
  if (!common.quiet) WarnOfDxDispatch(verdict.document.op->op());
  PrintResult(ModelText(files));
  return ExitStatus::kSuccess;
}

void Report(Verdict& verdict, const ValidateOptions& options, const CommonOptions& common) {
  if (options.format == TextFormat::kJson) {
    PrintResult(VerdictJson(verdict));
  } else if (!common.quiet || verdict.diagnostics.has_errors()) {
    TellDiagnostics(verdict.diagnostics, verdict.descriptor, common);
  }
  if (verdict.file_error) PrintMessage("dmlop: {}\n", Printable(verdict.file_error->what()));
  if (!verdict.valid() || options.to_model) return;
  if (options.print_complete) {
    PrintComplete(verdict, common);
  } else if (options.format == TextFormat::kText && !common.quiet) {
    PrintResult(ValidText(verdict));
  }
}

// The verdict on a manifest's cases, which a batch gives before it runs any.
class ManifestVerdict {
 public:
  ManifestVerdict(Manifest& manifest, const ValidateOptions& options, const CommonOptions& common)
      : manifest_(manifest), options_(options), common_(common) {
    settings_.folder = manifest.folder();
    settings_.options.level = options.level;
    settings_.options.confine = options.confine;
    settings_.options.sizes = options.sizes;
    settings_.compared = Side::kExpected;  // so that expected outputs need no file
  }

  ExitStatus Report() {
    for (auto lines = manifest_.Next(); !lines.empty(); lines = manifest_.Next()) {
      std::vector<std::optional<BatchCase>> cases(lines.size());
      ParallelFor(std::ssize(lines), 1, /*bytes=*/0, [&](int64_t begin, int64_t end) {
        for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          cases[i].emplace(settings_, lines[i]).Prepare();
        }
      });
      for (const std::optional<BatchCase>& one : cases) Add(*one);
    }
    if (options_.format == TextFormat::kText) PrintSummary();
    return status_;
  }

 private:
  void Add(const BatchCase& one) {
    const CaseOutcome& outcome = one.outcome();
    ++cases_;
    status_ = std::max(status_, outcome.exit_status);
    if (outcome.passed()) {
      for (const OperatorDesc* op : one.operators()) figures_.Add(*op);
    } else {
      ++invalid_;
    }
    if (options_.format == TextFormat::kJson) return PrintResult(CaseJson(one));
    PrintMessage(FaultText(outcome, manifest_.name(), /*details=*/false));
  }

  std::string CaseJson(const BatchCase& one) const {
    const CaseOutcome& outcome = one.outcome();
    Json json;
    SetPath("document", manifest_.name(), json);
    json.update({{"line", outcome.line}, {"valid", outcome.passed()}});
    if (!outcome.name.empty()) json["name"] = outcome.name;
    if (outcome.passed()) {
      Figures figures;
      for (const OperatorDesc* op : one.operators()) figures.Add(*op);
      figures.AddTo(json);
    }
    json["diagnostics"] = Json::array();
    for (const CaseFault& fault : outcome.faults) {
      json["diagnostics"].push_back(DiagnosticJson(fault.what, fault.place));
    }
    return Utf8Text(json) + "\n";
  }

  void PrintSummary() const {
    if (common_.quiet) return;
    if (invalid_ > 0) {
      return PrintMessage("{}: {} of {} {} not valid\n", manifest_.name(), invalid_,
                          Counted(cases_, "case"), ForCount(cases_, "is", "are"));
    }
    PrintResult(
        fmt::format("{}: valid: {}; from feature level {} on all run; they read {} "
                    "and write {}\n",
                    manifest_.name(), Counted(cases_, "case"), ToString(figures_.level),
                    Counted(figures_.bytes_read, "byte"), figures_.bytes_written));
  }

  Manifest& manifest_;
  const ValidateOptions& options_;
  const CommonOptions& common_;
  BatchSettings settings_;
  int64_t cases_ = 0;
  int64_t invalid_ = 0;
  Figures figures_;
  ExitStatus status_ = ExitStatus::kSuccess;
};

// The manifest of a file with such a name, or that begins with two cases or an array of them. Null
// for others, and if only part of a document is asked for.
std::unique_ptr<Manifest> ManifestOf(const Descriptor& descriptor, const ValidateOptions& options) {
  const std::string& path = descriptor.path;
  const bool is_stream = path == kStandardStream || IsStream(path);
  const bool is_whole = !is_stream || descriptor.text.size() <= JsonDocument::kMaxBytes;
  const bool takes_part = options.line || options.print_complete || options.to_model;
  if (path.empty() || takes_part || !is_whole) return nullptr;
  auto manifest = is_stream ? std::make_unique<Manifest>(descriptor.name, descriptor.text)
                            : std::make_unique<Manifest>(path);
  const auto cases = manifest->Next(2, [](const ManifestLine&) { return true; });
  const bool is_named = HasExtension(path, ".jsonl");
  const bool has_cases = is_named || std::ranges::all_of(cases, [](const ManifestLine& one) {
                           return one.text.starts_with('{');
                         });
  if (!has_cases || cases.size() < (manifest->is_array() ? 1 : 2)) return nullptr;
  manifest->Rewind();
  return manifest;
}

}  // namespace

ExitStatus ValidateCommand(const ValidateOptions& options, const CommonOptions& common) {
  if (std::count(options.descriptors.begin(), options.descriptors.end(), "-") > 1) {
    throw Error(ErrorKind::kUsage, "standard input cannot be two documents");
  }
  ExitStatus status = ExitStatus::kSuccess;
  for (const std::string& argument : options.descriptors) {
    if (IsGraphModel(argument)) {
      status = std::max(status, ValidateGraphModel(argument, options, common));
      continue;
    }
    if (!options.cases_folder.empty()) {
      throw Error(ErrorKind::kUsage, "{}: --cases is for ONNX models and serialized graphs",
                  argument);
    }
    Verdict verdict;
    Read(argument, options, verdict);
    if (const auto manifest =
            verdict.file_error ? nullptr : ManifestOf(verdict.descriptor, options)) {
      status = std::max(status, ManifestVerdict(*manifest, options, common).Report());
      continue;
    }
    Judge(options, verdict);
    Report(verdict, options, common);
    status = std::max(status, verdict.status());
    if (verdict.valid() && options.to_model) {
      status = std::max(status, PrintModel(options, verdict, common));
    }
  }
  return status;
}

}  // namespace dmlop
