// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_onnx.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "core/base/text.h"
#include "core/model/model_resources.h"

namespace dmlop {
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
    values_.Warning(*member, "JSON-3",
                    fmt::format("'{}' is ignored: nodes run as they are written", key));
    break;
  }
  const auto place = values_.Require(dispatchable, "sourcePath");
  const auto path = place ? values_.FileName(*place) : std::nullopt;
  if (!path) return;
  try {
    const auto file = open_(*path, *place);
    if (!file) return;
    const auto shared = std::make_shared<const InputFile>(file->file);
    One one{dispatchable, *place, {*file}, shared, ReadOnnxModel(shared->bytes(), file->path),
            {},           {}};
    one.free_sizes = ReadSizes(dispatchable, "freeDimensionNameOverrides");
    one.free_denotations = ReadSizes(dispatchable, "freeDimensionDenotationOverrides");
    all_.insert_or_assign(dispatchable.key(), std::move(one));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kTensorFile) return values_.Error(*place, "ONX-1", error.what());
    values_.FileError(*place, error.kind(), "RES-6", error.what());
  }
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
  const auto named = ImportOnnx(source, found);
  Report(one, found);
  if (named == nullptr) return std::nullopt;
  ModelDispatchable dispatchable{name, one.place, {}, true};
  dispatchable.what = std::shared_ptr<const Graph>(named, &named->graph);
  dispatchable.files = one.files;
  return dispatchable;
}

}  // namespace dmlop
