// SPDX-License-Identifier: Apache-2.0
// The functions that compute an element of a tensor from the corresponding elements of others, and
// those of them that vectors only approximate.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/exact/double_double.h"

namespace dmlop {

// x, y and z are elements of the inputs; p, q and r are the numbers of ElementParameters. Maxima,
// minima, shifts and divisions by zero follow the reference pages.
enum class ElementWiseFunction : uint8_t {
  // x converted to the output's type, or its bits if that is the same. With ScaleBias, also
  // IDENTITY and LINEAR.
  kCast,
  // These take one input.
  kAbs,
  kNegate,
  kSign,
  kCeil,
  kFloor,
  kRoundHalvesToEven,
  kRoundTowardZero,
  kRoundHalvesAway,
  kIsNan,
  kIsInfinity,
  kIsPositiveInfinity,
  kIsNegativeInfinity,
  kSqrt,
  kRecip,
  kLogicalNot,
  kBitNot,
  kBitCount,
  // These take two inputs.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMean,
  kDifferenceSquare,
  kMax,
  kMin,
  kModulusTruncate,
  kModulusFloor,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kEquals,
  kGreaterThan,
  kLessThan,
  kGreaterThanOrEqual,
  kLessThanOrEqual,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitShiftLeft,
  kBitShiftRight,
  // The bounds are p and q, or those of integers.
  kClip,
  kThreshold,
  kClipGrad,  // gradient y inside of the bounds of x, else 0
  // Other functions.
  kIf,           // z != 0 ? x : y
  kMultiplyAdd,  // p * x + y
  kQuantize,     // x by scale y and zero point z, inside [p, q]
  kDequantize,   // x by scale y and zero point z
  // (x - a) * b + (y - c) * d by scale e and zero point f, inside [p, q]; numbers p, q, a to f.
  kQuantizedLinearAdd,
  kSequence,  // p + x * q, or the same of integers; x is the index of the element
  // Activations.
  kRelu,
  kLeakyRelu,          // p: Alpha
  kParameterizedRelu,  // y: the slope
  kThresholdedRelu,    // p: Alpha
  kReluGrad,           // y: the gradient
  kShrink,             // p: Bias, q: Threshold
  kHardSigmoid,        // p: Alpha, q: Beta
  kHardSwish,          // p: Alpha, q: Beta
  // From here to the end, vectors only approximate the functions.
  kSoftsign,
  kExp,
  kLog,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kSigmoid,
  kGelu,
  kElu,                 // p: Alpha
  kCelu,                // p: Alpha
  kScaledElu,           // p: Alpha, q: Gamma
  kScaledTanh,          // p: Alpha, q: Beta
  kSoftplus,            // p: Steepness
  kParametricSoftplus,  // p: Alpha, q: Beta
  kSwish,               // p: SigmoidInputScale
  kConstantPow,         // x to the power p
  kPow,                 // x to the power y, in the type of x
  kAtanYx,              // the angle of the point (y, x)
  kCount,
};

constexpr bool IsApproximated(ElementWiseFunction function) {
  return function >= ElementWiseFunction::kSoftsign;
}

// Returns the value of an approximated function for elements whose rounding the approximation
// leaves open. The tail is as accurate as rounding the sum to FLOAT32 or FLOAT16 needs.
HeadTail ExactElement(ElementWiseFunction function, std::span<const double> elements,
                      std::span<const double> numbers);

// Returns whether the numbers (infinite, NaN or a zero divisor) turn the function into another one,
// so that every element needs ExactElement.
bool NeedsExactElements(ElementWiseFunction function, std::span<const double> numbers);

// --- reductions ----------------------------------------------------------------------------------

// DML_REDUCE_FUNCTION. x1..xN are the elements that share an output coordinate:
//
//   ARGMAX, ARGMIN  index of the extreme element, flattened over the reduced axes; the first of
//                   equals; NaN only if there is nothing else
//   AVERAGE         (x1 + ... + xN) / N                  MAX, MIN     the extreme; NaN is skipped
//   L1              |x1| + ... + |xN|                    MULTIPLY     x1 * ... * xN
//   L2              sqrt(x1^2 + ... + xN^2)              SUM          x1 + ... + xN
//   LOG_SUM         ln(x1 + ... + xN)                    SUM_SQUARE   x1^2 + ... + xN^2
//   LOG_SUM_EXP     ln(e^x1 + ... + e^xN)
//
// Float results are the exact result rounded once (MULTIPLY, LOG_SUM and LOG_SUM_EXP: within a
// hundredth of that); integers wrap.

enum class ReduceFunction : uint8_t {  // values as in DirectML.h
  kArgMax,
  kArgMin,
  kAverage,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
  kMax,
  kMin,
  kMultiply,
  kSum,
  kSumSquare,
};

inline constexpr std::array<std::string_view, 12> kReduceFunctionNames = {  // indexed by value
    "ARGMAX",      "ARGMIN", "AVERAGE", "L1",       "L2",  "LOG_SUM",
    "LOG_SUM_EXP", "MAX",    "MIN",     "MULTIPLY", "SUM", "SUM_SQUARE"};

inline std::string_view Name(ReduceFunction function) {
  return kReduceFunctionNames[static_cast<size_t>(function)];
}

// The parameters of a reduction.
struct ReductionCall {
  ReduceFunction function;
  const std::vector<uint32_t>& axes;
  bool takes_last = false;  // ARGMAX and ARGMIN: the last of equals, even if all are NaN
};

inline bool GivesIndex(ReduceFunction function) {
  return function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin;
}

}  // namespace dmlop
