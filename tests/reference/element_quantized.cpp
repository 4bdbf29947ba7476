// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/reference/element.h"
#include "tests/reference/element_parts.h"

namespace dmlop::reference {
namespace {

using enum DataType;

// QNT-1, QNT-2.
uint64_t Quantized(const ElementParameters& parameters, const Exact& exact, double plain,
                   double zero_point, DataType type) {
  const float quotient = FromBits<float>(Rounded(exact, plain, kFloat32));
  const double integer = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
  const double result = integer + zero_point;
  return Clamped(Real(std::min(std::max(result, parameters.numbers[0]), parameters.numbers[1])),
                 type);
}

template <typename N>
N SumOfQuantized(const N& a, const N& b, const std::array<double, 8>& numbers) {
  return ((a - N(numbers[3])) * N(numbers[2]) + (b - N(numbers[5])) * N(numbers[4])) /
         N(numbers[6]);
}

}  // namespace

uint64_t Quantized(const ElementParameters& parameters, std::span<const StoredElement> inputs,
                   DataType type) {
  const double x = Quantity(inputs[0]);
  const double scale = FloatOf(inputs[1]);
  return Quantized(parameters, Exact(x) / Exact(scale), x / scale,
                   static_cast<double>(IntegerOf(inputs[2])), type);
}

uint64_t QuantizedSum(const ElementParameters& parameters, std::span<const StoredElement> inputs,
                      DataType type) {
  const double a = Quantity(inputs[0]);
  const double b = Quantity(inputs[1]);
  return Quantized(parameters, SumOfQuantized(Exact(a), Exact(b), parameters.numbers),
                   SumOfQuantized(a, b, parameters.numbers), parameters.numbers[7], type);
}

// QNT-3.
uint64_t Dequantized(std::span<const StoredElement> inputs, DataType type) {
  const double difference = static_cast<double>(IntegerOf(inputs[0]) - IntegerOf(inputs[2]));
  const double scale = FloatOf(inputs[1]);
  return Rounded(Exact(difference) * Exact(scale), difference * scale, type);
}

}  // namespace dmlop::reference
