// SPDX-License-Identifier: Apache-2.0
#include "core/exact/exact_sum.h"

#include <optional>

#include "core/exact/double_double.h"
#include "core/exact/dyadic.h"
#include "core/exact/rounding.h"
#include "core/tensor/half.h"

namespace dmlop {

bool SignMagnitude::IsZero() const {
  return std::all_of(digits.begin(), digits.end(), [](uint32_t digit) { return digit == 0; });
}

void ExactSum::Merge(const ExactSum& other) {
  Combine(other, 1);
}

void ExactSum::Remove(const ExactSum& other) {
  Combine(other, -1);
}

void ExactSum::Combine(const ExactSum& other, int64_t sign) {
  if (pending_ + other.pending_ >= kMaxPending) {
    Normalize();
    if (other.pending_ > 1) {
      ExactSum addend = other;
      addend.Normalize();
      return Combine(addend, sign);
    }
  }
  const Int128 mask = sign < 0 ? -1 : 0;  // (x ^ mask) - mask negates x where all bits are set
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i] += (other.parts_[i] ^ mask) - mask;
  pending_ += other.pending_;
}

int ExactSum::Sign() const {
  const SignMagnitude value = ToSignMagnitude();
  if (value.negative) return -1;
  return value.IsZero() ? 0 : 1;
}

SignMagnitude ExactSum::ToSignMagnitude() const {
  // The parts become two's complement, with the sign in the carry.
  std::array<uint64_t, kPartCount> payloads;
  Int128 carry = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Int128 part = parts_[i] + carry;
    payloads[i] = static_cast<uint64_t>(part);
    carry = part >> kPartBits;
  }
  assert(carry == 0 || carry == -1);
  SignMagnitude value;
  value.negative = carry < 0;
  bool carries = value.negative;
  for (size_t i = 0; i < payloads.size(); ++i) {
    uint64_t payload = payloads[i];
    if (value.negative) payload = ~payload + (carries ? 1 : 0);
    carries = carries && payload == 0;
    value.digits[2 * i] = static_cast<uint32_t>(payload);
    value.digits[2 * i + 1] = static_cast<uint32_t>(payload >> 32);
  }
  return value;
}

void ExactSum::Normalize() {
  Int128 carry = 0;
  for (size_t i = 0; i + 1 < parts_.size(); ++i) {
    const Int128 part = parts_[i] + carry;
    parts_[i] = static_cast<uint64_t>(part);
    carry = part >> kPartBits;
  }
  parts_.back() += carry;
  pending_ = 1;
}

namespace {

constexpr double kFar = 0x1p40;              // beyond every range
constexpr double kRelativeError = 0x1p-50;   // exceeds that of four roundings
constexpr int64_t kExactDivisors = 1 << 29;  // below, a FLOAT32 number times it is exact

// Returns 1 if the quotient is above whole + 1/2, -1 if below, 0 if equal.
int SideOfHalf(int64_t sum, const UnitChange& units, double whole) {
  const double twice = 2 * static_cast<double>(sum);
  const double halves = 2 * whole + 1;
  double above = 0;
  if (units.divisor < kExactDivisors) {
    const HeadTail left = TwoProduct(twice, units.a * units.b);
    const HeadTail right = TwoProduct(halves, units.c * static_cast<double>(units.divisor));
    above = left.head != right.head ? left.head - right.head : left.tail - right.tail;
  } else {
    const Dyadic left = Dyadic(twice) * Dyadic(units.a * units.b);
    above = (left - Dyadic(halves) * Dyadic(units.c) * Dyadic(units.divisor)).Sign();
  }
  const int side = (above > 0) - (above < 0);
  return units.c < 0 ? -side : side;
}

double Rounded(int64_t sum, const UnitChange& units) {
  const double near = static_cast<double>(sum) * (units.a * units.b) /
                      (units.c * static_cast<double>(units.divisor));
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

// Most sums are exact in two parts.
template <typename T>
T RoundScaledExactly(Int128 sum, double factor, double bias) {
  constexpr double kExactIntegers = 0x1p53;
  constexpr double kRoundings = 0x1p-52;
  const double number = static_cast<double>(sum);
  const HeadTail product = TwoProduct(number, factor);
  const HeadTail total = TwoSum(product.head, bias);
  const HeadTail value{total.head, total.tail + product.tail};
  double bound = std::fabs(number) < kExactIntegers ? 0 : std::fabs(product.head) * kRoundings;
  if (total.tail != 0 && product.tail != 0) bound += std::fabs(value.tail) * kRoundings;
  if (const std::optional<T> rounded = RoundWithin<T>(value, bound)) return *rounded;
  return RoundExact<T>(Dyadic(sum) * Dyadic(factor) + Dyadic(bias));
}

}  // namespace

int64_t RequantizeExactly(int64_t sum, const UnitChange& units, const QuantizedRange& range) {
  const int64_t rounded = static_cast<int64_t>(Rounded(sum, units));
  return std::clamp(rounded + range.zero_point, range.least, range.greatest);
}

template <typename T>
T RoundScaledSum(Int128 sum, double a, double b, double bias) {
  constexpr double kSurelyInfinite = 0x1p200;
  const double factor = a * b;  // exact
  const double product = static_cast<double>(sum) * factor;
  const double near = product + bias;
  if (!(std::fabs(near) < kSurelyInfinite)) return RoundOnce<T>(near);
  const std::optional<T> rounded = RoundClearly<T>(near, std::fabs(product) * kRelativeError);
  return rounded ? *rounded : RoundScaledExactly<T>(sum, factor, bias);
}

template float RoundScaledSum<float>(Int128, double, double, double);
template Half RoundScaledSum<Half>(Int128, double, double, double);

}  // namespace dmlop
