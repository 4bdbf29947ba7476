// SPDX-License-Identifier: Apache-2.0
// The sizes of a model's inputs: those that the file states, those of the tensors that are bound,
// and those of free dimensions, which have names.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/onnx/onnx_import.h"
#include "core/onnx/onnx_node.h"

namespace dmlop {

class OnnxInputSizes {
 public:
  explicit OnnxInputSizes(const OnnxSource& source) : source_(source) {}

  // Takes the sizes of free dimensions from what is stated of all inputs; reports those that
  // differ.
  void Learn(const std::function<void(const std::string&)>& report);

  // Returns the tensor that is bound to an input; null if there is none.
  const LoadedTensor* BoundTo(std::string_view name) const;

  // Throws an Error of kind kTensorFile if a bound tensor has another type.
  static void RequireType(const LoadedTensor& bound, OnnxType type);

  // Returns the sizes of an input; free ones of which nothing is known are 1. Throws a refusal, or
  // an Error of kind kTensorFile if the bound tensor has another shape.
  OnnxSizes Of(const OnnxValueInfo& input);

  std::optional<int64_t> OfFree(const OnnxDimension& dimension) const;

  // "free sizes of inputs are taken for 1: ..."; empty if none was.
  std::string WarningOfUnknown() const;

 private:
  struct Learned {
    int64_t size;
    std::string_view input;
  };

  void LearnFrom(const OnnxValueInfo& input, const std::function<void(const std::string&)>& report);
  // The sizes of the bound tensor, or those that replace the file's.
  std::optional<OnnxSizes> Stated(std::string_view name) const;
  void RequireShape(const OnnxValueInfo& input, const OnnxSizes& stated) const;

  const OnnxSource& source_;
  std::map<std::string_view, Learned> learned_;
  std::set<std::string_view> unknown_;  // free dimensions taken for 1
};

}  // namespace dmlop
