#include "core/exact/round_scaled.h"

#include <cmath>

#include "core/exact/dyadic.h"

namespace dmlop {
namespace {

// Returns the sign of sum * scale / (divisor * output_scale) - (2 * below + 1) / 2.
int CompareWithHalf(int64_t sum, float scale, Int128 divisor, float output_scale, int64_t below) {
  const Dyadic left = Dyadic(2 * sum) * Dyadic(static_cast<double>(scale));
  const Dyadic right =
      Dyadic(2 * below + 1) * Dyadic(divisor) * Dyadic(static_cast<double>(output_scale));
  const int sign = (left - right).Sign();
  return output_scale < 0 ? -sign : sign;
}

}  // namespace

int64_t RoundScaled(int64_t sum, float scale, Int128 divisor, float output_scale) {
  // The quotient is off by a few units in the last place.
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
