// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/onnx/onnx_node.h"

namespace dmlop {
namespace {

constexpr int kMostCalls = 64;                // of functions in functions
constexpr size_t kMostCalledNodes = 1 << 17;  // of all calls
constexpr size_t kMostCalledBytes = 1 << 26;

// Where a name is in a list; the length of the list if it is not there.
size_t PlaceOf(std::string_view name, const std::vector<std::string_view>& names) {
  return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
}

// What an attribute of a function's node refers to; null if the call leaves it out.
const OnnxAttribute* ValueOf(const OnnxAttribute& written, const FunctionCall& call) {
  if (written.reference.empty()) return &written;
  const OnnxAttribute* given = call.node.Find(written.reference);
  if (given != nullptr) return given;
  const auto& defaults = call.function.defaults;
  const auto found = std::ranges::find(defaults, written.reference, &OnnxAttribute::name);
  return found == defaults.end() ? nullptr : &*found;
}

}  // namespace

OnnxFunctions::OnnxFunctions(const OnnxModel& model) {
  for (const OnnxFunction& one : model.functions) {
    const bool is_new = functions_.emplace(Name(one.domain, one.name, one.overload), &one).second;
    if (!is_new) twice_.push_back(one.name);
  }
}

const OnnxFunction* OnnxFunctions::Find(const OnnxNode& node) const {
  const auto found = functions_.find({node.domain, node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

bool OnnxFunctions::Take(const FunctionCall& call) {
  if (has_many_calls_) return false;
  Count(call);
  const OnnxFunction& function = call.function;
  if (call.node.inputs.size() > function.inputs.size() ||
      call.node.outputs.size() > function.outputs.size()) {
    throw OnnxRefusal{{{"ONX-3", "it has more inputs or outputs than its function"}}};
  }
  for (const std::string_view name : function.required) {
    if (call.node.Find(name) != nullptr) continue;
    throw OnnxRefusal{{{"ONX-3", fmt::format("the attribute '{}' is missing", name)}}};
  }
  return true;
}

void OnnxFunctions::Count(const FunctionCall& call) {
  int depth = 1;
  for (const FunctionCall* outer = call.outer; outer != nullptr; outer = outer->outer, ++depth) {
    if (&outer->function == &call.function) {
      throw OnnxRefusal{{{"ONX-1", "the function calls itself"}}};
    }
  }
  called_nodes_ += call.function.nodes.size();
  called_bytes_ += call.function.nodes.size() * call.label.size();
  has_many_calls_ =
      depth > kMostCalls || called_nodes_ > kMostCalledNodes || called_bytes_ > kMostCalledBytes;
  if (!has_many_calls_) return;
  throw OnnxRefusal{
      {{"ONX-1", fmt::format("functions are called more than {} deep, or have more than {} nodes "
                             "or {} bytes of names in all",
                             kMostCalls, kMostCalledNodes, kMostCalledBytes)}}};
}

OnnxNode OnnxFunctions::InCall(const FunctionCall& call, OnnxNode node) {
  const OnnxFunction& function = call.function;
  const auto name_at = [](const std::vector<std::string_view>& names, size_t place) {
    return place < names.size() ? names[place] : std::string_view();
  };
  for (std::string_view& name : node.inputs) {
    const size_t input = PlaceOf(name, function.inputs);
    const bool is_left_out = name_at(call.node.inputs, input).empty();
    if (input < function.inputs.size() && is_left_out) name = {};
  }
  for (std::string_view& name : node.outputs) {
    if (name.empty()) continue;
    const auto outside = name_at(call.node.outputs, PlaceOf(name, function.outputs));
    name = outside.empty() ? names_.emplace_back(fmt::format("{}/{}", call.label, name)) : outside;
  }
  std::vector<OnnxAttribute> attributes;
  for (const OnnxAttribute& written : node.attributes) {
    const OnnxAttribute* given = ValueOf(written, call);
    if (given == nullptr) continue;
    attributes.push_back(*given);
    attributes.back().name = written.name;
  }
  node.attributes = std::move(attributes);
  return node;
}

}  // namespace dmlop
