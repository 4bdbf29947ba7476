// SPDX-License-Identifier: Apache-2.0
// The softmax family in MPFR, with enough bits for tiny logarithms.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/operators.h"
#include "tests/reference/slices.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Views = std::span<const ConstTensorView>;

constexpr mpfr_prec_t kBits = 500;

// The sums over a slice whose largest element is finite.
struct ExpSum {
  std::vector<double> slice;
  double max = 0;
  double maxima = 0;
  Real others = Real(0.0, kBits);  // sum of e^(x - max) over the other elements
};

// e^(x - max), rounded up so that it is never 0.
Real Shifted(double x, double max) {
  Real term(x, kBits);
  mpfr_sub_d(term.get(), term.get(), max, MPFR_RNDN);
  mpfr_exp(term.get(), term.get(), MPFR_RNDU);
  return term;
}

// Caches the last result, which the next element usually needs, too.
const ExpSum& SumOf(const std::vector<double>& slice) {
  static thread_local ExpSum last;
  if (last.slice == slice) return last;
  last.slice = slice;
  last.max = *std::max_element(slice.begin(), slice.end());
  last.maxima = 0;
  mpfr_set_zero(last.others.get(), 1);
  for (const double x : slice) {
    if (x == last.max) last.maxima += 1;
    if (x == last.max || std::isinf(x)) continue;
    mpfr_add(last.others.get(), last.others.get(), Shifted(x, last.max).get(), MPFR_RNDN);
  }
  return last;
}

bool HasSum(const std::vector<double>& slice) {
  if (std::any_of(slice.begin(), slice.end(), [](double x) { return std::isnan(x); })) return false;
  return std::isfinite(*std::max_element(slice.begin(), slice.end()));
}

Expectation Softmax(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const auto slice = SliceAt(inputs[0], index, SoftmaxAxesOf(desc, index.size()));
  const DataType type = inputs[0].type;
  if (!HasSum(slice)) return Special(type, NAN);
  const double x = NumberAt(inputs[0], index);
  if (std::isinf(x)) return Special(type, 0);
  const ExpSum& sum = SumOf(slice);
  Real total = sum.others;
  mpfr_add_d(total.get(), total.get(), sum.maxima, MPFR_RNDN);
  Real result = Shifted(x, sum.max);
  mpfr_div(result.get(), result.get(), total.get(), MPFR_RNDN);
  return Within(type, result, 0.5001, 0);
}

Expectation LogSoftmax(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const auto slice = SliceAt(inputs[0], index, SoftmaxAxesOf(desc, index.size()));
  const DataType type = inputs[0].type;
  if (!HasSum(slice)) return Special(type, NAN);
  const double x = NumberAt(inputs[0], index);
  if (std::isinf(x)) return Special(type, -INFINITY);
  const ExpSum& sum = SumOf(slice);
  Real log = sum.others;
  mpfr_add_d(log.get(), log.get(), sum.maxima - 1, MPFR_RNDN);
  mpfr_log1p(log.get(), log.get(), MPFR_RNDN);
  Real result(x, kBits);
  mpfr_sub_d(result.get(), result.get(), sum.max, MPFR_RNDN);
  mpfr_sub(result.get(), result.get(), log.get(), MPFR_RNDN);
  if (mpfr_zero_p(result.get()) != 0) return Special(type, 0);
  return Within(type, result, 0.5001, 0);
}

// SMX-6.
Expectation Hardmax(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const std::vector<uint32_t> axes = SoftmaxAxesOf(desc, index.size());
  size_t best = 0;
  const std::vector<double> slice = SliceAt(inputs[0], index, axes);
  for (size_t i = 1; i < slice.size(); ++i) {
    if (slice[i] > slice[best] || (std::isnan(slice[best]) && !std::isnan(slice[i]))) best = i;
  }
  return Special(inputs[0].type, NumberInSlice(inputs[0], index, axes) == best ? 1 : 0);
}

constexpr NamedOracle kOracles[] = {
    {"ACTIVATION_HARDMAX", Hardmax},        {"ACTIVATION_HARDMAX1", Hardmax},
    {"ACTIVATION_LOG_SOFTMAX", LogSoftmax}, {"ACTIVATION_LOG_SOFTMAX1", LogSoftmax},
    {"ACTIVATION_SOFTMAX", Softmax},        {"ACTIVATION_SOFTMAX1", Softmax},
};

}  // namespace

bool IsSoftmax(const OperatorDesc& activation) {
  return std::any_of(std::begin(kOracles), std::end(kOracles),
                     [&](const NamedOracle& one) { return one.name == activation.name(); });
}

std::vector<uint32_t> SoftmaxAxesOf(const OperatorDesc& activation, size_t rank) {
  if (!activation.name().ends_with('1')) return {static_cast<uint32_t>(rank - 1)};
  return Get<std::vector<uint32_t>>(activation, "Axes");
}

std::span<const NamedOracle> SoftmaxOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
