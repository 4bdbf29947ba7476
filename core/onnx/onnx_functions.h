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

namespace dmlop {

// A node that stands for a function.
struct FunctionCall {
  const OnnxFunction& function;
  const OnnxNode& node;
  const std::string& label;
  const FunctionCall* outer;  // within which it is; null in the graph
};

class OnnxFunctions {
 public:
  // The model must outlive this object.
  explicit OnnxFunctions(const OnnxModel& model);

  // The names of functions that are there more than once.
  const std::vector<std::string_view>& twice() const { return twice_; }

  // Null if the node stands for no function of the model.
  const OnnxFunction* Find(const OnnxNode& node) const;

  // Throws an OnnxRefusal of a call that does not fit its function, or if there are too many.
  // Returns false for those behind.
  bool Take(const FunctionCall& call);

  // A node of the function that is called: with the values of attributes that it refers to, without
  // inputs that the call leaves out, and with names of outputs that no other call has.
  OnnxNode InCall(const FunctionCall& call, OnnxNode node);

 private:
  using Name = std::tuple<std::string_view, std::string_view, std::string_view>;

  void Count(const FunctionCall& call);

  std::map<Name, const OnnxFunction*> functions_;
  std::vector<std::string_view> twice_;
  std::deque<std::string> names_;               // of values within calls
  size_t called_nodes_ = 0, called_bytes_ = 0;  // of all calls; names are repeated in each
  bool has_many_calls_ = false;
};

}  // namespace dmlop
