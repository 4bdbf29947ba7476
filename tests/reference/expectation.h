// SPDX-License-Identifier: Apache-2.0
// The requirement on one output element: certain bits or, where the numerics contract is a bound,
// any value close enough to the exact one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/tensor/data_type.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop::reference {

struct Expectation {
  uint64_t bits = 0;  // the exact result, rounded once

  // Set if only a bound is promised: |actual - exact| <= ulps * ULP + slack; infinite slack allows
  // any value.
  std::optional<Real> exact = std::nullopt;
  double ulps = 0;
  double slack = 0;

  // `actual` holds the bits of an element of the type.
  bool Allows(DataType type, uint64_t actual) const;
};

}  // namespace dmlop::reference
