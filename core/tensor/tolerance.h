// SPDX-License-Identifier: Apache-2.0
// The error that a tensor may have.
#pragma once

#include <cstdint>

namespace dmlop {

// An element passes if any of these admits it: equality of values (NaN equals NaN, -0 equals +0),
// |actual - expected| <= absolute + relative * |expected|, or at most `ulp` units in the last
// place.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
  uint64_t ulp = 0;
  bool bits = false;  // only equal bits pass
};

}  // namespace dmlop
