// SPDX-License-Identifier: Apache-2.0
// Dispatchables of a DxDispatch model that are operators of DirectML or serialized graphs of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_document.h"
#include "core/onnx/onnx_import.h"

namespace dmlop {

// Reports unknown members of an object, and warns of those that are ignored.
void CheckKeys(const ValueReader& values, JsonCursor object,
               std::span<const std::string_view> known, std::span<const IgnoredKey> ignored);

class DispatchableReader {
 public:
  DispatchableReader(FeatureLevel level, const ModelDocument::OpenFile& open,
                     Diagnostics& diagnostics)
      : level_(level),
        open_(open),
        diagnostics_(diagnostics),
        values_(diagnostics, Dialect::kModel) {}

  // Reads a dispatchable without its bindings, or reports that dmlop does not run it.
  std::optional<ModelDispatchable> Read(JsonCursor value) const;

 private:
  std::optional<ModelDispatchable> ReadGraphOf(JsonCursor value) const;
  std::shared_ptr<const Graph> GraphIn(const std::string& name, JsonCursor place,
                                       std::vector<ModelFile>& files) const;
  bool Open(const std::string& source_path, JsonCursor place, std::vector<ModelFile>& files) const;
  bool IsOurs(JsonCursor value) const;
  void ReadCompileType(JsonCursor value) const;
  void ReadExecutionFlags(JsonCursor value) const;

  FeatureLevel level_;
  const ModelDocument::OpenFile& open_;
  Diagnostics& diagnostics_;
  ValueReader values_;
};

// --- ONNX models ---------------------------------------------------------------------------------

// Dispatchables of a DxDispatch model that are ONNX models. Each dispatch of one has a graph for
// the shapes that its bindings state.

inline constexpr std::string_view kOnnxType = "onnx";

class OnnxDispatchables {
 public:
  OnnxDispatchables(FeatureLevel level, const StatedSizes& sizes,
                    const ModelDocument::OpenFile& open, Diagnostics& diagnostics)
      : level_(level),
        sizes_(sizes),
        open_(open),
        diagnostics_(diagnostics),
        values_(diagnostics, Dialect::kModel) {}

  static bool IsOnnx(JsonCursor dispatchable);

  // Opens the model of a dispatchable; faults are reported.
  void Read(JsonCursor dispatchable);

  bool Has(std::string_view name) const { return all_.contains(name); }

  // Warns of free sizes that the command line states and no model has.
  void WarnOfUnused() const;

  // Returns whether every model was read and taken.
  bool is_complete() const { return is_complete_; }

  // Makes the graph for a dispatch, whose bindings may state shapes. Null for a reported fault.
  std::optional<ModelDispatchable> ForDispatch(const std::string& name, JsonCursor bindings);

 private:
  struct One {
    JsonCursor place, path_place;
    std::vector<ModelFile> files;  // the model's, then those of external data
    std::shared_ptr<const InputFile> file;
    OnnxModel model;
    std::map<std::string, int64_t> free_sizes, free_denotations;
  };

  // False if the model is not there, which is reported.
  bool Open(JsonCursor dispatchable);
  std::map<std::string, int64_t> ReadSizes(JsonCursor dispatchable, std::string_view name) const;
  std::map<std::string, std::vector<int64_t>> ShapesIn(JsonCursor bindings) const;
  InputFile OpenExternal(One& one, const std::string& location) const;
  void Report(const One& one, const Diagnostics& found) const;

  FeatureLevel level_;
  const StatedSizes& sizes_;
  const ModelDocument::OpenFile& open_;
  Diagnostics& diagnostics_;
  ValueReader values_;
  std::map<std::string, One, std::less<>> all_;
  bool is_complete_ = true;
};

}  // namespace dmlop
