// What becomes of an exact sum of terms, finite or not.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "core/explain/calculation.h"
#include "core/explain/rounding_choice.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// `special` is the sum of the terms that are not finite, or finite.
template <typename T>
void ExplainSum(T result, const Dyadic& sum, const Dyadic& whole, double special,
                Calculation& calculation) {
  if (!std::isfinite(special)) {
    calculation.rule = std::isnan(special) ? ValueRule::kNan : ValueRule::kInfinity;
    calculation.reason =
        fmt::format("a term is not finite, and the sum of all is {}", std::isnan(special) ? "nan"
                                                                      : special > 0       ? "inf"
                                                                                          : "-inf");
    return;
  }
  calculation.exact = sum.ToDecimal();
  const bool is_quotient = (whole - Dyadic(1)).Sign() != 0;
  ExplainRounding(
      result, [&](const Dyadic& y) { return (sum - y * whole).Sign(); },
      is_quotient ? std::nullopt : std::optional<Dyadic>(sum), calculation);
  calculation.reason = RoundingReason(calculation.rule, kDataTypeOf<T>);
  if (sum.Sign() == 0) {
    calculation.rule = ValueRule::kZeroSign;
    calculation.reason = std::signbit(AsDouble(result))
                             ? "all terms are zeros whose signs make a -0"
                             : "an exact zero is +0 unless all terms are -0";
  }
}

}  // namespace dmlop
