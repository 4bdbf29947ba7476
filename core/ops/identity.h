// DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC: copies each element of InputTensor to the same place of
// OutputTensor. The strides of the two are independent, so this is also transpose, pad, unpad and
// broadcast. With ScaleBias each element becomes x * Scale + Bias, rounded once.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/kernels/scale_bias.h"
#include "core/ops/support.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

struct IdentityDesc {
  static constexpr std::string_view kName = "ELEMENT_WISE_IDENTITY";
  static constexpr std::string_view kSummary =
      "copies a tensor, between any two layouts, optionally as x * Scale + Bias";
  static constexpr std::array kRules = {
      Rule{"ID-1", "input and output agree in DataType, DimensionCount and Sizes"},
      Rule{"ID-6", "no ScaleBias for 64-bit types"},
  };
  static constexpr std::array<FieldLimits, 0> kLimits = {};

  TensorDesc input_tensor;
  TensorDesc output_tensor;
  std::optional<ScaleBias> scale_bias;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor& visit) {
    visit.Tensor("InputTensor", TensorRole::kInput, self.input_tensor);
    visit.Tensor("OutputTensor", TensorRole::kOutput, self.output_tensor);
    visit.ScaleAndBias("ScaleBias", self.scale_bias);
  }
};

std::span<const SupportTable> SupportTables(const IdentityDesc&);
const SupportTable* SupportFor(const IdentityDesc& desc);
void Complete(IdentityDesc& desc);
void Validate(const IdentityDesc& desc, Diagnostics& diagnostics);
void Run(const IdentityDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs);

}  // namespace dmlop
