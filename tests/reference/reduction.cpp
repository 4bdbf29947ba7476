// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/operators.h"
#include "tests/reference/reduce_float.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

// The elements that share an output coordinate, in row-major order of the reduced dimensions.
std::vector<uint64_t> GroupOf(const OperatorDesc& desc, const ConstTensorView& input,
                              const Dims& output_index) {
  Dims group_sizes = Dims::Filled(output_index.size(), 1);
  for (const uint32_t axis : Get<std::vector<uint32_t>>(desc, "Axes"))
    group_sizes[axis] = input.layout.sizes[axis];
  std::vector<uint64_t> group;
  ForEachIndex(group_sizes, [&](Dims index) {
    for (size_t d = 0; d < index.size(); ++d) index[d] += output_index[d];
    group.push_back(BitsAt(input, index));
  });
  return group;
}

template <typename T>
bool IsNumber(T x) {
  if constexpr (std::is_integral_v<T>) {
    return true;
  } else {
    return !std::isnan(ToDouble(x));
  }
}

// RED-21: compares as numbers, so that -0 and +0 are equal.
template <typename T>
bool Less(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    return ToDouble(a) < ToDouble(b);
  }
}

// RED-18 to RED-20: NaN is skipped, the first of equals wins, and 0 is the result if all are NaN.
template <typename T>
size_t IndexOfExtreme(bool largest, const std::vector<T>& group) {
  size_t best = 0;
  for (size_t i = 1; i < group.size(); ++i) {
    if (!IsNumber(group[i])) continue;
    const bool better = largest ? Less(group[best], group[i]) : Less(group[i], group[best]);
    if (better || !IsNumber(group[best])) best = i;
  }
  return best;
}

// RED-23, RED-24: modulo 2^64, which the caller reduces to the type's width.
template <typename T>
uint64_t ReducedIntegers(ReduceFunction function, const std::vector<T>& group) {
  uint64_t sum = 0, norm = 0, squares = 0, product = 1;
  for (const T x : group) {
    const uint64_t bits = static_cast<uint64_t>(x);
    sum += bits;
    norm += x < 0 ? ~bits + 1 : bits;
    squares += bits * bits;
    product *= bits;
  }
  switch (function) {
    case ReduceFunction::kL1:
      return norm;
    case ReduceFunction::kMax:
      return ToBits(*std::max_element(group.begin(), group.end()));
    case ReduceFunction::kMin:
      return ToBits(*std::min_element(group.begin(), group.end()));
    case ReduceFunction::kMultiply:
      return product;
    case ReduceFunction::kSum:
      return sum;
    default:
      return squares;
  }
}

template <typename T>
Expectation Reduced(ReduceFunction function, const std::vector<T>& group) {
  if (function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin) {
    return {IndexOfExtreme(function == ReduceFunction::kArgMax, group)};
  }
  if constexpr (std::is_integral_v<T>) {
    return {ReducedIntegers(function, group)};
  } else {
    return ReducedFloats(function, group);
  }
}

uint64_t LowBits(uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

Expectation Reduce(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  const auto function = static_cast<ReduceFunction>(Get<uint32_t>(desc, "Function"));
  std::optional<Expectation> expected;
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), inputs[0].type, [&]<typename T>() {
    std::vector<T> group;
    for (const uint64_t bits : GroupOf(desc, inputs[0], index)) group.push_back(FromBits<T>(bits));
    expected.emplace(Reduced(function, group));
  });
  expected->bits =
      LowBits(expected->bits, BitWidth(*Get<TensorDesc>(desc, "OutputTensor").data_type));
  return *expected;
}

// The last of equals is the first from the end.
Expectation IndexOf(const OperatorDesc& desc, const ConstTensorView& input, const Dims& index,
                    bool largest) {
  const bool takes_last = Get<uint32_t>(desc, "AxisDirection") == 1;
  Expectation expected;
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), input.type, [&]<typename T>() {
    std::vector<T> group;
    for (const uint64_t bits : GroupOf(desc, input, index)) group.push_back(FromBits<T>(bits));
    if (takes_last) std::reverse(group.begin(), group.end());
    const size_t place = IndexOfExtreme(largest, group);
    expected.bits = takes_last ? group.size() - 1 - place : place;
  });
  return expected;
}

Expectation ArgMin(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  return IndexOf(desc, inputs[0], index, /*largest=*/false);
}

Expectation ArgMax(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  return IndexOf(desc, inputs[0], index, /*largest=*/true);
}

constexpr NamedOracle kOracles[] = {{"ARGMAX", ArgMax}, {"ARGMIN", ArgMin}, {"REDUCE", Reduce}};

}  // namespace

std::span<const NamedOracle> ReductionOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
