#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/descriptor.h"
#include "app/diagnostic_text.h"
#include "app/output.h"
#include "core/base/error.h"
#include "core/document/operator_case.h"

namespace dmlop {
namespace {

using Json = nlohmann::ordered_json;

// One document, judged.
struct Verdict {
  Descriptor descriptor;
  Diagnostics diagnostics;
  std::unique_ptr<OperatorDocument> document;  // null where the operator is not known
  std::optional<Error> file_error;             // a bound file that would complete the document

  bool valid() const { return document && !file_error && !diagnostics.has_errors(); }

  ExitStatus status() const {
    if (diagnostics.has_errors()) return ExitStatus::kInvalidDocument;
    if (!file_error) return ExitStatus::kSuccess;
    return file_error->kind() == ErrorKind::kFileSystem ? ExitStatus::kFileSystem
                                                        : ExitStatus::kTensorFile;
  }
};

Verdict Judge(const std::string& argument, FeatureLevel level) {
  Verdict verdict{{argument, "", ""}, {}, nullptr, {}};
  try {
    verdict.descriptor = ReadDescriptor(argument);
  } catch (const Error& error) {
    verdict.file_error = error;
    return verdict;
  }
  verdict.document = ReadOperator(verdict.descriptor, verdict.diagnostics);
  if (!verdict.document) return verdict;
  OperatorCase files(*verdict.document);
  files.Bind(TensorRole::kInput, {});
  files.Bind(TensorRole::kOutput, {});
  try {
    files.TakeFromFiles();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) throw;
    verdict.file_error = error;
    return verdict;  // what the file would have told is missing; more reports would mislead
  }
  verdict.document->Check(level, verdict.diagnostics);
  return verdict;
}

// What the elements of all tensors of a role amount to; broadcast ones count each time.
uint64_t BytesOf(const OperatorDesc& desc, TensorRole role) {
  uint64_t bytes = 0;
  for (const TensorSlot& slot : TensorSlots(desc)) {
    if (slot.role != role) continue;
    bytes += static_cast<uint64_t>(LayoutOf(*slot.desc).element_count()) *
             ByteWidth(*slot.desc->data_type);
  }
  return bytes;
}

std::string ValidText(const Verdict& verdict) {
  const OperatorDesc& desc = verdict.document->op();
  return fmt::format("{}: valid: {} runs from feature level {}; it reads {} bytes and writes {}\n",
                     verdict.descriptor.name, Name(desc), ToString(MinimumFeatureLevel(desc)),
                     BytesOf(desc, TensorRole::kInput), BytesOf(desc, TensorRole::kOutput));
}

Json DiagnosticJson(const Diagnostic& diagnostic, std::string_view text) {
  Json json = {{"severity", diagnostic.severity == Severity::kError ? "error" : "warning"},
               {"code", diagnostic.code},
               {"pointer", diagnostic.pointer}};
  if (diagnostic.offset) {
    const TextPosition position = PositionOf(text, *diagnostic.offset);
    json["line"] = position.line;
    json["column"] = position.column;
  }
  json["message"] = diagnostic.message;
  return json;
}

std::string VerdictJson(const Verdict& verdict) {
  Json json = {{"document", verdict.descriptor.name}, {"valid", verdict.valid()}};
  if (verdict.valid()) {
    json["minimumFeatureLevel"] = ToString(MinimumFeatureLevel(verdict.document->op()));
    json["bytesRead"] = BytesOf(verdict.document->op(), TensorRole::kInput);
    json["bytesWritten"] = BytesOf(verdict.document->op(), TensorRole::kOutput);
  } else {
    json["minimumFeatureLevel"] = nullptr;
  }
  json["diagnostics"] = Json::array();
  for (const Diagnostic& diagnostic : verdict.diagnostics.list()) {
    json["diagnostics"].push_back(DiagnosticJson(diagnostic, verdict.descriptor.text));
  }
  if (verdict.diagnostics.omitted() > 0) json["omitted"] = verdict.diagnostics.omitted();
  if (verdict.file_error) json["fileError"] = verdict.file_error->what();
  // Text that is not UTF-8 may be quoted in a message.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void Report(const Verdict& verdict, const ValidateOptions& options, const CommonOptions& common) {
  if (options.format == TextFormat::kJson) {
    PrintResult(VerdictJson(verdict));
  } else {
    PrintDiagnostics(verdict.diagnostics, verdict.descriptor.name, verdict.descriptor.text,
                     UseColor(common.color));
  }
  if (verdict.file_error) {
    PrintMessage(fmt::format("dmlop: {}\n", Printable(verdict.file_error->what())));
  }
  if (!verdict.valid()) return;
  if (options.print_complete) {
    PrintResult(CompleteText(*verdict.document));
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
    const Verdict verdict = Judge(argument, options.level);
    Report(verdict, options, common);
    status = std::max(status, verdict.status());
  }
  return status;
}

}  // namespace dmlop
