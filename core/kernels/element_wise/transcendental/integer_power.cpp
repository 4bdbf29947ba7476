// SPDX-License-Identifier: Apache-2.0
// Powers of integers. An exponent of integral value, of whatever type, gives the power modulo
// 2^width or, if negative, the real value truncated; any other gives the real value truncated and
// clamped.
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/kernels/element_wise/row.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using enum ElementWiseFunction;

// Computes the power modulo 2^64.
uint64_t WrappedPower(uint64_t base, uint64_t exponent) {
  uint64_t power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power *= base;
    base *= base;
  }
  return power;
}

// The exponent is integral and not negative. An odd base to a multiple of 2^62 is 1 modulo 2^64,
// and an even one to 64 or more is 0.
uint64_t WrappedPower(uint64_t base, double exponent) {
  constexpr double kPeriod = 0x1p62;
  if (exponent < kPeriod) return WrappedPower(base, static_cast<uint64_t>(exponent));
  if (base % 2 == 0) return 0;
  return WrappedPower(base, static_cast<uint64_t>(std::fmod(exponent, kPeriod)));
}

// For the bases -1 and 1 the real value is an integer; for 0 it is a division by zero, which sets
// all bits.
template <typename T>
T InversePower(T base, double exponent) {
  if (base == 0) return static_cast<T>(~T{0});
  if (base == 1) return 1;
  if constexpr (std::numeric_limits<T>::is_signed) {
    if (base == -1) return std::fmod(exponent, 2) == 0 ? T{1} : T{-1};
  }
  return 0;
}

// The exponent is not integral.
template <typename T>
T TruncatedPower(T base, double exponent) {
  const double elements[] = {static_cast<double>(base), exponent};
  const double no_numbers[2] = {};
  const HeadTail power = ExactElement(kPow, elements, no_numbers);
  double value = std::trunc(power.head);
  if (value == power.head && power.tail < 0) value -= 1;
  if (!(value >= 0)) return 0;
  constexpr T kMost = std::numeric_limits<T>::max();
  return value >= static_cast<double>(kMost) ? kMost : static_cast<T>(value);
}

template <typename T>
T PowerOf(T base, double exponent) {
  if (!std::isfinite(exponent) || exponent != std::trunc(exponent)) {
    return TruncatedPower(base, exponent);
  }
  if (exponent < 0) return InversePower(base, exponent);
  return static_cast<T>(WrappedPower(static_cast<uint64_t>(static_cast<int64_t>(base)), exponent));
}

template <typename T, bool kIsConstant>
void PowerRow(const ElementParameters& parameters, int64_t count, std::byte* to,
              const std::byte* const* from) {
  const double* bases = reinterpret_cast<const double*>(from[0]);
  double* powers = reinterpret_cast<double*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const double exponent =
        kIsConstant ? parameters.numbers[0] : reinterpret_cast<const double*>(from[1])[i];
    powers[i] = PowerOf(static_cast<T>(bases[i]), exponent);
  }
}

template <typename T>
constexpr ElementWiseRow Row(ElementWiseFunction function, RowFunction* compute) {
  constexpr DataType kDouble = DataType::kFloat64;
  return {function, {kDataTypeOf<T>}, {kDouble, kDouble}, kDouble, compute};
}

template <typename... T>
std::span<const ElementWiseRow> RowsOf() {
  static constexpr ElementWiseRow kRows[] = {
      Row<T>(kPow, PowerRow<T, false>)...,
      Row<T>(kConstantPow, PowerRow<T, true>)...,
  };
  return kRows;
}

}  // namespace

std::span<const ElementWiseRow> IntegerPowerRows() {
  return RowsOf<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>();
}

}  // namespace dmlop
