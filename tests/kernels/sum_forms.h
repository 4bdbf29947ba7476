// What the tests of sums that end in results share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/reduce/sum_term.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop {

// A function that kernels compute up to its result.
struct Form {
  SumTerm term;
  SumEnding ending;
};

inline constexpr Form kForms[] = {{SumTerm::kItself, SumEnding::kItself},
                                  {SumTerm::kMagnitude, SumEnding::kItself},
                                  {SumTerm::kSquare, SumEnding::kItself},
                                  {SumTerm::kItself, SumEnding::kAverage},
                                  {SumTerm::kSquare, SumEnding::kSquareRoot}};

template <typename T>
Real Exact(const Form& form, const std::vector<T>& group) {
  Real result(-0.0);  // a sum of only -0 is -0
  for (const T element : group) {
    Real term(ToDouble(element));
    if (form.term == SumTerm::kMagnitude) mpfr_abs(term.get(), term.get(), MPFR_RNDN);
    if (form.term == SumTerm::kSquare) mpfr_sqr(term.get(), term.get(), MPFR_RNDN);
    mpfr_add(result.get(), result.get(), term.get(), MPFR_RNDN);
  }
  const auto count = static_cast<unsigned long>(group.size());
  if (form.ending == SumEnding::kAverage) {
    mpfr_div_ui(result.get(), result.get(), count, MPFR_RNDN);
  }
  if (form.ending == SumEnding::kSquareRoot) mpfr_sqrt(result.get(), result.get(), MPFR_RNDN);
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
