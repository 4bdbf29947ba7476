// SPDX-License-Identifier: Apache-2.0
// Imports an ONNX model: it becomes a graph of DirectML's operators, node by node.
//
//   ONX-7   a name that is used before it is computed, twice, or not at all
//   ONX-8   external data that is missing, short or outside
//   ONX-9   a condition of If that is not known
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/graph/graph.h"
#include "core/io/tensor_file.h"
#include "core/onnx/onnx_model.h"

namespace dmlop {

struct OnnxSource {
  const OnnxModel& model;
  std::shared_ptr<const void> owner;  // keeps the file alive
  FeatureLevel level;
  bool is_mapped = false;  // the model's file
  // Returns a mapped file with external data, by its location. Throws an Error of kind
  // kFileSystem if it cannot be read, and of kind kUsage if it leads outside.
  std::function<InputFile(const std::string& location)> external = nullptr;
  std::map<std::string, const LoadedTensor*> bound = {};  // inputs with values
  std::map<std::string, std::vector<int64_t>> shapes =
      {};  // of inputs, in place of those in the file
  std::map<std::string, int64_t> free_sizes = {},
                                 free_denotations = {};  // of free dimensions, by name
};

// Returns null if the model is refused; all refusals are reported.
std::shared_ptr<const NamedGraph> ImportOnnx(const OnnxSource& source, Diagnostics& diagnostics);

// The inputs without an initializer, in order, which must be bound; then the others.
std::vector<std::string> OnnxInputNames(const OnnxModel& model);

}  // namespace dmlop
