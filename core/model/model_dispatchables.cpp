// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_dispatchables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/base/text.h"
#include "core/graph/graph.h"
#include "core/model/model_resources.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

// Names what a dispatchable is instead of an operator of DirectML; empty if it is one.
std::string WhatElse(std::string_view type) {
  const std::string lower = LowerCase(type);
  if (lower == "hlsl") return "an HLSL shader";
  return FindOperator(type) != nullptr ? "" : fmt::format("the operator {}", type);
}

// Names the operator that does what the name of a shader's file says, such as "hlsl_add_fp16.hlsl".
std::string SameAsShader(JsonCursor dispatchable) {
  const auto path = dispatchable.Find("sourcePath");
  if (!path || !path->is_string()) return "";
  std::string words = std::filesystem::path(path->string()).stem().string();
  std::ranges::replace(words, '_', ' ');
  for (const std::string_view word : WordsOf(words)) {
    const Likeness like = EqualIgnoringCase(word, "hlsl") ? Likeness() : FindLike(word);
    if (like.operators.empty() || !like.note.empty()) continue;
    return fmt::format("; {} does what its name says", like.operators.front()->name);
  }
  return "";
}

bool IsGraph(JsonCursor value) {
  const auto type = value.Find("type");
  return type && type->is_string() && EqualIgnoringCase(type->string(), kGraphType);
}

}  // namespace

void CheckKeys(const ValueReader& values, JsonCursor object,
               std::span<const std::string_view> known, std::span<const IgnoredKey> ignored) {
  std::vector<std::string_view> all(known.begin(), known.end());
  for (const auto& [name, reason] : ignored) {
    if (std::ranges::find(known, name) != known.end()) continue;
    all.push_back(name);
    if (const auto member = values.Find(object, name)) {
      values.Warning(*member, "JSON-3", "'{}' is ignored: {}", name, reason);
    }
  }
  values.CheckKeys(object, all);
}

std::optional<ModelDispatchable> DispatchableReader::Read(JsonCursor value) const {
  constexpr std::array<std::string_view, 3> kOtherKeys = {"bindings", "dmlCompileType",
                                                          "executionFlags"};
  if (IsGraph(value)) return ReadGraphOf(value);
  if (!IsOurs(value)) return std::nullopt;
  Diagnostics of_operator;
  OperatorObject object(value, kOtherKeys, ValueReader(of_operator, Dialect::kModel));
  if (object.has_operator()) object.Check(level_, of_operator);
  diagnostics_.AppendAll(of_operator);
  if (!object.has_operator()) return std::nullopt;
  ReadCompileType(value);
  ReadExecutionFlags(value);
  return ModelDispatchable{value.key(), value, std::move(object), !of_operator.has_errors()};
}

std::optional<ModelDispatchable> DispatchableReader::ReadGraphOf(JsonCursor value) const {
  constexpr std::array<std::string_view, 2> kKeys = {"type", "sourcePath"};
  CheckKeys(values_, value, kKeys, kIgnoredGraphKeys);
  const auto path = values_.Require(value, "sourcePath");
  const auto name = path ? values_.FileName(*path) : std::nullopt;
  if (!name) return std::nullopt;
  ModelDispatchable dispatchable{value.key(), value, {}, true};
  auto graph = GraphIn(*name, *path, dispatchable.files);
  if (!graph) return std::nullopt;
  dispatchable.what = std::move(graph);
  return dispatchable;
}

bool DispatchableReader::Open(const std::string& source_path, JsonCursor place,
                              std::vector<ModelFile>& files) const {
  const std::optional<ModelFile> file = open_(source_path, place);
  if (file) files.push_back(*file);
  return file.has_value();
}

// A constant that the graph only names is in a file next to it.
std::shared_ptr<const Graph> DispatchableReader::GraphIn(const std::string& name, JsonCursor place,
                                                         std::vector<ModelFile>& files) const {
  try {
    if (!Open(name, place, files)) return nullptr;
    const std::string path = files.front().path;
    const std::string folder = std::filesystem::path(name).parent_path().string();
    const auto constant = [&](const std::string& constant_name) {
      const std::filesystem::path beside =
          std::filesystem::path(folder) / FileOfConstant(constant_name, path);
      if (Open(beside.string(), place, files)) return files.back().file.bytes();
      throw Error(ErrorKind::kFileSystem, beside.string() + ": may not be opened");
    };
    return ReadGraph(
        {files.front().file.bytes(), constant, level_},
        [&](std::string_view code, const std::string& message, std::optional<ErrorKind> of_file) {
          const std::string text = fmt::format("{}: {}", path, message);
          if (of_file) return values_.FileError(place, *of_file, code, text);
          values_.Error(place, code, text);
        });
  } catch (const Error& error) {
    values_.FileError(place, error.kind(), "RES-6", error.what());
    return nullptr;
  }
}

bool DispatchableReader::IsOurs(JsonCursor value) const {
  const auto upper = value.Find("Type");
  const auto type = upper ? upper : value.Find("type");
  if (!type || !type->is_string()) return true;  // OperatorObject reports it
  const std::string what = WhatElse(type->string());
  if (what.empty()) return true;
  const bool is_shader = EqualIgnoringCase(type->string(), "hlsl");
  values_.Error(*type, "DISP-1", "'{}' is {}, which dmlop does not run{}", value.key(), what,
                is_shader ? SameAsShader(value) : DidYouMeanOperator(type->string()));
  return false;
}

void DispatchableReader::ReadCompileType(JsonCursor value) const {
  const auto type = values_.Find(value, "dmlCompileType");
  if (type) values_.Enum(*type, "", kDmlCompileTypes);
}

void DispatchableReader::ReadExecutionFlags(JsonCursor value) const {
  const auto flags = values_.Find(value, "executionFlags");
  if (!flags) return;
  for (const JsonCursor flag : flags->is_array() ? flags->children() : std::vector{*flags}) {
    values_.Enum(flag, kExecutionFlagPrefix, kExecutionFlags);
  }
}

// --- ONNX models ---------------------------------------------------------------------------------

namespace {

// These change how ORT runs a model, but not its meaning.
constexpr std::array<std::string_view, 3> kOfSessions = {"sessionOptionsConfigEntries",
                                                         "graphOptimizationLevel", "loggingLevel"};

}  // namespace

bool OnnxDispatchables::IsOnnx(JsonCursor dispatchable) {
  const auto type = dispatchable.Find("type");
  return type && type->is_string() && EqualIgnoringCase(type->string(), kOnnxType);
}

void OnnxDispatchables::Read(JsonCursor dispatchable) {
  constexpr std::array<std::string_view, 7> kKeys = {"type",
                                                     "sourcePath",
                                                     "freeDimensionNameOverrides",
                                                     "freeDimensionDenotationOverrides",
                                                     kOfSessions[0],
                                                     kOfSessions[1],
                                                     kOfSessions[2]};
  values_.CheckKeys(dispatchable, kKeys);
  for (const std::string_view key : kOfSessions) {
    const auto member = dispatchable.Find(key);
    if (!member) continue;
    values_.Warning(*member, "JSON-3", "'{}' is ignored: nodes run as they are written", key);
    break;
  }
  is_complete_ = Open(dispatchable) && is_complete_;
}

bool OnnxDispatchables::Open(JsonCursor dispatchable) {
  const auto place = values_.Require(dispatchable, "sourcePath");
  const auto path = place ? values_.FileName(*place) : std::nullopt;
  if (!path) return false;
  try {
    const auto file = open_(*path, *place);
    if (!file) return false;
    const auto shared = std::make_shared<const InputFile>(file->file);
    One one{dispatchable, *place, {*file}, shared, ReadOnnxModel(shared->bytes(), file->path),
            {},           {}};
    one.free_sizes = ReadSizes(dispatchable, "freeDimensionNameOverrides");
    one.free_denotations = ReadSizes(dispatchable, "freeDimensionDenotationOverrides");
    const std::string unused = WarningOfUnused({&one.model}, one.free_sizes, one.free_denotations);
    if (!unused.empty()) values_.Warning(*place, "ONX-4", unused);
    all_.insert_or_assign(dispatchable.key(), std::move(one));
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kTensorFile) {
      values_.Error(*place, "ONX-1", error.what());
    } else {
      values_.FileError(*place, error.kind(), "RES-6", error.what());
    }
  }
  return false;
}

void OnnxDispatchables::WarnOfUnused() const {
  std::vector<const OnnxModel*> models;
  for (const auto& [name, one] : all_) models.push_back(&one.model);
  const std::string unused = WarningOfUnused(models, sizes_.free, sizes_.denotations);
  if (is_complete_ && !unused.empty()) diagnostics_.Warning("ONX-4", "", unused);
}

std::map<std::string, int64_t> OnnxDispatchables::ReadSizes(JsonCursor dispatchable,
                                                            std::string_view name) const {
  std::map<std::string, int64_t> sizes;
  const auto object = values_.Find(dispatchable, name);
  if (!object || !values_.Expect(*object, JsonKind::kObject)) return sizes;
  for (auto member = object->first_child(); member; member = member->next()) {
    if (const auto size = values_.Uint32(*member)) sizes[member->key()] = *size;
  }
  return sizes;
}

std::map<std::string, std::vector<int64_t>> OnnxDispatchables::ShapesIn(JsonCursor bindings) const {
  std::map<std::string, std::vector<int64_t>> shapes;
  if (!bindings.is_object()) return shapes;
  for (auto member = bindings.first_child(); member; member = member->next()) {
    const auto shape = member->is_object() ? values_.Find(*member, "shape") : std::nullopt;
    const auto sizes = shape ? values_.Uint32Array(*shape) : std::nullopt;
    if (sizes) shapes[member->key()].assign(sizes->begin(), sizes->end());
  }
  return shapes;
}

InputFile OnnxDispatchables::OpenExternal(One& one, const std::string& location) const {
  RequireInsideOfModel(location);
  const std::filesystem::path folder = std::filesystem::path(one.files.front().path).parent_path();
  const auto file = open_((folder / PathIn("", location)).string(), one.path_place);
  if (!file) throw Error(ErrorKind::kUsage, location + ": may not be opened");
  if (!IsRegular(file->path)) {
    throw Error(ErrorKind::kFileSystem, file->path + ": is not a regular file");
  }
  one.files.push_back(*file);
  return file->file;
}

void OnnxDispatchables::Report(const One& one, const Diagnostics& found) const {
  for (const Diagnostic& fault : found.list()) {
    const std::string text = fmt::format("{}: {}", one.files.front().path, fault.message);
    if (fault.severity == Severity::kWarning) {
      values_.Warning(one.path_place, fault.code, text);
    } else if (fault.file_fault) {
      values_.FileError(one.path_place, *fault.file_fault, fault.code, text);
    } else {
      values_.Error(one.path_place, fault.code, text);
    }
  }
}

std::optional<ModelDispatchable> OnnxDispatchables::ForDispatch(const std::string& name,
                                                                JsonCursor bindings) {
  One& one = all_.find(name)->second;
  OnnxSource source{.model = one.model, .owner = one.file, .level = level_};
  source.external = [&](const std::string& location) { return OpenExternal(one, location); };
  source.free_sizes = sizes_.free;
  source.free_sizes.insert(one.free_sizes.begin(), one.free_sizes.end());
  source.free_denotations = sizes_.denotations;
  source.free_denotations.insert(one.free_denotations.begin(), one.free_denotations.end());
  for (const auto& shapes : {sizes_.shapes, ShapesIn(bindings)}) {
    for (const OnnxValueInfo& input : one.model.graph.inputs) {
      const auto shape = shapes.find(std::string(input.name));
      if (shape != shapes.end()) source.shapes.insert(*shape);
    }
  }
  Diagnostics found;
  const auto named = ImportOnnx(source, found).graph;
  Report(one, found);
  if (named == nullptr) {
    is_complete_ = false;
    return std::nullopt;
  }
  ModelDispatchable dispatchable{name, one.place, {}, true};
  dispatchable.what = std::shared_ptr<const Graph>(named, &named->graph);
  dispatchable.files = one.files;
  return dispatchable;
}

}  // namespace dmlop
