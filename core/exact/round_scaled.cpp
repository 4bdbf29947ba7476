#include "core/exact/round_scaled.h"

#include <cmath>

namespace dmlop {
namespace {

__extension__ using Int128 = __int128;

// An integer times a power of two.
struct Scaled {
  int64_t significand;
  int exponent;
};

Scaled Split(float finite) {
  constexpr int kBits = 24;
  int exponent;
  const float fraction = std::frexp(finite, &exponent);
  return {static_cast<int64_t>(std::ldexp(fraction, kBits)), exponent - kBits};
}

// The sign of sum * scale / (divisor * output_scale) - (2 * below + 1) / 2, which are nearly equal,
// so that neither side becomes large where the powers are taken to one.
int CompareWithHalf(int64_t sum, float scale, int64_t divisor, float output_scale, int64_t below) {
  const Scaled a = Split(scale);
  const Scaled b = Split(output_scale);
  Int128 left = Int128{2 * sum} * a.significand;
  Int128 right = Int128{2 * below + 1} * divisor * b.significand;
  const int power = a.exponent - b.exponent;
  (power > 0 ? left : right) *= Int128{1} << std::abs(power);
  const int sign = left < right ? -1 : left > right ? 1 : 0;
  return output_scale < 0 ? -sign : sign;
}

}  // namespace

int64_t RoundScaled(int64_t sum, float scale, int64_t divisor, float output_scale) {
  // Off by a few units in the last place.
  const double quotient = static_cast<double>(sum) * static_cast<double>(scale) /
                          (static_cast<double>(divisor) * static_cast<double>(output_scale));
  if (std::isnan(quotient)) return 0;
  constexpr double kMost = kMostScaled;
  if (std::fabs(quotient) >= kMost) return quotient < 0 ? -kMostScaled : kMostScaled;
  const double floor = std::floor(quotient);
  const int64_t below = static_cast<int64_t>(floor);
  const double above_half = quotient - (floor + 0.5);
  if (std::fabs(above_half) > std::fabs(quotient) * 0x1p-50)
    return below + (above_half > 0 ? 1 : 0);
  const int side = CompareWithHalf(sum, scale, divisor, output_scale, below);
  return side > 0 || (side == 0 && below % 2 != 0) ? below + 1 : below;
}

}  // namespace dmlop
