// The calculations of REDUCE, by kinds of functions.
#pragma once

#include <cstdlib>
#include <optional>
#include <type_traits>

#include "core/exact/dyadic.h"
#include "core/explain/calculation.h"
#include "core/explain/group.h"
#include "core/tensor/element.h"

namespace dmlop {

// AVERAGE, L1, L2, LOG_SUM, LOG_SUM_EXP, MULTIPLY, SUM and SUM_SQUARE of FLOAT32 and FLOAT16.
Calculation ExplainFloats(ReduceFunction function, const Group& group, const ElementBytes& result);

// L1, MULTIPLY, SUM and SUM_SQUARE of integers.
Calculation ExplainIntegers(ReduceFunction function, const Group& group,
                            const ElementBytes& result);

// ARGMAX, ARGMIN, MAX and MIN. `takes_last`: see ReductionCall.
Calculation ExplainMinMax(ReduceFunction function, bool takes_last, const Group& group);

// Products longer than this, or with as many binary places, are not written out.
inline constexpr int64_t kMaxProductBits = 1 << 15;

// Of finite elements; none where it is too long.
template <typename T>
std::optional<Dyadic> ExactProduct(const Group& group) {
  Dyadic product(1);
  bool zero = false;
  bool too_long = false;
  ForEach<T>(group, [&](int64_t, T element) {
    const double x = AsDouble(element);  // a 64-bit integer is rounded, but not to 0 or 1
    zero |= x == 0;
    if (x == 1 || zero || too_long) return;
    if constexpr (std::is_integral_v<T>) {
      product = product * Dyadic(element);
    } else {
      product = product * Dyadic(x);
    }
    too_long = product.bit_length() + std::abs(product.exponent()) > kMaxProductBits;
  });
  if (zero) return Dyadic();
  if (too_long) return std::nullopt;
  return product;
}

}  // namespace dmlop
