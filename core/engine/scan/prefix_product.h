// The product of the elements so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"

namespace dmlop {

// Modulo 2^width.
template <typename T>
class PrefixProduct {
  static_assert(std::unsigned_integral<T>);

 public:
  void Add(T x) { product_ *= x; }
  T Value() const { return product_; }

 private:
  T product_ = 1;
};

// A magnitude in [1, 2) as two binary64 numbers, an exponent, a sign, and what zeros, infinities
// and NaN make of it.
template <typename T>
class PrefixFloatProduct {
 public:
  void Add(T element) {
    const double x = AsDouble(element);
    if (std::signbit(x)) sign_ = -sign_;
    if (x == 0 || !std::isfinite(x)) {
      special_ *= std::fabs(x);
      return;
    }
    int exponent = 0;
    const double significand = std::frexp(std::fabs(x), &exponent);
    magnitude_ = magnitude_ * significand;
    int shift = 0;
    std::frexp(magnitude_.head, &shift);
    magnitude_ = Scale(magnitude_, std::ldexp(1.0, 1 - shift));
    exponent_ += exponent + shift - 1;
  }

  T Value() const {
    if (special_ != 1) return RoundOnce<T>(sign_ * special_, 0.0);
    // Beyond any float, so that the result is infinite or 0.
    constexpr int64_t kFar = 400;
    const int exponent = static_cast<int>(std::clamp(exponent_, -kFar, kFar));
    const DoubleDouble product = Scale(magnitude_, std::ldexp(sign_, exponent));
    return RoundOnce<T>(product.head, product.tail);
  }

 private:
  DoubleDouble magnitude_ = {1.0, 0.0};
  int64_t exponent_ = 0;
  double sign_ = 1.0;
  double special_ = 1.0;  // once it has met one: 0, infinity or NaN
};
template <>
class PrefixProduct<float> : public PrefixFloatProduct<float> {};
template <>
class PrefixProduct<Half> : public PrefixFloatProduct<Half> {};

}  // namespace dmlop
