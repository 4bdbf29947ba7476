// The functions that compute an element of a tensor from the elements at its place in others, and
// those of them that vectors only approximate.
#pragma once

#include <cstdint>
#include <span>

#include "core/exact/error_free.h"

namespace dmlop {

// x, y and z are elements of the inputs, p, q and r the numbers of ElementParameters. Maxima,
// minima, shifts and divisions by zero are those of the reference pages.
enum class ElementWiseFunction : uint8_t {
  // x in the type of the output; its bits where that is the same. With ScaleBias also IDENTITY and
  // LINEAR.
  kCast,
  // One input.
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
  // Two inputs.
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
  // Bounds: p and q, or those of integers.
  kClip,
  kThreshold,
  kClipGrad,  // of x; y is the gradient
  // Others.
  kIf,           // z != 0 ? x : y
  kMultiplyAdd,  // p * x + y
  kQuantize,     // x by scale y and zero point z, inside [p, q]
  kDequantize,   // x by scale y and zero point z
  // (x - a) * b + (y - c) * d by scale e and zero point f, inside [p, q]; numbers p, q, a to f.
  kQuantizedLinearAdd,
  kSequence,  // p + x * q, or of integers; x is the place of the element
  // Activations.
  kRelu,
  kLeakyRelu,          // p: Alpha
  kParameterizedRelu,  // y: the slope
  kThresholdedRelu,    // p: Alpha
  kReluGrad,           // y: the gradient
  kShrink,             // p: Bias, q: Threshold
  kHardSigmoid,        // p: Alpha, q: Beta
  kHardSwish,          // p: Alpha, q: Beta
  // Those that vectors approximate, to the end.
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

// Of a function that vectors approximate, the value for elements where the approximation leaves
// its rounding open. The tail is right as far as roundings of the sum to FLOAT32 or FLOAT16 need
// it.
HeadTail ExactElement(ElementWiseFunction function, std::span<const double> elements,
                      std::span<const double> numbers);

// Whether the numbers, infinite, NaN or a divisor that is zero, make another function of it: then
// that is the value for every element.
bool NeedsExactElements(ElementWiseFunction function, std::span<const double> numbers);

}  // namespace dmlop
