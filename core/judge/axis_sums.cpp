// SPDX-License-Identifier: Apache-2.0
#include "core/judge/axis_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "core/arithmetic/varied_values.h"

namespace dmlop {
namespace {

// Longer formulas take too long.
constexpr int64_t kMostWork = int64_t{1} << 18;

double ExactSum(const ElementFormula& formula, FormulaNode sum) {
  const std::vector<double> terms = formula.TermsOf(sum);
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

// Returns what a unit of one sum is worth in the element. A mean and a scale make it less.
double SlopeOf(ElementFormula& formula, FormulaNode sum) {
  constexpr double kShare = 0x1p-10;
  const auto with_step = [&](double step) {
    return formula
        .WithSums(
            [&](FormulaNode node) { return ExactSum(formula, node) + (node == sum ? step : 0); })
        .back()
        .head;
  };
  const double step = std::max(std::abs(ExactSum(formula, sum)), 1.0) * kShare;
  return (with_step(step) - with_step(0)) / step;
}

// The roundoff of sums, and of the elements.
double RoundoffOfSums(DataType type) {
  return type == DataType::kFloat64 ? 0x1p-53 : 0x1p-24;
}
double RoundoffOf(DataType type) {
  return type == DataType::kFloat16 ? 0x1p-11 : RoundoffOfSums(type);
}

// `of_result` is the rounding of the element in terms of the sums before.
double NoiseOf(DataType type, const std::vector<double>& before, double of_result) {
  constexpr double kSafety = 4;
  double most = 0;
  for (const double sum : before) most = std::max(most, std::abs(sum));
  const double of_sum = std::sqrt(static_cast<double>(before.size())) * RoundoffOfSums(type) * most;
  return kSafety * (of_sum + of_result);
}

// The sums of terms before each coordinate of an axis; none if no term has one, or one that the
// axis lacks.
std::optional<std::vector<double>> SumsBefore(const TermAxis& axis, std::span<const double> terms,
                                              std::span<const int64_t> coordinates) {
  std::vector<double> before(static_cast<size_t>(axis.size) + 1);
  bool is_any = false;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (coordinates[i] < 0) continue;
    if (coordinates[i] >= axis.size) return std::nullopt;
    before[static_cast<size_t>(coordinates[i]) + 1] += terms[i];
    is_any = true;
  }
  std::partial_sum(before.begin(), before.end(), before.begin());
  return is_any ? std::optional(std::move(before)) : std::nullopt;
}

// An element as a function of its only sum.
class OfSum {
 public:
  explicit OfSum(ElementFormula& formula) : formula_(formula) {
    for (const double term : formula.TermsOf(formula.sums()[0])) {
      (term < 0 ? least_ : most_) += term;
    }
  }

  // The sum of some terms with which the element has a value; none if the value is not between
  // those of the least and of the greatest sum.
  std::optional<double> SumWith(double value) {
    constexpr int kSteps = 100;
    double low = least_, high = most_;
    const bool rises = At(low) < At(high);
    const auto is_below = [&](double sum) { return rises ? At(sum) < value : At(sum) > value; };
    if (!is_below(low) || is_below(high)) return std::nullopt;
    for (int i = 0; i < kSteps && low < high; ++i) {
      const double middle = low + (high - low) / 2;
      (is_below(middle) ? low : high) = middle;
      if (middle == low && middle + (high - middle) / 2 == middle) break;
    }
    return high;
  }

 private:
  double At(double sum) {
    return formula_.WithSums([=](FormulaNode) { return sum; }).back().head;
  }

  ElementFormula& formula_;
  double least_ = 0;
  double most_ = 0;
};

// An element in terms of its sum.
std::optional<AxisSums::OneSum> SumOfDevice(const Evidence& evidence, const TermAxis& axis,
                                            int64_t element) {
  const auto& [op, inputs, storage, sources] = evidence.computation;
  const Region place = evidence.At(element);
  const auto formula = ElementFormula::Of(op, inputs, place);
  if (!formula || formula->sums().size() != 1) return std::nullopt;
  const FormulaNode sum = formula->sums()[0];
  const std::vector<double> terms = formula->TermsOf(sum);
  auto before = SumsBefore(axis, terms,
                           CoordinatesOfTerms(evidence.computation, place, formula->formula(), sum,
                                              axis, TermPathAlong(axis)));
  OfSum of_sum(*formula);
  const double actual = evidence.actual.Value(element);
  const double rounded = std::abs(actual) * RoundoffOf(evidence.actual.type);
  const auto added = of_sum.SumWith(actual);
  const auto below = of_sum.SumWith(actual - rounded), above = of_sum.SumWith(actual + rounded);
  if (!before || !added || !below || !above) return std::nullopt;
  const double noise = NoiseOf(evidence.actual.type, *before, std::abs(*above - *below));
  return AxisSums::OneSum{*std::move(before), ExactSum(*formula, sum), *added, noise};
}

}  // namespace

bool AxisSums::OneSum::Fits(const AxisPart& part) const {
  return std::abs(Without(part) - actual) <= noise;
}

std::vector<double> AxisSums::Without(const AxisPart& part) const {
  std::vector<double> values;
  for (const OneSum& sum : sums_) values.push_back(sum.Without(part));
  return values;
}

const AxisSums::OneSum& AxisSums::FurthestOff() const {
  return *std::ranges::max_element(sums_, {}, [](const OneSum& sum) {
    const double off = std::abs(sum.exact - sum.actual);
    return std::isfinite(off) && sum.noise > 0 ? off / sum.noise : 0;
  });
}

double AxisSums::RestOf(const AxisPart& part) const {
  const size_t most_others = sums_.size() / 8;
  size_t others = 0;
  double rest = 0;
  for (const OneSum& sum : sums_) {
    if (!sum.Fits(part) && ++others > most_others) return INFINITY;
    const double error = sum.Without(part) - sum.actual;
    rest += sum.Fits(part) ? error * error : 0;
  }
  return rest;
}

// Returns whether the terms at each coordinate count in any element: others make no difference to a
// part that ends with them.
std::vector<bool> AxisSums::Counting() const {
  std::vector<bool> counting(sums_[0].before.size() - 1);
  for (const OneSum& sum : sums_) {
    for (size_t i = 0; i < counting.size(); ++i) {
      if (sum.before[i + 1] != sum.before[i]) counting[i] = true;
    }
  }
  return counting;
}

// Looks up both ends of each part that fits one element among the partial sums in rising order.
std::vector<AxisPart> AxisSums::Fitting() const {
  constexpr std::ptrdiff_t kMostOfEach = 256;
  constexpr size_t kMost = 4;
  const OneSum& sum = FurthestOff();
  const double missing = sum.exact - sum.actual;
  if (!std::isfinite(missing) || std::abs(missing) <= sum.noise) return {};
  const auto at = [&](int64_t end) { return sum.before[static_cast<size_t>(end)]; };
  std::vector<int64_t> rising(sum.before.size());
  std::iota(rising.begin(), rising.end(), int64_t{0});
  std::ranges::stable_sort(rising, {}, at);
  const std::vector<bool> counting = Counting();
  const auto counts = [&](int64_t coordinate) { return counting[static_cast<size_t>(coordinate)]; };
  std::vector<std::pair<double, AxisPart>> fitting;
  for (int64_t from = 0; from + 1 < std::ssize(rising); ++from) {
    if (!counts(from)) continue;
    auto next = std::ranges::lower_bound(rising, at(from) + missing - sum.noise, {}, at);
    const auto last = next + std::min(kMostOfEach, rising.end() - next);
    for (; next != last && at(*next) <= at(from) + missing + sum.noise; ++next) {
      if (*next <= from || !counts(*next - 1)) continue;
      const double rest = RestOf({from, *next});
      if (!std::isfinite(rest)) continue;
      const std::pair<double, AxisPart> fit = {rest, {from, *next}};
      fitting.insert(std::ranges::upper_bound(fitting, fit), fit);
      if (fitting.size() > kMost) fitting.pop_back();
    }
  }
  std::vector<AxisPart> parts;
  for (const auto& [rest, part] : fitting) parts.push_back(part);
  return parts;
}

LinearElements::LinearElements(const Evidence& evidence, std::span<const int64_t> few)
    : evidence_(evidence) {
  const auto& [op, inputs, storage, sources] = evidence.computation;
  if (FormulaWork(op, inputs, evidence.output) > kMostWork) return;
  for (const int64_t element : few) {
    known_.push_back({element, ElementFormula::Of(op, inputs, evidence.At(element))});
    if (known_.back().formula) continue;
    known_.clear();
    break;
  }
}

std::shared_ptr<const AxisSums> LinearElements::Along(const TermAxis& axis) const {
  std::vector<AxisSums::OneSum> sums;
  for (const Known& known : known_) {
    auto sum = SumOf(known, axis);
    if (!sum) return nullptr;
    sums.push_back(std::move(*sum));
  }
  return sums.empty() ? nullptr : std::make_shared<const AxisSums>(std::move(sums));
}

bool LinearElements::HasMeans() const {
  return std::ranges::any_of(known_, [](const Known& known) {
    const auto is_mean = [&](FormulaNode sum) { return known.formula->IsMean(sum); };
    return std::ranges::any_of(known.formula->sums(), is_mean);
  });
}

std::optional<AxisSums::OneSum> LinearElements::SumOf(const Known& known,
                                                      const TermAxis& axis) const {
  ElementFormula& formula = *known.formula;
  const auto sums = formula.sums();
  if (sums.size() != 1) return std::nullopt;
  std::vector<double> terms = formula.TermsOf(sums[0]);
  const double slope = SlopeOf(formula, sums[0]);
  for (double& term : terms) term *= slope;
  auto before =
      SumsBefore(axis, terms,
                 CoordinatesOfTerms(evidence_.computation, evidence_.At(known.element),
                                    formula.formula(), sums[0], axis, TermPath::kToInput));
  if (!before) return std::nullopt;
  const DataType type = evidence_.actual.type;
  const double actual = evidence_.actual.Value(known.element);
  const double noise = NoiseOf(type, *before, std::abs(actual) * RoundoffOf(type));
  return AxisSums::OneSum{*std::move(before), formula.exact().back().head, actual, noise};
}

std::shared_ptr<const AxisSums> SumsOfDevice(const Evidence& evidence, const TermAxis& axis,
                                             std::span<const int64_t> few) {
  constexpr size_t kFewestSums = 3;  // of one alone, some part has any value
  std::vector<AxisSums::OneSum> sums;
  std::set<double> different;
  for (const int64_t element : few) {
    auto sum = SumOfDevice(evidence, axis, element);
    if (!sum) continue;
    different.insert(sum->exact);
    sums.push_back(*std::move(sum));
  }
  if (different.size() < kFewestSums) return nullptr;
  return std::make_shared<const AxisSums>(std::move(sums));
}

}  // namespace dmlop
