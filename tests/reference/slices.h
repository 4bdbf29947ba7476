// SPDX-License-Identifier: Apache-2.0
// Slices of tensors, and expectations for their elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/expectation.h"

namespace dmlop::reference {

inline bool IsAxis(const std::vector<uint32_t>& axes, size_t d) {
  return std::find(axes.begin(), axes.end(), d) != axes.end();
}

// A FLOAT32 or FLOAT16 number. A tensor is broadcast along dimensions of size 1.
inline double NumberAt(const ConstTensorView& view, Dims index) {
  for (size_t d = 0; d < index.size(); ++d) index[d] = std::min(index[d], view.layout.sizes[d] - 1);
  double number = 0;
  VisitDataType(Floats(), view.type,
                [&]<typename T>() { number = ToDouble(FromBits<T>(BitsAt(view, index))); });
  return number;
}

// Calls body(index) for the elements of the slice that contains an element, in row-major order.
template <typename Body>
void ForSlice(const ConstTensorView& view, const Dims& index, const std::vector<uint32_t>& axes,
              Body&& body) {
  Dims sizes = view.layout.sizes;
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = IsAxis(axes, d) ? sizes[d] : 1;
  ForEachIndex(sizes, [&](Dims at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] = IsAxis(axes, d) ? at[d] : index[d];
    body(at);
  });
}

inline std::vector<double> SliceAt(const ConstTensorView& view, const Dims& index,
                                   const std::vector<uint32_t>& axes) {
  std::vector<double> slice;
  ForSlice(view, index, axes, [&](const Dims& at) { slice.push_back(NumberAt(view, at)); });
  return slice;
}

inline size_t NumberInSlice(const ConstTensorView& view, const Dims& index,
                            const std::vector<uint32_t>& axes) {
  size_t number = 0;
  size_t found = 0;
  ForSlice(view, index, axes, [&](const Dims& at) {
    if (at == index) found = number;
    ++number;
  });
  return found;
}

// Expects exactly this value: a zero, an infinity, NaN, or a number of the type.
inline Expectation Special(DataType type, double value) {
  Expectation expected;
  VisitDataType(Floats(), type, [&]<typename T>() {
    const double quiet = std::bit_cast<double>(uint64_t{0x7FF8000000000000});
    expected.bits = BitsOf(FromDouble<T>(std::isnan(value) ? quiet : value));
  });
  return expected;
}

// Expects a value close enough to a number other than zero.
inline Expectation Within(DataType type, const Real& exact, double ulps, double slack) {
  Expectation expected;
  VisitDataType(Floats(), type, [&]<typename T>() { expected.bits = BitsOf(RoundReal<T>(exact)); });
  expected.exact.emplace(exact);
  expected.ulps = ulps;
  expected.slack = slack;
  return expected;
}

}  // namespace dmlop::reference
