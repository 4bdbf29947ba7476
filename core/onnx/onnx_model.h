// SPDX-License-Identifier: Apache-2.0
// An ONNX model as it is written: graphs of nodes with names. Texts and tensors are views of the
// file. Source: onnx.proto.
//
//   ONX-1   a file that is no ONNX model, is cut off, or exceeds a limit
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/tensor_proto.h"

namespace dmlop {

struct OnnxGraph;

struct OnnxAttribute {
  enum class Kind : uint8_t {  // numbers as in the file
    kNone,
    kFloat,
    kInt,
    kString,
    kTensor,
    kGraph,
    kFloats,
    kInts,
    kStrings,
    kOther,  // what no operator here has
  };

  std::string_view name;
  std::string_view reference;  // in a function, the attribute of the call that has its value
  Kind kind = Kind::kNone;
  std::vector<float> floats;  // of kFloat, too
  std::vector<int64_t> ints;  // of kInt, too
  std::vector<std::string_view> strings;
  std::optional<TensorProto> tensor;
  std::shared_ptr<const OnnxGraph> graph;
};

struct OnnxNode {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // empty names: left out
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute* Find(std::string_view attribute) const;
};

struct OnnxDimension {
  std::optional<int64_t> size;
  std::string_view name, denotation;  // of a free size
};

// A tensor with the type and the sizes that the file states.
struct OnnxValueInfo {
  std::string_view name;
  bool is_tensor = false;  // neither a sequence nor anything else
  int32_t element_type = 0;
  std::optional<std::vector<OnnxDimension>> sizes;
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::vector<TensorProto> initializers;
  std::vector<std::string_view> sparse_initializers;
  std::vector<OnnxValueInfo> inputs, outputs;
  std::vector<OnnxValueInfo> values;  // stated of tensors between nodes
};

using OnnxOpsets = std::map<std::string_view, int64_t>;  // by domain; "" is ONNX's own

// An operator that the model itself defines by nodes.
struct OnnxFunction {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> required;  // attributes without a default
  std::vector<OnnxAttribute> defaults;
  std::vector<OnnxNode> nodes;
  OnnxOpsets opsets;
};

struct OnnxModel {
  int64_t ir_version = 0;
  std::string_view producer;
  OnnxOpsets opsets;
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;
};

// The default domain has two names.
inline std::string_view DomainOf(std::string_view written) {
  return written == "ai.onnx" ? std::string_view() : written;
}

// Reads a model, which views the file. Throws an Error of kind kTensorFile that names the place.
OnnxModel ReadOnnxModel(std::span<const std::byte> file, const std::string& name);

}  // namespace dmlop
