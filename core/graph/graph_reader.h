// SPDX-License-Identifier: Apache-2.0
// Reads serialized DirectML graphs, which tools that partition ONNX models write for DxDispatch as
// flatbuffers (dml_graph.fbs).
//
//   SGR-1   an edge that is never filled, or twice, or after it is read
//   SGR-2   an operator whose tensors or attributes do not match its fields
//   SGR-3   a constant that is missing or too short
//   SGR-4   a file that is not such a graph, or nodes that do not fit together
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace dmlop {

struct GraphSource {
  std::span<const std::byte> file;
  // Returns the bytes of a constant in the file of that name. Throws an Error if it cannot be read.
  // They stay valid until the next call.
  std::function<std::span<const std::byte>(const std::string& name)> constant;
  FeatureLevel level;
};

// Takes a fault: the id of a rule, and a message that names node and field. `of_file` is the kind
// of fault of a constant's file, if the graph itself is right.
using GraphFaults = std::function<void(std::string_view code, const std::string& message,
                                       std::optional<ErrorKind> of_file)>;

// Returns null if there is a fault. No byte of the file is trusted.
std::shared_ptr<const Graph> ReadGraph(const GraphSource& source, const GraphFaults& report);

}  // namespace dmlop
