// SPDX-License-Identifier: Apache-2.0
// Exponential and logarithms with the same bits on every machine. They use only IEEE operations,
// because the C library picks its code by the CPU.
#pragma once

#include "core/exact/double_double.h"
#include "core/exact/exact_sum.h"

namespace dmlop {

// Returns e^x within 1 ULP for x <= 709, and 0 below -708. `x` must not be NaN.
double Exp(double x);

// Returns ln(x) within 1 ULP for finite x > 0.
double Log(double x);

// Returns ln(1 + x) within 1.25 ULP for |x| <= 0.5.
double Log1p(double x);

// Returns ln(sum) of a positive sum within 3 ULP, even if the sum is close to 1.
double LogOfPositive(const ExactSum& sum);

// Returns ln(sum) within 0.51 ULP, even if the sum is close to 1; a negative sum gives the
// canonical NaN and zero gives -infinity. T is float or Half.
template <typename T>
T LogOfSum(const ExactSum& sum);

// Does the same for a positive sum within bounds; returns false if these leave its rounding to
// binary64 in doubt.
template <typename T>
bool LogOfSum(const BoundedSum& sum, T& result);

// Returns max + ln(sum_of_exp) within 0.51 ULP + 2^-45 * (1 + |max|), where sum_of_exp, in [1,
// 2^33], is the sum of e^(x - max) over elements x within 2^-48 of it, 2^-33 for Half. T is float
// or Half.
template <typename T>
T LogOfExpSum(double max, const ExactSum& sum_of_exp);

// Returns the same bits for an exact sum of two parts. The head is a multiple of 2^-46 below 2^7.
template <typename T>
T LogOfExpSum(double max, HeadTail sum_of_exp);

// --- quarter turns -------------------------------------------------------------------------------

// Splits a number into quarter turns and a rest, the first step of sines, cosines and tangents.

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
