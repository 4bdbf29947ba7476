// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/reduce_float.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/tensor/half.h"
#include "tests/reference/element.h"

namespace dmlop::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();  // narrows to the canonical NaN

// Enough for results without an exact representation: far beyond every bound that is checked.
constexpr mpfr_prec_t kPrecision = 300;

using Values = std::vector<double>;

template <typename T>
Expectation Special(double value) {
  return {ToBits(FromDouble<T>(value))};
}

// --- sums ----------------------------------------------------------------------------------------

// The sum if it is not an ordinary number: RED-15, and the sum of only -0.
std::optional<double> SpecialSum(const Values& terms) {
  double sum = -0.0;
  for (const double x : terms) {
    // Finite terms must not overflow to an infinity or vanish to a zero.
    sum += std::isfinite(x) && x != 0 ? 1.0 : x;
  }
  if (std::isnan(sum)) return kNan;
  if (std::isinf(sum) || (sum == 0 && std::signbit(sum))) return sum;
  return std::nullopt;
}

Real ExactSumOf(const Values& terms) {
  Real sum;
  for (const double x : terms) mpfr_add_d(sum.get(), sum.get(), x, MPFR_RNDN);
  return sum;
}

Values Mapped(const Values& values, double (*map)(double)) {
  Values mapped(values.size());
  std::transform(values.begin(), values.end(), mapped.begin(), map);
  return mapped;
}

// `ending` turns the exact sum into the result in place.
template <typename T, typename Finalizer>
Expectation SumThen(const Values& terms, Finalizer&& ending) {
  if (const auto special = SpecialSum(terms)) return Special<T>(*special);
  Real result = ExactSumOf(terms);
  ending(result.get());
  return {ToBits(RoundReal<T>(result))};
}

template <typename T>
Expectation Sum(const Values& terms) {
  return SumThen<T>(terms, [](mpfr_ptr) {});
}

// RED-13.
template <typename T>
Expectation LogSum(const Values& values) {
  if (const auto special = SpecialSum(values)) {
    return Special<T>(*special == kInfinity ? kInfinity : *special == 0 ? -kInfinity : kNan);
  }
  const Real sum = ExactSumOf(values);
  const int sign = mpfr_sgn(sum.get());
  if (sign <= 0) return Special<T>(sign == 0 ? -kInfinity : kNan);
  Real log(0.0, kPrecision);
  mpfr_log(log.get(), sum.get(), MPFR_RNDN);
  return {ToBits(RoundReal<T>(log)), log, 0.51};
}

// --- other functions -----------------------------------------------------------------------------

// RED-14.
template <typename T>
Expectation LogSumExp(const Values& values) {
  double max = -kInfinity;
  for (const double x : values) {
    if (std::isnan(x)) return Special<T>(kNan);
    max = std::max(max, x);
  }
  if (std::isinf(max)) return Special<T>(max);
  Real result(0.0, kPrecision);
  Real term(0.0, kPrecision);
  double max_magnitude = 0;
  for (const double x : values) {
    mpfr_set_d(term.get(), x, MPFR_RNDN);
    mpfr_sub_d(term.get(), term.get(), max, MPFR_RNDN);
    mpfr_exp(term.get(), term.get(), MPFR_RNDN);
    mpfr_add(result.get(), result.get(), term.get(), MPFR_RNDN);
    // An infinite term adds nothing, and would make the bound meaningless.
    if (std::isfinite(x)) max_magnitude = std::max(max_magnitude, std::fabs(x));
  }
  mpfr_log(result.get(), result.get(), MPFR_RNDN);
  mpfr_add_d(result.get(), result.get(), max, MPFR_RNDN);
  return {ToBits(RoundReal<T>(result)), result, 0.51, 0x1p-45 * (1 + max_magnitude)};
}

// Infinities, zeros and signs are as in IEEE arithmetic.
template <typename T>
Expectation Multiply(const Values& values) {
  double special = 1;
  Real product(1.0, kPrecision);
  for (const double x : values) {
    special *= std::isfinite(x) && x != 0 ? std::copysign(1.0, x) : x;
    mpfr_mul_d(product.get(), product.get(), x, MPFR_RNDN);
  }
  if (std::isnan(special)) return Special<T>(kNan);
  if (special == 0 || std::isinf(special)) return Special<T>(special);
  return {ToBits(RoundReal<T>(product)), product, 0.5001};
}

// RED-17: the total order of IEEE 754 puts -0 before +0.
bool Before(double a, double b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}

// RED-16: skips NaN.
template <typename T>
Expectation Extreme(bool largest, const Values& values) {
  double best = kNan;
  for (const double x : values) {
    if (std::isnan(x)) continue;
    if (std::isnan(best) || (largest ? Before(best, x) : Before(x, best))) best = x;
  }
  return Special<T>(best);
}

template <typename T>
Values Widened(const std::vector<T>& group) {
  Values values;
  for (const T x : group) values.push_back(ToDouble(x));
  return values;
}

double Magnitude(double x) {
  return std::fabs(x);
}
double Square(double x) {
  return x * x;  // exact: 48 bits
}

}  // namespace

template <typename T>
Expectation ReducedFloats(ReduceFunction function, const std::vector<T>& group) {
  const Values values = Widened(group);
  const double count = static_cast<double>(values.size());
  switch (function) {
    case ReduceFunction::kAverage:
      return SumThen<T>(values, [&](mpfr_ptr sum) { mpfr_div_d(sum, sum, count, MPFR_RNDN); });
    case ReduceFunction::kL1:
      return Sum<T>(Mapped(values, Magnitude));
    case ReduceFunction::kL2:
      return SumThen<T>(Mapped(values, Square),
                        [](mpfr_ptr sum) { mpfr_sqrt(sum, sum, MPFR_RNDN); });
    case ReduceFunction::kLogSum:
      return LogSum<T>(values);
    case ReduceFunction::kLogSumExp:
      return LogSumExp<T>(values);
    case ReduceFunction::kMax:
      return Extreme<T>(true, values);
    case ReduceFunction::kMin:
      return Extreme<T>(false, values);
    case ReduceFunction::kMultiply:
      return Multiply<T>(values);
    case ReduceFunction::kSum:
      return Sum<T>(values);
    default:
      return Sum<T>(Mapped(values, Square));
  }
}

template Expectation ReducedFloats(ReduceFunction function, const std::vector<float>& group);
template Expectation ReducedFloats(ReduceFunction function, const std::vector<Half>& group);

}  // namespace dmlop::reference
