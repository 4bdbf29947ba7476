// SPDX-License-Identifier: Apache-2.0
// Activations whose exact values take a few operations, and operators fused with an activation.
#include <array>

#include "tests/reference/element.h"
#include "tests/reference/element_wise.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using F = ElementWiseFunction;

DataType OutputType(const OperatorDesc& desc) {
  return *TensorSlots(desc, TensorRole::kOutput)[0].desc->data_type;
}

// The numbers of a function are the FLOAT fields in their order.
ElementWiseCall CallOf(F function, const OperatorDesc& desc) {
  ElementWiseCall call{.function = function};
  size_t count = 0;
  for (const FieldValue& value : desc.values()) {
    if (const auto* number = std::get_if<float>(&value)) {
      call.parameters.numbers[count++] = static_cast<double>(*number);
    }
  }
  return call;
}

template <F kFunction>
Expectation Element(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  std::vector<StoredElement> elements;
  for (const ConstTensorView& input : inputs)
    elements.push_back({input.type, BitsAt(input, index)});
  return {ElementOf(CallOf(kFunction, desc), elements, OutputType(desc))};
}

Expectation Identity(const OperatorDesc&, std::span<const ConstTensorView> inputs, size_t,
                     const Dims& index) {
  return {BitsAt(inputs[0], index)};
}

// Alpha * x + Beta, rounded once.
Expectation Linear(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  ElementWiseCall call{.function = F::kCast};
  call.scale_bias = ScaleBias{Get<float>(desc, "Alpha"), Get<float>(desc, "Beta")};
  return {ElementOf(call, std::array{StoredElement{inputs[0].type, BitsAt(inputs[0], index)}},
                    OutputType(desc))};
}

// The sum, before any activation.
Expectation Add1(const OperatorDesc&, std::span<const ConstTensorView> inputs, size_t,
                 const Dims& index) {
  const DataType type = inputs[0].type;
  const std::array elements = {StoredElement{type, BitsAt(inputs[0], index)},
                               StoredElement{inputs[1].type, BitsAt(inputs[1], index)}};
  return {ElementOf({.function = F::kAdd}, elements, type)};
}

constexpr NamedOracle kOracles[] = {
    {"ACTIVATION_HARD_SIGMOID", Element<F::kHardSigmoid>},
    {"ACTIVATION_HARD_SWISH", Element<F::kHardSwish>},
    {"ACTIVATION_IDENTITY", Identity},
    {"ACTIVATION_LEAKY_RELU", Element<F::kLeakyRelu>},
    {"ACTIVATION_LINEAR", Linear},
    {"ACTIVATION_PARAMETERIZED_RELU", Element<F::kParameterizedRelu>},
    {"ACTIVATION_RELU", Element<F::kRelu>},
    {"ACTIVATION_RELU_GRAD", Element<F::kReluGrad>},
    {"ACTIVATION_SHRINK", Element<F::kShrink>},
    {"ACTIVATION_SOFTSIGN", Element<F::kSoftsign>},
    {"ACTIVATION_THRESHOLDED_RELU", Element<F::kThresholdedRelu>},
    {"ELEMENT_WISE_ADD1", Add1},
};

}  // namespace

std::span<const NamedOracle> ActivationOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
