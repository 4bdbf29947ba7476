// SPDX-License-Identifier: Apache-2.0
// Forms of sums, which the tests of finalized sums share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/reduce/sum_map.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop {

// A function that kernels compute up to its result.
struct Form {
  SumMap map;
  SumFinalizer finalizer;
};

inline constexpr Form kForms[] = {{SumMap::kItself, SumFinalizer::kItself},
                                  {SumMap::kMagnitude, SumFinalizer::kItself},
                                  {SumMap::kSquare, SumFinalizer::kItself},
                                  {SumMap::kItself, SumFinalizer::kAverage},
                                  {SumMap::kSquare, SumFinalizer::kSquareRoot}};

template <typename T>
Real Exact(const Form& form, const std::vector<T>& group) {
  Real result(-0.0);  // a sum of only -0 is -0
  for (const T element : group) {
    Real term(ToDouble(element));
    if (form.map == SumMap::kMagnitude) mpfr_abs(term.get(), term.get(), MPFR_RNDN);
    if (form.map == SumMap::kSquare) mpfr_sqr(term.get(), term.get(), MPFR_RNDN);
    mpfr_add(result.get(), result.get(), term.get(), MPFR_RNDN);
  }
  const auto count = static_cast<unsigned long>(group.size());
  if (form.finalizer == SumFinalizer::kAverage) {
    mpfr_div_ui(result.get(), result.get(), count, MPFR_RNDN);
  }
  if (form.finalizer == SumFinalizer::kSquareRoot) mpfr_sqrt(result.get(), result.get(), MPFR_RNDN);
  return result;
}

template <typename T>
struct Results {
  explicit Results(int64_t count)
      : values(static_cast<size_t>(count)), unresolved(static_cast<size_t>(count)) {}

  std::vector<T> values;
  std::vector<uint8_t> unresolved;
};

}  // namespace dmlop
