// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>

#include "tests/reference/element_parts.h"

namespace dmlop::reference {
namespace {

using enum ElementWiseFunction;

Integer Divided(Integer a, Integer b) {
  return b == 0 ? -1 : a / b;
}
Integer TruncatedRest(Integer a, Integer b) {
  return b == 0 ? -1 : a % b;
}
Integer FlooredRest(Integer a, Integer b) {
  const Integer rest = TruncatedRest(a, b);
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace

Integer ElementOfIntegers(ElementWiseFunction function, const ElementParameters& parameters,
                          DataType type, Integer a, Integer b) {
  const auto bound = [&](size_t k) {
    return IntegerOf({type, Wrapped(parameters.integers[k], type)});
  };
  // A NaN bound is no limit.
  const auto reaches = [&](size_t k, bool is_outside) {
    return is_outside && !std::isnan(parameters.numbers[k]);
  };
  const Integer counts = BitWidth(type) == 64 ? 64 : 32;  // modulus of shift counts (BIT-3)
  switch (function) {
    case kAbs:
      return a < 0 ? -a : a;
    case kNegate:
      return -a;
    case kSign:
      return a > 0 ? 1 : a < 0 ? -1 : 0;
    case kAdd:
      return a + b;
    case kSubtract:
      return a - b;
    case kMultiply:
      return static_cast<Integer>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case kDivide:
      return Divided(a, b);
    case kMean:
      return (a + b) / 2;
    case kDifferenceSquare:
      return (a - b) * (a - b);
    case kMax:
      return std::max(a, b);
    case kMin:
      return std::min(a, b);
    case kModulusTruncate:
      return TruncatedRest(a, b);
    case kModulusFloor:
      return FlooredRest(a, b);
    case kLogicalNot:
      return a == 0;
    case kLogicalAnd:
      return a != 0 && b != 0;
    case kLogicalOr:
      return a != 0 || b != 0;
    case kLogicalXor:
      return (a != 0) != (b != 0);
    case kBitShiftLeft:
      return a << static_cast<int>(b % counts);
    case kBitShiftRight:
      return a >> static_cast<int>(b % counts);
    case kClip:
      return std::max(bound(0), std::min(a, bound(1)));
    case kThreshold:
      return std::max(a, bound(0));
    case kClipGrad:
      return reaches(0, a <= bound(0)) || reaches(1, a >= bound(1)) ? 0 : b;
    case kRelu:
      return std::max<Integer>(a, 0);
    case kReluGrad:
      return a > 0 ? b : 0;
    case kParameterizedRelu:
      return a >= 0 ? a : static_cast<Integer>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    default:
      assert(false);
      return 0;
  }
}

}  // namespace dmlop::reference
