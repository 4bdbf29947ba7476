// SPDX-License-Identifier: Apache-2.0
#include "core/exact/dyadic.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <compare>

#include "core/exact/rounding.h"
#include "core/tensor/half.h"

namespace dmlop {
namespace {

using Digits = std::vector<uint32_t>;

constexpr int kDigitBits = 32;

void Trim(Digits& digits) {
  while (!digits.empty() && digits.back() == 0) digits.pop_back();
}

Digits ShiftedLeft(const Digits& digits, int64_t bits) {
  if (digits.empty()) return {};
  const size_t whole = static_cast<size_t>(bits / kDigitBits);
  const int rest = static_cast<int>(bits % kDigitBits);
  Digits shifted(whole + digits.size() + 1);
  for (size_t i = 0; i < digits.size(); ++i) {
    const uint64_t digit = uint64_t{digits[i]} << rest;
    shifted[whole + i] |= static_cast<uint32_t>(digit);
    shifted[whole + i + 1] = static_cast<uint32_t>(digit >> kDigitBits);
  }
  Trim(shifted);
  return shifted;
}

Digits ShiftedRight(const Digits& digits, int64_t bits) {
  const size_t whole = static_cast<size_t>(bits / kDigitBits);
  const int rest = static_cast<int>(bits % kDigitBits);
  Digits shifted(digits.begin() + static_cast<ptrdiff_t>(whole), digits.end());
  for (size_t i = 0; i < shifted.size(); ++i) {
    const uint64_t above = i + 1 < shifted.size() ? shifted[i + 1] : 0;
    shifted[i] = static_cast<uint32_t>(((above << kDigitBits) | shifted[i]) >> rest);
  }
  Trim(shifted);
  return shifted;
}

std::strong_ordering Compare(const Digits& a, const Digits& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return std::lexicographical_compare_three_way(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

Digits Sum(const Digits& a, const Digits& b) {
  Digits sum(std::max(a.size(), b.size()) + 1);
  uint64_t carry = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    carry += (i < a.size() ? uint64_t{a[i]} : 0) + (i < b.size() ? b[i] : 0);
    sum[i] = static_cast<uint32_t>(carry);
    carry >>= kDigitBits;
  }
  Trim(sum);
  return sum;
}

// Returns a - b for a >= b.
Digits Difference(const Digits& a, const Digits& b) {
  Digits difference(a.size());
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    borrow += int64_t{a[i]} - (i < b.size() ? int64_t{b[i]} : 0);
    difference[i] = static_cast<uint32_t>(borrow);
    borrow >>= kDigitBits;
  }
  Trim(difference);
  return difference;
}

Digits Product(const Digits& a, const Digits& b) {
  Digits product(a.size() + b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      carry += uint64_t{a[i]} * b[j] + product[i + j];
      product[i + j] = static_cast<uint32_t>(carry);
      carry >>= kDigitBits;
    }
    product[i + b.size()] = static_cast<uint32_t>(carry);
  }
  Trim(product);
  return product;
}

// Divides in place and returns the remainder.
uint32_t Divide(Digits& digits, uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    remainder = (remainder << kDigitBits) | digits[i];
    digits[i] = static_cast<uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  Trim(digits);
  return static_cast<uint32_t>(remainder);
}

Digits TimesPowerOfFive(Digits digits, int64_t power) {
  constexpr int64_t kPowersPerStep = 13;
  constexpr uint32_t kStep = 1220703125;  // 5^13, the last power of 32 bits
  for (; power >= kPowersPerStep; power -= kPowersPerStep) digits = Product(digits, {kStep});
  for (; power > 0; --power) digits = Product(digits, {5});
  return digits;
}

std::string IntegerText(Digits digits) {
  constexpr uint32_t kStep = 1'000'000'000;
  std::string reversed;
  while (!digits.empty()) {
    std::string nine = fmt::format("{:09}", Divide(digits, kStep));
    reversed.append(nine.rbegin(), nine.rend());
  }
  while (!reversed.empty() && reversed.back() == '0') reversed.pop_back();
  return {reversed.rbegin(), reversed.rend()};
}

// Formats 0.digits * 10^point as a plain number or with an exponent. The digits neither begin nor
// end with 0.
std::string Placed(const std::string& digits, int64_t point) {
  constexpr int64_t kMaxPlainPoint = 40;
  constexpr int64_t kMinPlainPoint = -5;
  const int64_t count = static_cast<int64_t>(digits.size());
  if (point > kMaxPlainPoint || point < kMinPlainPoint) {
    const std::string rest = count > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}e{:+}", digits[0], rest, point - 1);
  }
  if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (point >= count) return digits + std::string(static_cast<size_t>(point - count), '0');
  return digits.substr(0, static_cast<size_t>(point)) + "." +
         digits.substr(static_cast<size_t>(point));
}

}  // namespace

Dyadic::Dyadic(bool negative, Digits digits, int64_t exponent)
    : negative_(negative), digits_(std::move(digits)), exponent_(exponent) {
  Trim(digits_);
  if (digits_.empty()) {
    negative_ = false;
    exponent_ = 0;
    return;
  }
  int64_t zeros = 0;
  while (digits_[static_cast<size_t>(zeros / kDigitBits)] == 0) zeros += kDigitBits;
  zeros += std::countr_zero(digits_[static_cast<size_t>(zeros / kDigitBits)]);
  digits_ = ShiftedRight(digits_, zeros);
  exponent_ += zeros;
}

Dyadic::Dyadic(bool negative, uint64_t magnitude)
    : Dyadic(
          negative,
          Digits{static_cast<uint32_t>(magnitude), static_cast<uint32_t>(magnitude >> kDigitBits)},
          0) {}

Dyadic::Dyadic(Int128 value) {
  constexpr int kLowBits = 64;
  *this = Dyadic(static_cast<int64_t>(value >> kLowBits)).TimesPowerOfTwo(kLowBits) +
          Dyadic(static_cast<uint64_t>(value));
}

Dyadic::Dyadic(double finite) {
  assert(std::isfinite(finite));
  constexpr int kPrecision = 53;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(finite), &exponent);
  *this = Dyadic(std::signbit(finite), static_cast<uint64_t>(std::ldexp(fraction, kPrecision)))
              .TimesPowerOfTwo(exponent - kPrecision);
}

Dyadic::Dyadic(const ExactSum& sum) {
  const SignMagnitude value = sum.ToSignMagnitude();
  *this = Dyadic(value.negative, Digits(value.digits.begin(), value.digits.end()),
                 SignMagnitude::kLowExponent);
}

int Dyadic::Sign() const {
  if (digits_.empty()) return 0;
  return negative_ ? -1 : 1;
}

int64_t Dyadic::bit_length() const {
  if (digits_.empty()) return 0;
  return static_cast<int64_t>(digits_.size()) * kDigitBits - std::countl_zero(digits_.back());
}

double Dyadic::Truncated() const {
  constexpr int64_t kBits = 53;
  const int64_t below = std::max<int64_t>(0, bit_length() - kBits);
  uint64_t top = 0;
  const Digits digits = ShiftedRight(digits_, below);
  for (size_t i = digits.size(); i-- > 0;) top = top << kDigitBits | digits[i];
  const double magnitude =
      std::ldexp(static_cast<double>(top), static_cast<int>(exponent_ + below));
  return negative_ ? -magnitude : magnitude;
}

Dyadic Dyadic::TimesPowerOfTwo(int64_t power) const {
  Dyadic product = *this;
  if (!digits_.empty()) product.exponent_ += power;
  return product;
}

std::string Dyadic::ToDecimal() const {
  if (digits_.empty()) return "0";
  const int64_t decimals = std::max<int64_t>(0, -exponent_);
  std::string digits = IntegerText(exponent_ < 0 ? TimesPowerOfFive(digits_, decimals)
                                                 : ShiftedLeft(digits_, exponent_));
  const int64_t point = static_cast<int64_t>(digits.size()) - decimals;
  digits.erase(digits.find_last_not_of('0') + 1);
  return (negative_ ? "-" : "") + Placed(digits, point);
}

Dyadic operator-(const Dyadic& a) {
  Dyadic negated = a;
  negated.negative_ = a.Sign() > 0;
  return negated;
}

Dyadic operator+(const Dyadic& a, const Dyadic& b) {
  if (a.Sign() == 0) return b;
  if (b.Sign() == 0) return a;
  const int64_t exponent = std::min(a.exponent_, b.exponent_);
  const Digits x = ShiftedLeft(a.digits_, a.exponent_ - exponent);
  const Digits y = ShiftedLeft(b.digits_, b.exponent_ - exponent);
  if (a.negative_ == b.negative_) return {a.negative_, Sum(x, y), exponent};
  return Compare(x, y) >= 0 ? Dyadic(a.negative_, Difference(x, y), exponent)
                            : Dyadic(b.negative_, Difference(y, x), exponent);
}

Dyadic operator-(const Dyadic& a, const Dyadic& b) {
  return a + -b;
}

Dyadic operator*(const Dyadic& a, const Dyadic& b) {
  return {a.negative_ != b.negative_, Product(a.digits_, b.digits_), a.exponent_ + b.exponent_};
}

Dyadic FloorQuotient(const Dyadic& a, const Dyadic& b) {
  const bool negative = a.Sign() < 0;
  Dyadic rest = negative ? -a : a;
  Dyadic quotient;
  while (!(rest < b)) {
    // This is never too much, and leaves only a small part of the rest.
    constexpr double kSlightlyLess = 1 - 0x1p-50;
    const double part = std::max(1.0, std::floor(rest.Truncated() / b.Truncated() * kSlightlyLess));
    quotient = quotient + Dyadic(part);
    rest = rest - Dyadic(part) * b;
  }
  if (!negative) return quotient;
  return -(rest.Sign() > 0 ? quotient + Dyadic(1) : quotient);
}

// RoundOnce only needs the sign of a tail.

template <typename T>
T RoundExact(const Dyadic& value) {
  const double head = value.Truncated();
  return RoundOnce<T>(head, (value - Dyadic(head)).Sign() * std::fabs(head) * 0x1p-60);
}

template <typename T>
T RoundRatio(const Dyadic& numerator, const Dyadic& denominator) {
  if (numerator.Sign() == 0) return T{};
  const auto power = [](const Dyadic& x) { return x.bit_length() + x.exponent(); };
  const Dyadic a = numerator.TimesPowerOfTwo(-power(numerator));
  const Dyadic b = denominator.TimesPowerOfTwo(-power(denominator));
  double head = a.Truncated() / b.Truncated();  // off by a few units in the last place
  head += (a - Dyadic(head) * b).Truncated() / b.Truncated();
  const int more = (a - Dyadic(head) * b).Sign();
  constexpr int64_t kFar = 200;  // beyond the powers of two of T
  const int64_t exponent = std::clamp(power(numerator) - power(denominator), -kFar, kFar);
  const double unit = std::ldexp(1.0, static_cast<int>(exponent));
  return RoundOnce<T>(head * unit, more * unit * 0x1p-60);
}

template Half RoundExact<Half>(const Dyadic&);
template float RoundExact<float>(const Dyadic&);
template Half RoundRatio<Half>(const Dyadic&, const Dyadic&);
template float RoundRatio<float>(const Dyadic&, const Dyadic&);

}  // namespace dmlop
