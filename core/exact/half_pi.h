// How many quarter turns a number is, and the rest: the first step of sines, cosines and tangents.
#pragma once

#include "core/exact/double_double.h"

namespace dmlop {

struct QuarterTurns {
  int count;          // modulo 4
  DoubleDouble rest;  // within 2^-95 of itself, at most pi / 4
};

// x = (4 * n + count) * pi / 2 + rest with a whole n, for every finite FLOAT32 x.
QuarterTurns CountQuarterTurns(double x);

// The same with a rest in binary64, within 2^-51 of itself.
struct ApproximateQuarterTurns {
  int count;
  double rest;
};
ApproximateQuarterTurns CountQuarterTurnsApproximately(double x);

}  // namespace dmlop
