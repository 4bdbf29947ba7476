#include "core/exact/round_ratio.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/exact/rounding.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

// Returns the magnitude with these bits: consecutive ones differ by 1, and infinity counts as the
// number after the greatest.
template <typename T>
Dyadic Magnitude(uint64_t bits) {
  T value{};
  std::memcpy(&value, &bits, sizeof value);
  const double magnitude = AsDouble(value);
  constexpr int kBeyond = sizeof(T) == sizeof(float) ? 128 : 16;
  return Dyadic(std::isinf(magnitude) ? std::ldexp(1.0, kBeyond) : magnitude);
}

template <typename T>
T WithSign(uint64_t magnitude, bool negative) {
  const uint64_t bits = magnitude | (negative ? uint64_t{1} << (8 * sizeof(T) - 1) : 0);
  T value{};
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Returns a fraction in [1/2, 1), and the power of two by which it is to be multiplied.
double Fraction(const Dyadic& positive, int64_t& power) {
  power = positive.bit_length() + positive.exponent();
  return positive.TimesPowerOfTwo(-power).Truncated();
}

// Returns approximately a / b, for positive numbers of any size.
double Quotient(const Dyadic& a, const Dyadic& b) {
  constexpr int64_t kBeyond = 1 << 12;  // power outside of the range of binary64
  int64_t a_power, b_power;
  const double quotient = Fraction(a, a_power) / Fraction(b, b_power);
  const int64_t power = std::clamp(a_power - b_power, -kBeyond, kBeyond);
  return std::ldexp(quotient, static_cast<int>(power));
}

}  // namespace

template <typename T>
T RoundRatio(const Dyadic& numerator, const Dyadic& denominator) {
  if (numerator.Sign() == 0) return T{};
  const bool negative = numerator.Sign() < 0;
  const Dyadic exact = negative ? -numerator : numerator;
  const T near = RoundOnce<T>(Quotient(exact, denominator));
  uint64_t bits = ElementBits(near);
  // `bits` becomes the greatest magnitude that does not exceed the exact one, and `twice` is twice
  // the midpoint to the next.
  if (exact < Magnitude<T>(bits) * denominator) {
    --bits;
  } else if (std::isinf(AsDouble(near))) {
    return WithSign<T>(bits, negative);
  }
  const Dyadic twice = Magnitude<T>(bits) + Magnitude<T>(bits + 1);
  const int side = (exact.TimesPowerOfTwo(1) - twice * denominator).Sign();
  if (side > 0 || (side == 0 && bits % 2 != 0)) ++bits;
  return WithSign<T>(bits, negative);
}

template float RoundRatio<float>(const Dyadic&, const Dyadic&);
template Half RoundRatio<Half>(const Dyadic&, const Dyadic&);

}  // namespace dmlop
