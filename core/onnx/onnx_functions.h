// SPDX-License-Identifier: Apache-2.0
// Operators that a model defines itself: a node of one stands for the nodes of its function.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/onnx/onnx_model.h"
#include "core/onnx/onnx_node.h"

namespace dmlop {

// A node that stands for a function.
struct FunctionCall {
  const OnnxFunction& function;
  const OnnxNode& node;
  const std::string& label;
  const FunctionCall* outer;  // within which it is; null in the graph
};

// Thrown where all calls of a model together are too large.
struct TooManyCalls {};

class OnnxFunctions {
 public:
  // The model must outlive this object.
  explicit OnnxFunctions(const OnnxModel& model);

  // The names of functions that are there more than once.
  const std::vector<std::string_view>& twice() const { return twice_; }

  // Null if the node stands for no function of the model.
  const OnnxFunction* Find(const OnnxNode& node) const;

  // Throws an OnnxRefusal of a call that does not fit its function, or is too deep. Returns false
  // behind calls that are too many.
  bool Take(const FunctionCall& call);

  // A node of the function that is called, perhaps in a branch: with the values of attributes that
  // it refers to, without inputs that the call leaves out, and with names of outputs that no other
  // call has. May throw TooManyCalls.
  OnnxNode InCall(const FunctionCall& call, OnnxNode node);

  // The refusal of the outermost call if there are too many.
  static OnnxRefusal RefusalOfMany();

 private:
  using Name = std::tuple<std::string_view, std::string_view, std::string_view>;
  using Places = std::map<std::string_view, size_t>;

  struct Interface {
    Places inputs, outputs;
  };

  void RequireBounded(const FunctionCall& call);
  void Count(const FunctionCall& call, const OnnxNode& node);

  std::map<Name, const OnnxFunction*> functions_;
  std::map<const OnnxFunction*, Interface> interfaces_;
  std::vector<std::string_view> twice_;
  std::deque<std::string> names_;               // of values within calls
  size_t called_nodes_ = 0, called_bytes_ = 0;  // of all calls, which repeat names and attributes
  bool has_many_calls_ = false;
};

}  // namespace dmlop
