// SPDX-License-Identifier: Apache-2.0
// The parts of the oracle of element-wise functions, divided by the numbers they compute with.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tests/reference/exact.h"

namespace dmlop::reference {

struct FloatCall {
  const ElementParameters& parameters;
  std::array<double, 3> x;
  DataType type;  // of the output

  double p(size_t k) const { return parameters.numbers[k]; }
  Exact E(size_t k) const { return Exact(x[k]); }
  Exact P(size_t k) const { return Exact(p(k)); }

  uint64_t Value(double value) const { return Rounded(Exact(value), value, type); }
  uint64_t Value(const Exact& exact, double plain) const { return Rounded(exact, plain, type); }
};

uint64_t ElementOfFloats(ElementWiseFunction function, const FloatCall& call);

Integer ElementOfIntegers(ElementWiseFunction function, const ElementParameters& parameters,
                          DataType type, Integer a, Integer b);

uint64_t Quantized(const ElementParameters& parameters, std::span<const StoredElement> inputs,
                   DataType type);
uint64_t QuantizedSum(const ElementParameters& parameters, std::span<const StoredElement> inputs,
                      DataType type);
uint64_t Dequantized(std::span<const StoredElement> inputs, DataType type);

}  // namespace dmlop::reference
