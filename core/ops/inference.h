// SPDX-License-Identifier: Apache-2.0
// Lets an operator state how its fields relate and what its outputs must be. An output takes what
// it leaves out from there, and is compared in what it states, so completing and checking cannot
// disagree.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/operator.h"

namespace dmlop {

using Sizes = std::vector<uint32_t>;

// A size that cannot be read, or that is none: it has been reported, and agrees with every other.
inline bool IsUnknown(uint64_t size) {
  return size == 0;
}
bool AreKnown(const Sizes& sizes);
std::string Told(const Sizes& sizes);  // "{2, ?}"
inline bool Agree(uint64_t a, uint64_t b) {
  return a == b || IsUnknown(a) || IsUnknown(b);
}

// Stands in an array for an axis that cannot be read, and has been reported.
inline constexpr uint32_t kUnreadAxis = UINT32_MAX;

// A place within a descriptor, for messages.
struct Place {
  std::string_view field;
  std::optional<size_t> entry = std::nullopt;  // index in an array
  std::string_view member = {};                // member of a tensor
  std::optional<size_t> dimension = std::nullopt;

  std::string path() const;  // "InputTensors/1/Sizes/0"
};
inline Place At(const Field& field) {
  return {field.name};
}
inline Place At(const Field& field, size_t entry) {
  return {field.name, entry};
}

// A tensor of the operator: a field, or an entry of an array of tensors.
struct TensorAt {
  std::string_view field;
  std::optional<size_t> entry;
  const TensorDesc& desc;

  const Sizes& sizes() const { return *desc.sizes; }
  std::string name() const;  // "InputTensors[1]"
};
inline Place SizesOf(const TensorAt& tensor) {
  return {tensor.field, tensor.entry, "Sizes"};
}
inline Place SizeAt(const TensorAt& tensor, size_t dimension) {
  return {tensor.field, tensor.entry, "Sizes", dimension};
}

class Inference {
 public:
  Inference(OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics)
      : op_(op), level_(level), diagnostics_(diagnostics) {}

  FeatureLevel level() const { return level_; }

  template <typename... Args>
  void Fail(std::string_view code, const Place& place, fmt::format_string<Args...> text,
            Args&&... args) {
    Report(code, place, fmt::format(text, std::forward<Args>(args)...));
  }

  // Reports a condition that does not hold, and returns whether it holds.
  template <typename... Args>
  bool Require(bool holds, std::string_view code, const Place& place,
               fmt::format_string<Args...> text, Args&&... args) {
    if (!holds) Report(code, place, fmt::format(text, std::forward<Args>(args)...));
    return holds;
  }

  TensorAt tensor(const FieldOf<TensorDesc>& field) const {
    return {field.name, std::nullopt, op_[field]};
  }
  TensorAt tensor(const FieldOf<std::vector<TensorDesc>>& field, size_t entry) const {
    return {field.name, entry, op_[field][entry]};
  }

  bool RequireAxis(std::string_view code, const Place& place, uint32_t axis,
                   const TensorAt& tensor);
  bool RequireSameRank(std::string_view code, const TensorAt& tensor, const TensorAt& like);
  // Requires these sizes, as far as all are known.
  bool RequireSizes(std::string_view code, const TensorAt& tensor, Sizes expected);

  // Requires these sizes of the output, or fills them in if they are left out and known.
  void Output(std::string_view code, const FieldOf<TensorDesc>& field, const Sizes& sizes);
  // Likewise, but also reports sizes too large for a tensor.
  void Output(std::string_view code, const FieldOf<TensorDesc>& field,
              const std::vector<uint64_t>& sizes);
  void Output(std::string_view code, const FieldOf<std::vector<TensorDesc>>& field, size_t entry,
              const Sizes& sizes);
  // Sets the type of the output if that is left out.
  void OutputType(const FieldOf<TensorDesc>& field, DataType type);

 private:
  void Report(std::string_view code, const Place& place, std::string message);

  OperatorDesc& op_;
  FeatureLevel level_;
  Diagnostics& diagnostics_;
};

// Puts 1s in front of the sizes, up to a rank.
Sizes BehindOnes(size_t rank, Sizes last);

// Requires the only output to have the sizes of the input.
void InferSameSizes(std::string_view code, const OperatorDesc& op, const FieldOf<TensorDesc>& input,
                    Inference& infer);

// Requires axes of the tensor without duplicates. Returns whether all are in range.
bool CheckAxes(std::string_view range_code, std::string_view twice_code,
               const FieldOf<std::vector<uint32_t>>& axes, const OperatorDesc& op,
               const TensorAt& tensor, Inference& infer);

}  // namespace dmlop
