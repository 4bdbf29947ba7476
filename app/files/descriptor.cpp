// SPDX-License-Identifier: Apache-2.0
#include "app/files/descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/files/manifest.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/text/diagnostic_text.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"
#include "core/io/tensor_file.h"
#include "core/model/model_resources.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

// The text before the case becomes blanks, so that positions are those in the manifest.
Descriptor ReadCase(const std::string& path, int64_t line) {
  Manifest manifest(path);
  const auto found = manifest.Next(2, [&](const ManifestLine& one) { return one.number == line; });
  RequireOneCase(manifest, line, static_cast<int64_t>(found.size()));
  return {manifest.name(), manifest.folder(),
          std::string(static_cast<size_t>(line - 1), '\n') +
              std::string(found.front().column - 1, ' ') + found.front().text,
          manifest.is_file() ? path : ""};
}

// A hint for a word that is no path, but the name of an operator or close to one; else empty.
std::string OperatorHint(const std::string& argument) {
  const bool is_word = std::all_of(argument.begin(), argument.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
  if (!is_word || FileExists(argument)) return "";
  const OperatorInfo* named = FindOperator(argument);
  const OperatorInfo* meant = named != nullptr ? named : NearestOperator(argument, Operators());
  if (meant != nullptr) {
    return fmt::format(
        "; the operator {0} is written {{\"type\": \"{0}\", ...}}, and 'dmlop ops {0}' "
        "lists its fields",
        meant->name);
  }
  const std::string near = DidYouMeanOperator(argument);
  return near.empty() ? "" : fmt::format("; 'dmlop ops' lists the operators{}", near);
}

std::string ReadDocumentText(const std::string& path) {
  try {
    return ReadText(path, JsonDocument::kMaxBytes);
  } catch (const Error& error) {
    throw WithOperatorHint(error, path);
  }
}

}  // namespace

Error WithOperatorHint(const Error& error, const std::string& path) {
  return {error.kind(), error.what() + OperatorHint(path)};
}

bool IsJsonText(const std::string& argument) {
  const size_t begin = argument.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return false;
  const bool is_comment =
      argument.compare(begin, 2, "//") == 0 || argument.compare(begin, 2, "/*") == 0;
  return argument[begin] == '{' || (is_comment && argument.find('{') != std::string::npos);
}

Descriptor ReadDescriptor(const std::string& argument, std::optional<int64_t> line) {
  if (line) return ReadCase(argument, *line);
  if (IsJsonText(argument)) return {"<command line>", "", argument};
  std::string text = ReadDocumentText(argument);
  if (argument == kStandardStream) return {kStandardInputName, "", std::move(text), argument};
  if (IsStream(argument)) return {argument, "", std::move(text), argument};
  return {argument, std::filesystem::path(argument).parent_path().string(), std::move(text),
          argument};
}

void RequireOneReader(const std::string& argument, const std::vector<std::string>& files) {
  if (argument != kStandardStream) return;
  for (const std::string& file : files) {
    if (file != kStandardStream && file != "/dev/stdin") continue;
    throw Error(ErrorKind::kUsage, "standard input cannot be both the descriptor and a tensor");
  }
}

namespace {

bool IsConfined(const Document& document, const Descriptor& descriptor,
                const Confinement& confinement, Diagnostics& diagnostics) {
  if (document.op) return CheckConfinement(*document.op, confinement, diagnostics);
  return !document.model ||
         CheckConfinement(*document.model, confinement, descriptor.folder, diagnostics);
}

void RequireNone(const ModelSizes& sizes) {
  if (sizes.free.empty() && sizes.denotations.empty() && sizes.shapes.empty()) return;
  throw Error(ErrorKind::kUsage, "-f, -F and -b are for ONNX models; \"Sizes\" are an operator's");
}

Document ReadAny(const Descriptor& descriptor, FeatureLevel level, const Confinement& confinement,
                 Diagnostics& diagnostics, const ModelSizes& sizes) {
  std::optional<JsonDocument> json = JsonDocument::Parse(descriptor.text, diagnostics);
  Document document;
  if (!json) return document;
  if (ModelDocument::IsModel(*json)) {
    const std::string& folder =
        confinement.input_folder.empty() ? descriptor.folder : confinement.input_folder;
    const auto open = [&](const std::string& name, JsonCursor place) -> std::optional<ModelFile> {
      const std::string path = SourcePath(name, folder);
      if (!MayOpen(path, confinement, place, diagnostics)) return std::nullopt;
      return ModelFile{path, OpenBytes(path)};
    };
    document.model = std::make_unique<ModelDocument>(*std::move(json), level, open, diagnostics,
                                                     ParseSizes(sizes));
    return document;
  }
  RequireNone(sizes);
  document.op =
      std::make_unique<OperatorDocument>(*std::move(json), descriptor.folder, diagnostics);
  if (!document.op->has_operator()) document.op.reset();
  return document;
}

}  // namespace

Document ReadDocument(const Descriptor& descriptor, FeatureLevel level,
                      const Confinement& confinement, Diagnostics& diagnostics,
                      const ModelSizes& sizes) {
  Document document = ReadAny(descriptor, level, confinement, diagnostics, sizes);
  if (!IsConfined(document, descriptor, confinement, diagnostics)) return {};
  return document;
}

ExitStatus TellDiagnostics(const Diagnostics& diagnostics, const Descriptor& descriptor,
                           const CommonOptions& common) {
  PrintDiagnostics(diagnostics, descriptor.name, descriptor.text, UseColor(common.color));
  return StatusOf(diagnostics);
}

void RefuseForModel(std::string_view options_are, std::string_view way) {
  throw Error(ErrorKind::kUsage,
              "{} for operator descriptors; a model binds its tensors itself{}, and dmlop validate "
              "--print-complete makes descriptors of its dispatchables",
              options_are, way);
}

void RefuseForOperator(std::string_view folders_are, std::string_view instead) {
  throw Error(ErrorKind::kUsage, "{} for models; name the folder in {}", folders_are, instead);
}

}  // namespace dmlop
