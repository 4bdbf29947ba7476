// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_dispatchables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/base/text.h"
#include "core/graph/graph_reader.h"
#include "core/io/tensor_path.h"
#include "core/model/model_resources.h"
#include "core/ops/other_names.h"

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
      values.Warning(*member, "JSON-3", fmt::format("'{}' is ignored: {}", name, reason));
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
  values_.Error(*type, "DISP-1",
                fmt::format("'{}' is {}, which dmlop does not run{}", value.key(), what,
                            is_shader ? SameAsShader(value) : DidYouMeanOperator(type->string())));
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

}  // namespace dmlop
