// SPDX-License-Identifier: Apache-2.0
// Rational numbers of any size.
#pragma once

#include <gmp.h>

#include <cstdint>

#include "tests/exact/mpfr_oracle.h"

namespace dmlop::reference {

class Rational {
 public:
  explicit Rational(double finite = 0) {
    mpq_init(value_);
    mpq_set_d(value_, finite);
  }
  Rational(const Rational& other) {
    mpq_init(value_);
    mpq_set(value_, other.value_);
  }
  Rational& operator=(const Rational& other) {
    mpq_set(value_, other.value_);
    return *this;
  }
  ~Rational() { mpq_clear(value_); }

  int Sign() const { return mpq_sgn(value_); }

  // The result must fit.
  int64_t Floor() const {
    mpz_t floor;
    mpz_init(floor);
    mpz_fdiv_q(floor, mpq_numref(value_), mpq_denref(value_));
    const int64_t result = mpz_get_si(floor);
    mpz_clear(floor);
    return result;
  }

  // Exact if the number fits in 1200 bits; otherwise far more precise than any output.
  Real ToReal() const {
    Real real(0.0, 1200);
    mpfr_set_q(real.get(), value_, MPFR_RNDN);
    return real;
  }

  friend Rational operator+(const Rational& a, const Rational& b) { return Of(mpq_add, a, b); }
  friend Rational operator-(const Rational& a, const Rational& b) { return Of(mpq_sub, a, b); }
  friend Rational operator*(const Rational& a, const Rational& b) { return Of(mpq_mul, a, b); }
  friend Rational operator/(const Rational& a, const Rational& b) { return Of(mpq_div, a, b); }

 private:
  static Rational Of(void (*operation)(mpq_ptr, mpq_srcptr, mpq_srcptr), const Rational& a,
                     const Rational& b) {
    Rational result;
    operation(result.value_, a.value_, b.value_);
    return result;
  }

  mpq_t value_;
};

}  // namespace dmlop::reference
