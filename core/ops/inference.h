// What an operator says of its fields: what they must be to one another, and what its outputs must
// be. What an output leaves out is filled in from that; what it says is compared. So completing and
// checking cannot disagree.
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

// Of operators with a fused activation.
inline constexpr Rule kCanBeFused = {"FUS-2", "FusedActivation is an activation that can be fused"};
inline constexpr Rule kFusedHasNoTensors = {"FUS-4", "a fused activation has no tensors"};
inline constexpr Rule kFusedSteepness = {
    "ACT-2", "before 6_4 Steepness of ACTIVATION_SOFTPLUS is at least 1"};

// A place within a descriptor, for messages.
struct Place {
  std::string_view field;
  std::optional<size_t> entry = std::nullopt;  // of an array
  std::string_view member = {};                // of a tensor
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

  // Reports what does not hold, and returns whether it does.
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

  // The axis is one of the tensor's.
  bool RequireAxis(std::string_view code, const Place& place, uint32_t axis,
                   const TensorAt& tensor);
  // The tensors have as many dimensions.
  bool RequireSameRank(std::string_view code, const TensorAt& tensor, const TensorAt& like);
  // The tensor has those sizes, of which 0 is one that is not known after a fault elsewhere.
  bool RequireSizes(std::string_view code, const TensorAt& tensor, Sizes expected);

  // The output has those sizes, and takes them where they are left out and known.
  void Output(std::string_view code, const FieldOf<TensorDesc>& field, const Sizes& sizes);
  // Those that are too large for a tensor are reported, too.
  void Output(std::string_view code, const FieldOf<TensorDesc>& field,
              const std::vector<uint64_t>& sizes);
  void Output(std::string_view code, const FieldOf<std::vector<TensorDesc>>& field, size_t entry,
              const Sizes& sizes);
  // Where the output's type is left out, it is this.
  void OutputType(const FieldOf<TensorDesc>& field, DataType type);

 private:
  void Report(std::string_view code, const Place& place, std::string message);
  bool IsUnknown(uint32_t size) const { return size == 0 && diagnostics_.has_errors(); }

  OperatorDesc& op_;
  FeatureLevel level_;
  Diagnostics& diagnostics_;
};

// Sizes with 1s in front, up to a rank.
Sizes BehindOnes(size_t rank, Sizes last);

// The only output has the sizes of the input.
void InferSameSizes(std::string_view code, const OperatorDesc& op, const FieldOf<TensorDesc>& input,
                    Inference& infer);

// No axis is listed twice, and all are the tensor's. Returns whether they are its.
bool CheckAxes(std::string_view range_code, std::string_view twice_code,
               const FieldOf<std::vector<uint32_t>>& axes, const OperatorDesc& op,
               const TensorAt& tensor, Inference& infer);

}  // namespace dmlop
