// What becomes of an exact integer that may be beyond the type's range.
#pragma once

#include <fmt/format.h>

#include <concepts>

#include "core/exact/dyadic.h"
#include "core/explain/calculation.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// The result is `exact` modulo 2^width.
template <std::integral T>
void ExplainModulo(T result, const Dyadic& exact, Calculation& calculation) {
  constexpr int kWidth = 8 * sizeof(T);
  calculation.exact = exact.ToDecimal();
  const Dyadic taken = exact - Dyadic(result);
  if (taken.Sign() == 0) {
    calculation.reason = fmt::format("it fits into {}", Name(kDataTypeOf<T>));
    return;
  }
  calculation.rule = ValueRule::kModulo;
  calculation.wraps = taken.TimesPowerOfTwo(-kWidth).ToDecimal();
  calculation.reason = fmt::format("{} * 2^{} is taken off", calculation.wraps, kWidth);
}

}  // namespace dmlop
