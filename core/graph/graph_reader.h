// Serialized DirectML graphs, as the tools that partition ONNX models write them for DxDispatch: a
// flatbuffer (dml_graph.fbs).
//
//   SGR-1   an edge that nothing fills, or twice, or after it is read
//   SGR-2   an operator whose tensors or attributes are not those of its fields
//   SGR-3   a constant that is not there, or too short
//   SGR-4   a file that is no such graph, or nodes that do not fit together
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
  // The bytes of a constant that lies in a file of that name. Throws an Error where it cannot be
  // read. They stay until the next call.
  std::function<std::span<const std::byte>(const std::string& name)> constant;
  FeatureLevel level;
};

// Takes what is wrong: the id of a rule, and a message that names node and field. `of_file` is
// what the file of a constant has, where the graph itself is right.
using GraphFaults = std::function<void(std::string_view code, const std::string& message,
                                       std::optional<ErrorKind> of_file)>;

// Null where something is wrong. No byte of the file is trusted.
std::shared_ptr<const Graph> ReadGraph(const GraphSource& source, const GraphFaults& report);

}  // namespace dmlop
