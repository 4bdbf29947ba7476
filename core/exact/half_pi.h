// SPDX-License-Identifier: Apache-2.0
// Splits a number into quarter turns and a rest, the first step of sines, cosines and tangents.
#pragma once

#include "core/exact/double_double.h"

namespace dmlop {

struct QuarterTurns {
  int count;          // modulo 4
  DoubleDouble rest;  // relative error 2^-95, magnitude at most pi / 4
};

// Splits any finite FLOAT32 x: x = (4 * n + count) * pi / 2 + rest with an integer n.
QuarterTurns CountQuarterTurns(double x);

// The same with a rest in binary64, of relative error 2^-51.
struct ApproximateQuarterTurns {
  int count;
  double rest;
};
ApproximateQuarterTurns CountQuarterTurnsApproximately(double x);

}  // namespace dmlop
