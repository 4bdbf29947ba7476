// SPDX-License-Identifier: Apache-2.0
// Rows of values of every kind, which the tests of reduction kernels share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/exact/mpfr_oracle.h"
#include "tests/support/float_families.h"
#include "tests/support/on_isa.h"
#include "tests/support/random.h"

namespace dmlop {

// Counts around the widths of vectors, and of the blocks that kernels process.
inline constexpr int64_t kCounts[] = {1,  2,  3,  4,  5,  7,   8,   9,   15,  16,   17,   31,
                                      32, 33, 63, 64, 65, 127, 128, 129, 300, 1024, 1025, 2048};

template <typename T>
std::vector<T> DrawRow(const FloatFamily& family, Engine& engine, int64_t count) {
  std::vector<T> row;
  for (int64_t i = 0; i < count; ++i) row.push_back(FromDouble<T>(Draw<T>(family, engine)));
  return row;
}

// The sum of exp(x - max), with far more bits than a kernel has.
template <typename T>
Real SumOfExponentials(const std::vector<T>& row, double max) {
  Real sum(0.0, 200);
  for (const T x : row) {
    Real term(ToDouble(x), 300);
    mpfr_sub_d(term.get(), term.get(), max, MPFR_RNDN);
    mpfr_exp(term.get(), term.get(), MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), term.get(), MPFR_RNDN);
  }
  return sum;
}

// Calls body(engine, family, count) for rows of every kind.
template <typename Body>
void ForEachRow(Body&& body) {
  int number = 0;
  for (const FloatFamily& family : kFamilies) {
    for (const int64_t count : kCounts) {
      if (!IsInShare()) continue;
      SCOPED_TRACE(CaseTrace(number) + ", " + family.name + ", " + std::to_string(count));
      Engine engine = CaseEngine(number++);
      body(engine, family, count);
    }
  }
}

// Calls body.operator()<T>() for float and Half.
template <typename Body>
void ForFloatAndHalf(Body&& body) {
  body.template operator()<float>();
  body.template operator()<Half>();
}

}  // namespace dmlop
