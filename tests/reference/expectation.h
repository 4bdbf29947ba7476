// What one output element must be: certain bits or, where the numerics contract is a bound, any
// value near enough to the exact one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/tensor/data_type.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop::reference {

struct Expectation {
  uint64_t bits = 0;  // the exact result, rounded once

  // Set where a bound is all that is promised: |actual - exact| <= ulps * ULP + slack; an infinite
  // one allows anything.
  std::optional<Real> exact = std::nullopt;
  double ulps = 0;
  double slack = 0;

  // `actual` is an element of type `type`.
  bool Allows(DataType type, uint64_t actual) const;
};

}  // namespace dmlop::reference
