// SPDX-License-Identifier: Apache-2.0
// Quantized tensors, and operators that multiply by one number and add another.
#include <array>
#include <bit>
#include <optional>
#include <type_traits>

#include "core/tensor/visit_data_type.h"
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

// The element of the input called `name`; null if it is left out.
std::optional<StoredElement> InputAt(const OperatorDesc& desc,
                                     std::span<const ConstTensorView> inputs, std::string_view name,
                                     const Dims& index) {
  const std::vector<TensorSlot> slots = TensorSlots(desc, TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].path != name) continue;
    return StoredElement{StoredAs(inputs[i].type), BitsAt(inputs[i], index)};
  }
  return std::nullopt;
}

double Number(const std::optional<StoredElement>& element) {
  if (!element) return 0;
  switch (element->type) {
    case DataType::kFloat32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(element->bits)));
    case DataType::kInt8:
      return static_cast<int8_t>(element->bits);
    default:
      return static_cast<double>(element->bits);
  }
}

void SetRange(DataType type, ElementWiseCall& call) {
  const auto set = [&](double min, double max) {
    call.parameters.numbers[0] = min;
    call.parameters.numbers[1] = max;
  };
  switch (type) {
    case DataType::kInt4:
      return set(-8, 7);
    case DataType::kUint4:
      return set(0, 15);
    case DataType::kInt8:
      return set(-128, 127);
    default:
      return set(0, 255);
  }
}

template <F kFunction>
Expectation Linear(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  const DataType type = OutputType(desc);
  ElementWiseCall call{.function = kFunction};
  if (kFunction == F::kQuantize) SetRange(type, call);
  const DataType quantized = kFunction == F::kQuantize ? type : inputs[0].type;
  const std::array elements = {
      *InputAt(desc, inputs, "InputTensor", index), *InputAt(desc, inputs, "ScaleTensor", index),
      InputAt(desc, inputs, "ZeroPointTensor", index).value_or(StoredElement{quantized, 0})};
  return {ElementOf(call, elements, type)};
}

// QZ-5.
uint64_t Midpoint(DataType type) {
  if (IsSigned(type)) return 0;
  return type == DataType::kUint4 ? 8 : 128;
}

// QZ-4: the place of the element for the block of `index`.
Dims BlockOf(const OperatorDesc& desc, const Dims& index) {
  const std::vector<TensorSlot> slots = TensorSlots(desc, TensorRole::kInput);
  Dims place = index;
  for (size_t d = 0; d < index.size(); ++d) {
    place[d] /= (*slots[0].desc->sizes)[d] / (*slots[1].desc->sizes)[d];
  }
  return place;
}

template <F kFunction>
Expectation InBlocks(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                     const Dims& index) {
  const DataType type = OutputType(desc);
  const DataType quantized = kFunction == F::kQuantize ? type : inputs[0].type;
  ElementWiseCall call{.function = kFunction};
  if (kFunction == F::kQuantize) SetRange(type, call);
  const Dims block = BlockOf(desc, index);
  const std::array elements = {
      *InputAt(desc, inputs, "InputTensor", index),
      *InputAt(desc, inputs, "QuantizationTensors/0", block),
      InputAt(desc, inputs, "QuantizationTensors/1", block)
          .value_or(StoredElement{StoredAs(quantized), Midpoint(quantized)})};
  return {ElementOf(call, elements, StoredAs(type))};
}

Expectation LinearAdd(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                      const Dims& index) {
  ElementWiseCall call{.function = F::kQuantizedLinearAdd};
  SetRange(OutputType(desc), call);
  const Dims origin = Dims::Filled(index.size(), 0);
  size_t number = 2;
  for (const char* name : {"AScaleTensor", "AZeroPointTensor", "BScaleTensor", "BZeroPointTensor",
                           "OutputScaleTensor", "OutputZeroPointTensor"}) {
    call.parameters.numbers[number++] = Number(InputAt(desc, inputs, name, origin));
  }
  const std::array elements = {*InputAt(desc, inputs, "ATensor", index),
                               *InputAt(desc, inputs, "BTensor", index)};
  return {ElementOf(call, elements, OutputType(desc))};
}

Expectation ValueScale(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                       const Dims& index) {
  ElementWiseCall call{.function = F::kMultiplyAdd};
  call.parameters.numbers[0] = static_cast<double>(Get<float>(desc, "Scale"));
  const float bias = Get<std::vector<float>>(desc, "Bias")[static_cast<size_t>(index[1])];
  const std::array elements = {StoredElement{inputs[0].type, BitsAt(inputs[0], index)},
                               StoredElement{DataType::kFloat32, std::bit_cast<uint32_t>(bias)}};
  return {ElementOf(call, elements, OutputType(desc))};
}

template <typename T>
T ScalarOf(const OperatorDesc& desc, std::string_view field) {
  return dmlop::ElementOf<T>(Get<Scalar>(desc, field).bytes);
}

// SEQ-1.
Expectation Sequence(const OperatorDesc& desc, std::span<const ConstTensorView>, size_t,
                     const Dims& index) {
  const std::vector<uint32_t>& sizes = *TensorSlots(desc, TensorRole::kOutput)[0].desc->sizes;
  const int64_t k = OffsetOf(PackedLayout(Dims(sizes.begin(), sizes.end())), index);
  ElementWiseCall call{.function = F::kSequence};
  StoredElement place{DataType::kUint64, static_cast<uint64_t>(k)};
  const DataType type = OutputType(desc);
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), type, [&]<typename T>() {
    const T start = ScalarOf<T>(desc, "ValueStart");
    const T delta = ScalarOf<T>(desc, "ValueDelta");
    if constexpr (std::is_integral_v<T>) {
      call.parameters.integers = {static_cast<int64_t>(start), static_cast<int64_t>(delta)};
    } else {
      call.parameters.numbers = {ToDouble(start), ToDouble(delta)};
      place = {DataType::kFloat64, std::bit_cast<uint64_t>(static_cast<double>(k))};
    }
  });
  return {ElementOf(call, {&place, 1}, type)};
}

constexpr NamedOracle kOracles[] = {
    {"DEQUANTIZE", InBlocks<F::kDequantize>},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR", Linear<F::kDequantize>},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", LinearAdd},
    {"ELEMENT_WISE_QUANTIZE_LINEAR", Linear<F::kQuantize>},
    {"FILL_VALUE_SEQUENCE", Sequence},
    {"QUANTIZE", InBlocks<F::kQuantize>},
    {"VALUE_SCALE_2D", ValueScale},
};

}  // namespace

std::span<const NamedOracle> QuantizeOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
