// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dmlop {
namespace {

constexpr int kMostCalls = 64;                // of functions in functions
constexpr size_t kMostCalledNodes = 1 << 17;  // of all calls
constexpr size_t kMostCalledBytes = 1 << 26;

std::map<std::string_view, size_t> PlacesOf(const std::vector<std::string_view>& names) {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  return places;
}

// Returns the name that a call has for a name of its function, empty if the call leaves it out;
// nothing if the function has no such name.
std::optional<std::string_view> Given(const std::vector<std::string_view>& by_call,
                                      const std::map<std::string_view, size_t>& places,
                                      std::string_view name) {
  const auto place = places.find(name);
  if (place == places.end()) return std::nullopt;
  return place->second < by_call.size() ? by_call[place->second] : std::string_view();
}

size_t BytesOf(const OnnxAttribute& attribute) {
  return attribute.floats.size() * sizeof(float) + attribute.ints.size() * sizeof(int64_t) +
         attribute.strings.size() * sizeof(std::string_view);
}

// Returns the attribute that one of a function's node refers to; null if the call leaves it out.
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
    interfaces_[&one] = {PlacesOf(one.inputs), PlacesOf(one.outputs)};
  }
}

const OnnxFunction* OnnxFunctions::Find(const OnnxNode& node) const {
  const auto found = functions_.find({node.domain, node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

bool OnnxFunctions::Take(const FunctionCall& call) {
  if (has_many_calls_) return false;
  RequireBounded(call);
  const OnnxFunction& function = call.function;
  if (call.node.inputs.size() > function.inputs.size() ||
      call.node.outputs.size() > function.outputs.size()) {
    throw Refusal("ONX-3", "it has more inputs or outputs than its function");
  }
  std::set<std::string_view> given;
  for (const OnnxAttribute& attribute : call.node.attributes) given.insert(attribute.name);
  for (const std::string_view name : function.required) {
    if (given.contains(name)) continue;
    throw Refusal("ONX-3", "the attribute '{}' is missing", name);
  }
  return true;
}

OnnxRefusal OnnxFunctions::RefusalOfMany() {
  return Refusal("ONX-1",
                 "functions are called more than {} deep, or have more than {} nodes or {} bytes "
                 "of names and attributes in all",
                 kMostCalls, kMostCalledNodes, kMostCalledBytes);
}

void OnnxFunctions::RequireBounded(const FunctionCall& call) {
  int depth = 1;
  for (const FunctionCall* outer = call.outer; outer != nullptr; outer = outer->outer, ++depth) {
    if (&outer->function == &call.function) throw Refusal("ONX-1", "the function calls itself");
  }
  has_many_calls_ = depth > kMostCalls;
  if (has_many_calls_) throw RefusalOfMany();
}

// Counts a node with what is made or looked at for it: names with the call's, and attributes.
void OnnxFunctions::Count(const FunctionCall& call, const OnnxNode& node) {
  const size_t looked_at = call.node.attributes.size() + call.function.defaults.size();
  ++called_nodes_;
  called_bytes_ += call.label.size() + node.name.size();
  for (const std::string_view name : node.outputs) {
    called_bytes_ += sizeof(std::string) + call.label.size() + name.size();
  }
  for (const OnnxAttribute& attribute : node.attributes) {
    const OnnxAttribute* value = &attribute;
    if (!attribute.reference.empty()) {
      called_bytes_ += looked_at * sizeof(OnnxAttribute*);
      value = ValueOf(attribute, call);
    }
    if (value != nullptr) called_bytes_ += BytesOf(*value);
  }
  has_many_calls_ = called_nodes_ > kMostCalledNodes || called_bytes_ > kMostCalledBytes;
  if (has_many_calls_) throw TooManyCalls();
}

OnnxNode OnnxFunctions::InCall(const FunctionCall& call, OnnxNode node) {
  Count(call, node);
  const Interface& interface = interfaces_.at(&call.function);
  for (std::string_view& name : node.inputs) {
    const auto given = Given(call.node.inputs, interface.inputs, name);
    if (given && given->empty()) name = {};
  }
  for (std::string_view& name : node.outputs) {
    if (name.empty()) continue;
    const auto outside = Given(call.node.outputs, interface.outputs, name).value_or("");
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
