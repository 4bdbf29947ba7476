// SPDX-License-Identifier: Apache-2.0
// Numbers of the oracle of element-wise functions: real numbers, integers, and conversions to
// elements of a type.
#pragma once

#include <cstdint>

#include "tests/exact/mpfr_oracle.h"
#include "tests/reference/element_wise.h"

namespace dmlop::reference {

__extension__ using Integer = __int128;

// Real numbers. Quotients and roots are rounded far below the last bit of any FLOAT32.
class Exact {
 public:
  explicit Exact(double value) : value_(value, 1200) {}
  explicit Exact(const Real& value) : value_(value) {}
  Exact(const Exact&) = default;
  Exact& operator=(const Exact& other) {
    mpfr_set(value_.get(), other.value_.get(), MPFR_RNDN);
    return *this;
  }
  ~Exact() = default;
  const Real& real() const { return value_; }

  friend Exact operator+(const Exact& a, const Exact& b) { return Of(mpfr_add, a, b); }
  friend Exact operator-(const Exact& a, const Exact& b) { return Of(mpfr_sub, a, b); }
  friend Exact operator*(const Exact& a, const Exact& b) { return Of(mpfr_mul, a, b); }
  friend Exact operator/(const Exact& a, const Exact& b) { return Of(mpfr_div, a, b); }
  friend Exact sqrt(const Exact& a) {
    Exact root(0.0);
    mpfr_sqrt(root.value_.get(), a.value_.get(), MPFR_RNDN);
    return root;
  }
  friend Exact fabs(const Exact& a) {
    Exact magnitude = a;
    mpfr_abs(magnitude.value_.get(), a.value_.get(), MPFR_RNDN);
    return magnitude;
  }
  friend bool operator<(const Exact& a, double b) { return mpfr_cmp_d(a.value_.get(), b) < 0; }
  friend bool operator>(const Exact& a, double b) { return mpfr_cmp_d(a.value_.get(), b) > 0; }

 private:
  static Exact Of(int (*operation)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Exact& a,
                  const Exact& b) {
    Exact result(0.0);
    operation(result.value_.get(), a.value_.get(), b.value_.get(), MPFR_RNDN);
    return result;
  }

  Real value_;
};

template <typename N>
N Affine(const N& factor, const N& x, const N& summand) {
  return factor * x + summand;
}

// The value of an element: of a float, an integer, or any type.
double FloatOf(const StoredElement& element);
Integer IntegerOf(const StoredElement& element);
double Quantity(const StoredElement& element);

// The value modulo 2^width.
uint64_t Wrapped(Integer value, DataType type);

// The value truncated and clamped; NaN becomes 0.
uint64_t Clamped(const Real& value, DataType type);

// The exact value rounded once or, for integers, truncated and clamped; `plain` is the result in
// IEEE arithmetic, which decides about zeros, infinities and NaN.
uint64_t Rounded(const Exact& exact, double plain, DataType type);

}  // namespace dmlop::reference
