// SPDX-License-Identifier: Apache-2.0
// MPFR as the oracle: numbers of fixed, sufficient precision, and their roundings to each format.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/tensor/element.h"
#include "core/tensor/half.h"

namespace dmlop {

// Owns one MPFR number. The default precision holds every sum of the tests exactly.
class Real {
 public:
  explicit Real(double value = 0.0, mpfr_prec_t precision = 768) {
    mpfr_init2(value_, precision);
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  Real(const Real& other) {
    mpfr_init2(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

template <typename T>
struct Format;

template <>
struct Format<Half> {
  static constexpr int kPrecision = 11;
  static constexpr int kLeastExponent = -24;  // the least subnormal is 2^kLeastExponent
  static constexpr double kMax = 65504.0;
};

template <>
struct Format<float> {
  static constexpr int kPrecision = 24;
  static constexpr int kLeastExponent = -149;
  static constexpr double kMax = std::numeric_limits<float>::max();
};

template <>
struct Format<double> {
  static constexpr int kPrecision = 53;
  static constexpr int kLeastExponent = -1074;
  static constexpr double kMax = std::numeric_limits<double>::max();
};

inline double ToDouble(double value) {
  return value;
}
inline double ToDouble(Half value) {
  return ToFloat(value);
}

inline uint64_t BitsOf(double value) {
  return std::bit_cast<uint64_t>(value);
}
inline uint64_t BitsOf(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline uint64_t BitsOf(Half value) {
  return value.bits;
}

// The exponent of the unit in the last place of T at `value`.
template <typename T>
mpfr_exp_t LastPlace(const Real& value) {
  if (mpfr_zero_p(value.get())) return Format<T>::kLeastExponent;
  return std::max<mpfr_exp_t>(mpfr_get_exp(value.get()) - Format<T>::kPrecision,
                              Format<T>::kLeastExponent);
}

// Rounds to nearest, ties to even, by definition: to an integer multiple of the last place.
template <typename T>
T RoundReal(const Real& value) {
  if (!mpfr_number_p(value.get())) return FromDouble<T>(mpfr_get_d(value.get(), MPFR_RNDN));
  const mpfr_exp_t last_place = LastPlace<T>(value);
  Real scaled = value;
  mpfr_mul_2si(scaled.get(), scaled.get(), -last_place, MPFR_RNDN);
  mpfr_roundeven(scaled.get(), scaled.get());
  mpfr_mul_2si(scaled.get(), scaled.get(), last_place, MPFR_RNDN);
  if (mpfr_cmp_d(scaled.get(), Format<T>::kMax) > 0) {
    return FromDouble<T>(std::numeric_limits<double>::infinity());
  }
  if (mpfr_cmp_d(scaled.get(), -Format<T>::kMax) < 0) {
    return FromDouble<T>(-std::numeric_limits<double>::infinity());
  }
  return FromDouble<T>(mpfr_get_d(scaled.get(), MPFR_RNDN));
}

// |actual - expected| in units of the last place of T at `expected`.
template <typename T>
double UlpError(T actual, const Real& expected) {
  Real difference = expected;
  mpfr_sub_d(difference.get(), difference.get(), ToDouble(actual), MPFR_RNDN);
  mpfr_mul_2si(difference.get(), difference.get(), -LastPlace<T>(expected), MPFR_RNDN);
  return std::abs(mpfr_get_d(difference.get(), MPFR_RNDN));
}

}  // namespace dmlop
