// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of quantized matrices, sum by sum.
#include <optional>
#include <string_view>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/rational.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Inputs = std::span<const ConstTensorView>;

std::optional<ConstTensorView> InputNamed(const OperatorDesc& desc, Inputs inputs,
                                          std::string_view name) {
  const std::vector<TensorSlot> slots = TensorSlots(desc, TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].path == name) return inputs[i];
  }
  return std::nullopt;
}

StoredElement ElementAt(const ConstTensorView& view, const Dims& index) {
  return {view.type, BitsAt(view, index)};
}

Integer IntegerAt(const ConstTensorView& view, const Dims& index) {
  return IntegerOf(ElementAt(view, index));
}

// QSH-1: the element of a parameter that has one for each index, or a single one.
std::optional<StoredElement> ParameterAt(const OperatorDesc& desc, Inputs inputs,
                                         std::string_view name, int64_t index) {
  const auto view = InputNamed(desc, inputs, name);
  if (!view) return std::nullopt;
  Dims place = Dims::Filled(view->layout.rank(), 0);
  for (size_t d = 0; d < place.size(); ++d) {
    if (view->layout.sizes[d] != 1) place[d] = index;
  }
  return ElementAt(*view, place);
}

Integer ZeroPoint(const OperatorDesc& desc, Inputs inputs, std::string_view name, int64_t index) {
  const auto element = ParameterAt(desc, inputs, name, index);
  return element ? IntegerOf(*element) : 0;
}

double Scale(const OperatorDesc& desc, Inputs inputs, std::string_view name, int64_t index) {
  return FloatOf(*ParameterAt(desc, inputs, name, index));
}

DataType OutputType(const OperatorDesc& desc) {
  return *TensorSlots(desc, TensorRole::kOutput)[0].desc->data_type;
}

Exact ExactOf(Integer value) {
  const Integer high = value >> 40;
  const Integer low = value - (high << 40);
  const Integer top = high >> 40;
  const Integer middle = high - (top << 40);
  return Exact(static_cast<double>(top)) * Exact(0x1p80) +
         Exact(static_cast<double>(middle)) * Exact(0x1p40) + Exact(static_cast<double>(low));
}

// QMM-2, QMM-3. The sum has less than 53 bits.
uint64_t Requantized(Integer sum, double a, double b, double c, Integer zero, DataType type) {
  const double plain = static_cast<double>(sum) * a * b / c;
  const Integer least = IsSigned(type) ? -128 : 0;
  const Integer greatest = IsSigned(type) ? 127 : 255;
  Integer rounded = 0;
  if (std::isinf(plain)) {
    rounded = plain < 0 ? -1000 : 1000;
  } else if (!std::isnan(plain)) {
    const bool is_zero = std::isinf(c);
    const Rational exact =
        is_zero ? Rational(0.0)
                : Rational(static_cast<double>(sum)) * Rational(a) * Rational(b) / Rational(c);
    if ((exact - Rational(1000)).Sign() > 0 || (exact + Rational(1000)).Sign() < 0) {
      rounded = exact.Sign() * 1000;
    } else {
      const int64_t floor = exact.Floor();
      const int side = (exact - Rational(static_cast<double>(floor)) - Rational(0.5)).Sign();
      rounded = floor + (side > 0 || (side == 0 && floor % 2 != 0) ? 1 : 0);
    }
  }
  const Integer result = rounded + zero;
  return Wrapped(result < least ? least : result > greatest ? greatest : result, type);
}

// --- matrices ------------------------------------------------------------------------------------

Integer MatrixSum(const OperatorDesc& desc, Inputs inputs, const Dims& index) {
  const ConstTensorView a = *InputNamed(desc, inputs, "ATensor");
  const ConstTensorView b = *InputNamed(desc, inputs, "BTensor");
  const size_t row = index.size() - 2;
  const size_t column = index.size() - 1;
  const Integer a_zero = ZeroPoint(desc, inputs, "AZeroPointTensor", index[row]);
  const Integer b_zero = ZeroPoint(desc, inputs, "BZeroPointTensor", index[column]);
  Integer sum = 0;
  for (int64_t k = 0; k < a.layout.sizes[column]; ++k) {
    Dims a_place = index;
    Dims b_place = index;
    a_place[column] = k;
    b_place[row] = k;
    sum += (IntegerAt(a, a_place) - a_zero) * (IntegerAt(b, b_place) - b_zero);
  }
  return sum;
}

Expectation MultiplyInteger(const OperatorDesc& desc, Inputs inputs, size_t, const Dims& index) {
  return {Wrapped(MatrixSum(desc, inputs, index), DataType::kInt32)};
}

// MMF-3.
Expectation MultiplyToFloat(const OperatorDesc& desc, Inputs inputs, size_t, const Dims& index) {
  const Integer sum = MatrixSum(desc, inputs, index);
  const double a = Scale(desc, inputs, "AScaleTensor", index[index.size() - 2]);
  const double b = Scale(desc, inputs, "BScaleTensor", index.back());
  const Exact product = ExactOf(sum) * Exact(a) * Exact(b);
  const double plain = static_cast<double>(sum) * a * b;
  const auto bias = InputNamed(desc, inputs, "BiasTensor");
  if (!bias) return {Rounded(product, plain, OutputType(desc))};
  const double value = FloatOf(ElementAt(*bias, index));
  return {Rounded(product + Exact(value), plain + value, OutputType(desc))};
}

Expectation MultiplyQuantized(const OperatorDesc& desc, Inputs inputs, size_t, const Dims& index) {
  const int64_t row = index[index.size() - 2];
  return {Requantized(MatrixSum(desc, inputs, index), Scale(desc, inputs, "AScaleTensor", row),
                      Scale(desc, inputs, "BScaleTensor", index.back()),
                      Scale(desc, inputs, "OutputScaleTensor", row),
                      ZeroPoint(desc, inputs, "OutputZeroPointTensor", row), OutputType(desc))};
}

// --- convolutions --------------------------------------------------------------------------------

// The place of a filter tap in the input; null in the padding.
std::optional<Dims> PlaceOf(const OperatorDesc& desc, const Dims& sizes, const Dims& output,
                            const Dims& tap, int64_t channel) {
  using Uints = std::vector<uint32_t>;
  Dims place = {output[0], channel};
  for (size_t d = 2; d < output.size(); ++d) {
    const int64_t q = output[d] * Get<Uints>(desc, "Strides")[d - 2] +
                      tap[d] * Get<Uints>(desc, "Dilations")[d - 2] -
                      Get<Uints>(desc, "StartPadding")[d - 2];
    if (q < 0 || q >= sizes[d]) return std::nullopt;
    place.push_back(q);
  }
  return place;
}

Integer WindowSum(const OperatorDesc& desc, Inputs inputs, const Dims& index) {
  const ConstTensorView input = *InputNamed(desc, inputs, "InputTensor");
  const ConstTensorView filter = *InputNamed(desc, inputs, "FilterTensor");
  const int64_t channels = filter.layout.sizes[1];
  const int64_t group = index[1] * Get<uint32_t>(desc, "GroupCount") / filter.layout.sizes[0];
  const Integer input_zero = ZeroPoint(desc, inputs, "InputZeroPointTensor", 0);
  const Integer filter_zero = ZeroPoint(desc, inputs, "FilterZeroPointTensor", index[1]);
  Dims taps = filter.layout.sizes;
  taps[0] = 1;
  Integer sum = 0;
  ForEachIndex(taps, [&](const Dims& tap) {
    const auto place = PlaceOf(desc, input.layout.sizes, index, tap, group * channels + tap[1]);
    if (!place) return;
    Dims weight = tap;
    weight[0] = index[1];
    sum += (IntegerAt(input, *place) - input_zero) * (IntegerAt(filter, weight) - filter_zero);
  });
  return sum;
}

Expectation ConvolveInteger(const OperatorDesc& desc, Inputs inputs, size_t, const Dims& index) {
  return {Wrapped(WindowSum(desc, inputs, index), DataType::kInt32)};
}

Expectation ConvolveQuantized(const OperatorDesc& desc, Inputs inputs, size_t, const Dims& index) {
  const Integer bias = ZeroPoint(desc, inputs, "BiasTensor", index[1]);
  return {Requantized(WindowSum(desc, inputs, index) + bias,
                      Scale(desc, inputs, "InputScaleTensor", 0),
                      Scale(desc, inputs, "FilterScaleTensor", index[1]),
                      Scale(desc, inputs, "OutputScaleTensor", 0),
                      ZeroPoint(desc, inputs, "OutputZeroPointTensor", 0), OutputType(desc))};
}

constexpr NamedOracle kOracles[] = {
    {"CONVOLUTION_INTEGER", ConvolveInteger},
    {"MATRIX_MULTIPLY_INTEGER", MultiplyInteger},
    {"MATRIX_MULTIPLY_INTEGER_TO_FLOAT", MultiplyToFloat},
    {"QUANTIZED_LINEAR_CONVOLUTION", ConvolveQuantized},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", MultiplyQuantized},
};

}  // namespace

std::span<const NamedOracle> IntegerProductOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
