// SPDX-License-Identifier: Apache-2.0
// LOCAL_RESPONSE_NORMALIZATION and its gradient, term by term in MPFR.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

constexpr mpfr_prec_t kSumPrecision = 1200;  // holds the sum of squares of FLOAT32 exactly
constexpr mpfr_prec_t kPowerPrecision = 200;

// The formula for one descriptor and its inputs.
class Formula {
 public:
  Formula(const OperatorDesc& desc, std::span<const ConstTensorView> inputs)
      : inputs_(inputs),
        size_(Get<uint32_t>(desc, "LocalSize")),
        alpha_(Get<float>(desc, "Alpha")),
        beta_(Get<float>(desc, "Beta")),
        bias_(Get<float>(desc, "Bias")) {
    if (Get<bool>(desc, "CrossChannel")) {
      axes_ = {1};
    } else {
      axes_ = {2, 3};
    }
  }

  double beta() const { return beta_; }
  double ValueAt(size_t input, const Dims& index) const {
    return Quantity({inputs_[input].type, BitsAt(inputs_[input], index)});
  }

  // Visits every element of the region, or of the mirrored region.
  template <typename Visit>
  void ForRegion(const Dims& index, bool mirrored, Visit&& visit) const {
    const int64_t low = (size_ - 1) / 2;
    const int64_t high = size_ - 1 - low;
    Dims begin = index;
    Dims sizes = Dims::Filled(index.size(), 1);
    for (const size_t d : axes_) {
      const int64_t last = inputs_[0].layout.sizes[d] - 1;
      begin[d] = std::max<int64_t>(0, index[d] - (mirrored ? high : low));
      sizes[d] = std::min(last, index[d] + (mirrored ? low : high)) - begin[d] + 1;
    }
    ForEachIndex(sizes, [&](const Dims& step) {
      Dims place = begin;
      for (size_t d = 0; d < place.size(); ++d) place[d] += step[d];
      visit(place);
    });
  }

  Real SumOfSquares(const Dims& index) const {
    Real sum(0.0, kSumPrecision);
    ForRegion(index, false, [&](const Dims& place) {
      Real square(ValueAt(0, place), kSumPrecision);
      mpfr_sqr(square.get(), square.get(), MPFR_RNDN);
      mpfr_add(sum.get(), sum.get(), square.get(), MPFR_RNDN);
    });
    return sum;
  }

  Real Divisor(const Dims& index) const {
    Real d = SumOfSquares(index);
    mpfr_mul_d(d.get(), d.get(), alpha_, MPFR_RNDN);
    Real bias(bias_, kSumPrecision);
    mpfr_mul_d(bias.get(), bias.get(), static_cast<double>(size_), MPFR_RNDN);
    mpfr_add(d.get(), d.get(), bias.get(), MPFR_RNDN);
    mpfr_div_d(d.get(), d.get(), static_cast<double>(size_), MPFR_RNDN);
    return d;
  }

  Real DivisorPower(const Dims& index, double exponent) const {
    const Real d = Divisor(index);
    const Real real_exponent(exponent);
    Real power(0.0, kPowerPrecision);
    mpfr_pow(power.get(), d.get(), real_exponent.get(), MPFR_RNDN);
    return power;
  }

  // The relative error of a quotient by the power of the divisor, where the bound in ULP does not
  // hold.
  double RelativeError(const Dims& index) const {
    const double d = std::fabs(mpfr_get_d(Divisor(index).get(), MPFR_RNDN));
    const double sum = mpfr_get_d(SumOfSquares(index).get(), MPFR_RNDN);
    if (alpha_ >= 0 && bias_ >= 0 && std::fabs(beta_ * std::log(d)) <= 700) return 0;
    const double parts = std::fabs(bias_) + std::fabs(alpha_) / static_cast<double>(size_) * sum;
    return std::fabs(beta_) * 0x1p-45 * parts / d;
  }

  // -2 * Alpha * Beta / LocalSize.
  Real Factor() const {
    Real factor(-2 * alpha_, kPowerPrecision);
    mpfr_mul_d(factor.get(), factor.get(), beta_, MPFR_RNDN);
    mpfr_div_d(factor.get(), factor.get(), static_cast<double>(size_), MPFR_RNDN);
    return factor;
  }

 private:
  std::span<const ConstTensorView> inputs_;
  std::vector<size_t> axes_;
  int64_t size_;
  double alpha_, beta_, bias_;
};

Expectation Bounded(const Real& exact, DataType type, double ulps, double slack) {
  Expectation expected;
  if (mpfr_nan_p(exact.get())) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {Rounded(Exact(0.0), nan, type)};
  }
  expected.bits =
      type == DataType::kFloat16 ? BitsOf(RoundReal<Half>(exact)) : BitsOf(RoundReal<float>(exact));
  if (mpfr_inf_p(exact.get())) return expected;
  expected.exact.emplace(exact);
  expected.ulps = ulps;
  expected.slack = std::isnan(slack) ? 0 : slack;
  return expected;
}

Expectation Normalization(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                          const Dims& index) {
  const Formula formula(desc, inputs);
  Real result(formula.ValueAt(0, index), kPowerPrecision);
  const Real power = formula.DivisorPower(index, formula.beta());
  mpfr_div(result.get(), result.get(), power.get(), MPFR_RNDN);
  const double magnitude = std::fabs(mpfr_get_d(result.get(), MPFR_RNDN));
  return Bounded(result, inputs[0].type, 0.51, magnitude * formula.RelativeError(index));
}

// Sums over the gradients of all elements whose region contains this one.
Expectation Gradient(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                     const Dims& index) {
  const Formula formula(desc, inputs);
  Real result = formula.DivisorPower(index, -formula.beta());
  mpfr_mul_d(result.get(), result.get(), formula.ValueAt(1, index), MPFR_RNDN);
  double magnitude = std::fabs(mpfr_get_d(result.get(), MPFR_RNDN));
  Real sum(0.0, kPowerPrecision);
  Real factor = formula.Factor();
  mpfr_mul_d(factor.get(), factor.get(), formula.ValueAt(0, index), MPFR_RNDN);
  const double weight = std::fabs(mpfr_get_d(factor.get(), MPFR_RNDN));
  formula.ForRegion(index, true, [&](const Dims& place) {
    Real term = formula.DivisorPower(place, -formula.beta() - 1);
    mpfr_mul_d(term.get(), term.get(), formula.ValueAt(0, place), MPFR_RNDN);
    mpfr_mul_d(term.get(), term.get(), formula.ValueAt(1, place), MPFR_RNDN);
    magnitude += weight * std::fabs(mpfr_get_d(term.get(), MPFR_RNDN));
    mpfr_add(sum.get(), sum.get(), term.get(), MPFR_RNDN);
  });
  mpfr_mul(sum.get(), sum.get(), factor.get(), MPFR_RNDN);
  mpfr_add(result.get(), result.get(), sum.get(), MPFR_RNDN);
  const double slack = 0x1p-44 * (1 + std::fabs(formula.beta())) * magnitude;
  return Bounded(result, inputs[0].type, 0.501, slack);
}

constexpr NamedOracle kOracles[] = {
    {"LOCAL_RESPONSE_NORMALIZATION", Normalization},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD", Gradient},
};

}  // namespace

std::span<const NamedOracle> LocalResponseOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
