#include "core/exact/requantize.h"

#include "core/exact/double_double.h"

namespace dmlop {
namespace {

constexpr double kFar = 0x1p40;             // beyond every range
constexpr double kRelativeError = 0x1p-50;  // exceeds that of three roundings

// Returns 1 if sum * a * b / c is above whole + 1/2, -1 if below, 0 if equal.
int SideOfHalf(int64_t sum, const UnitChange& units, double whole) {
  const HeadTail twice = TwoProduct(2 * static_cast<double>(sum), units.a * units.b);
  const HeadTail half = TwoProduct(2 * whole + 1, units.c);
  const double above = twice.head != half.head ? twice.head - half.head : twice.tail - half.tail;
  const int side = (above > 0) - (above < 0);
  return units.c < 0 ? -side : side;
}

double Rounded(int64_t sum, const UnitChange& units) {
  const double near = static_cast<double>(sum) * (units.a * units.b) / units.c;
  if (std::isnan(near)) return 0;
  if (std::fabs(near) > kFar) return std::copysign(kFar, near);
  const double whole = std::floor(near);
  const double above_half = near - (whole + 0.5);
  if (std::fabs(above_half) > std::fabs(near) * kRelativeError) {
    return above_half < 0 ? whole : whole + 1;
  }
  const int side = SideOfHalf(sum, units, whole);
  const bool is_even = std::fmod(whole, 2) == 0;
  return side < 0 || (side == 0 && is_even) ? whole : whole + 1;
}

}  // namespace

int64_t RequantizeCarefully(int64_t sum, const UnitChange& units, const QuantizedRange& range) {
  const int64_t rounded = static_cast<int64_t>(Rounded(sum, units));
  return std::clamp(rounded + range.zero_point, range.least, range.greatest);
}

}  // namespace dmlop
