// SPDX-License-Identifier: Apache-2.0
#include "core/units/units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/arithmetic/computation.h"
#include "core/arithmetic/float_format.h"
#include "core/base/parallel.h"
#include "core/ops/formula.h"
#include "core/ops/fused.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"
#include "core/units/formula_character.h"

namespace dmlop {
namespace {

using Node = Formula::Node;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- elements to look at -------------------------------------------------------------------------

// Corners, the middle, and some that are spread over the output: more where many elements have no
// terms.
std::vector<Dims> SampleOf(const OperatorDesc& op, const Dims& sizes) {
  const int64_t spread = SamplesRegions(op) ? 101 : 11;
  const int64_t count = Product(sizes);
  std::vector<int64_t> numbers = {0, count / 2, count - 1};
  for (int64_t k = 1; k < spread; ++k) numbers.push_back(count * k / spread);
  std::set<int64_t> seen;
  std::vector<Dims> elements;
  for (const int64_t number : numbers) {
    if (seen.insert(number).second) elements.push_back(IndexOf(sizes, number));
  }
  return elements;
}

// The number of factors of a product, or of terms.
int64_t TermsAt(const Formula& formula, Node node) {
  const auto operation = formula.operation(node);
  if (operation == FormulaOperation::kProduct || operation == FormulaOperation::kQuotient) {
    const auto is_factor = [&](Node operand) {
      return formula.operation(operand) == FormulaOperation::kElement;
    };
    const auto factors = std::ranges::count_if(formula.operands(node), is_factor);
    const auto count = static_cast<size_t>(factors);
    if (count > 0 && count == formula.operands(node).size()) return factors;
  }
  return FormulaEvaluation<MagnitudeArithmetic>(formula).At(node).terms;
}

// --- the units of one output ---------------------------------------------------------------------

class UnitsOfOutput {
 public:
  UnitsOfOutput(const OperatorDesc& op, InputViews inputs, const ConstTensorView& exact,
                size_t output)
      : op_(op),
        inputs_(inputs),
        exact_(exact),
        output_(output),
        sample_(SampleOf(op, exact.layout.sizes)) {}

  std::optional<ErrorUnits> Result() {
    if (!LookAtSample()) return std::nullopt;
    units_.unit_type = exact_.type == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
    units_.output_type = exact_.type;
    units_.least = FormOf(units_.unit_type).Least();
    units_.bound = BoundOf();
    units_.has_logarithm = character_.has_logarithm;
    units_.is_beside_one = character_.is_beside_one;
    units_.has_orders = HasOrders();
    // The input of a network is {1, steps, items, size}.
    if (IsNetwork(op_)) {
      units_.steps = CountedBySources([](const Region& source) { return source.sizes[1]; });
    }
    Measure();
    return std::move(units_);
  }

 private:
  // False if there is no formula. Of long formulas, which have all there is to see in each element,
  // only the first ones are looked at.
  bool LookAtSample() {
    constexpr int64_t kManyNodes = int64_t{1} << 18;
    const std::vector<int> unknown(inputs_.size(), 0);
    int64_t nodes = 0;
    size_t seen = 0;
    for (; seen < sample_.size() && nodes < kManyNodes; ++seen) {
      Formula formula(inputs_, Formula::kAbridged);
      const auto last = FormulaOf(op_, RegionAt(sample_[seen]), formula);
      if (!last) return false;
      character_.Add(CharacterOf(formula, *last, unknown));
      nodes += formula.WholeSize();
      is_long_ |= formula.WholeSize() > kManyNodes / 4;
    }
    sample_.resize(seen);
    return true;
  }

  Region RegionAt(const Dims& element) const {
    return {output_, element, Dims::Filled(element.size(), 1)};
  }

  bool IsElementWise() const { return std::holds_alternative<ElementWise>(op_.info().family); }

  ErrorUnits::Bound BoundOf() const {
    if (!character_.rounds) return ErrorUnits::Bound::kExact;
    if (HasCoordinates()) return ErrorUnits::Bound::kGenerous;
    if (character_.is_polynomial && !character_.has_long_product) return ErrorUnits::Bound::kProved;
    return IsElementWise() || !character_.has_function ? ErrorUnits::Bound::kOneValue
                                                       : ErrorUnits::Bound::kGenerous;
  }

  // Returns whether parts of a sum or product may be infinite, or 0, in one order of its steps and
  // not in another.
  bool HasOrders() const {
    const bool is_sum_of_one_sign = character_.is_of_one_sign && character_.is_polynomial;
    return character_.rounds && !IsElementWise() &&
           (!is_sum_of_one_sign || character_.has_long_product);
  }

  void Measure() {
    // Where values choose the terms, other elements may have several of both signs.
    if (character_.is_of_one_sign && !IsWeighted() && !op_.info().reads_by_index) {
      TakeResults();
      return CountTerms({});
    }
    if (!HasMixedSum() && !IsLongFunction()) {
      const MagnitudeRun run(op_, inputs_, output_, sample_);
      if (run.is_possible()) return MeasureByRun(run);
    }
    SizesAndTerms found = EvaluateSizes(op_, inputs_, exact_.layout.sizes, output_);
    units_.scale = std::move(found.sizes);
    units_.terms = std::move(found.terms);
    // An element-wise operator that rounds first has the same results.
    const bool is_moved = std::ranges::any_of(found.moved, [](double moved) { return moved > 0; });
    if (is_moved && !IsElementWise()) units_.rounded_before = std::move(found.moved);
    AddCoordinates();
    AllowOrdersOfScales(SizesBeforeScales(op_, inputs_, exact_.layout.sizes, output_));
    if (units_.unscaled.empty() && MayExceedBeforeDivisors()) {
      units_.unscaled = SizesBeforeDivisors(op_, inputs_, exact_.layout.sizes, output_);
    }
  }

  // Returns whether a sum of all elements of an input may be beyond the type.
  bool MayExceedBeforeDivisors() const {
    if (IsNetwork(op_)) return false;
    const double most = FormOf(units_.unit_type).Most();
    return std::ranges::any_of(inputs_, [&](const ConstTensorView& input) {
      const auto count = static_cast<double>(input.layout.element_count());
      const bool is_short = FormOf(input.type).Most() * count <= most;
      return IsFloat(input.type) && !is_short && LargestOf(input) * count > most;
    });
  }

  static double LargestOf(const ConstTensorView& view) {
    const Dims& sizes = view.layout.sizes;
    double largest = 0;
    VisitDataType(Join<TypeList<double>, Floats>(), view.type, [&]<typename T>() {
      Dims index = Dims::Filled(sizes.size(), 0);
      for (int64_t i = 0; i < Product(sizes); ++i, Advance(sizes, index)) {
        largest =
            std::max(largest, std::abs(AsDouble(view.elements<T>()[OffsetOf(view.layout, index)])));
      }
    });
    return largest;
  }

  // Returns whether a function is applied to a scaled value with a bias, or a gate to a sum, of
  // whose magnitudes it says nothing.
  bool HasMixedSum() const {
    return IsNetwork(op_) || (IsElementWise() && character_.has_mixed_sum);
  }

  // Returns whether a run on magnitudes is not worth the time that it takes to tell that there is
  // none, as is mostly so where sums are in functions.
  bool IsLongFunction() const { return character_.has_function && is_long_; }

  // Returns whether products are multiplied by numbers, before which they may leave the range of
  // the type.
  bool IsWeighted() const {
    return HasCoordinates() || (character_.is_polynomial && character_.has_weights);
  }

  // S is the magnitude of the result.
  void TakeResults() {
    const Dims& sizes = exact_.layout.sizes;
    Dims index = Dims::Filled(sizes.size(), 0);
    VisitDataType(Join<TypeList<double>, Floats>(), exact_.type, [&]<typename T>() {
      for (int64_t i = 0; i < Product(sizes); ++i, Advance(sizes, index)) {
        const double r = AsDouble(exact_.elements<T>()[OffsetOf(exact_.layout, index)]);
        units_.scale.push_back(std::abs(r));
      }
    });
  }

  void MeasureByRun(const MagnitudeRun& run) {
    units_.scale = run.Sizes();
    AddCoordinates();
    std::vector<double> factors = run.Ones(/*factors=*/true);
    CountTerms(run.has_parameters() ? run.Ones(/*factors=*/false) : factors);
    units_.unscaled = run.UnscaledSizes();
    const bool has_unscaled = !units_.unscaled.empty();
    // Products below the normal range are off by u * m each, which factors multiply.
    for (size_t i = 0; i < factors.size(); ++i) {
      const double part = factors[i] / static_cast<double>(units_.TermsOf(static_cast<int64_t>(i)));
      if (part > 1) units_.scale[i] += units_.least * (part - 1);
      if (has_unscaled) continue;
      units_.unscaled.push_back(0 < part && part < 1 ? units_.scale[i] / part : units_.scale[i]);
      // The size of a mean of two is that of their sum.
      if (IsElementWise() && !run.has_parameters()) units_.scale[i] = units_.unscaled.back();
    }
  }

  // A device may multiply scales first, whose product may be below the normal range, or multiply by
  // the largest one first, beyond the type.
  void AllowOrdersOfScales(const std::vector<double>& before) {
    for (size_t i = 0; i < before.size(); ++i) {
      units_.scale[i] += units_.least * std::min(before[i], FormOf(units_.unit_type).Most());
    }
    units_.unscaled = before;
  }

  // Returns whether weights come from coordinates, which a device rounds, too.
  bool HasCoordinates() const {
    const auto* computed = std::get_if<Computed>(&op_.info().family);
    return computed != nullptr &&
           ((character_.has_weights && computed->weights != nullptr) || SamplesRegions(op_));
  }

  void AddCoordinates() {
    const Dims& sizes = exact_.layout.sizes;
    if (SamplesRegions(op_)) {
      AddRegionSizes(op_, inputs_, output_, sizes, sample_, units_.scale);
    } else if (HasCoordinates()) {
      AddCoordinateSizes(op_, inputs_, sizes, units_.scale);
    }
  }

  // --- terms -------------------------------------------------------------------------------------

  void CountTermsOfSample() {
    for (const Dims& element : sample_) {
      Formula formula(inputs_);
      const auto last = FormulaOf(op_, RegionAt(element), formula);
      terms_.push_back(last ? TermsAt(formula, *last) : 1);
    }
  }

  // A sum of ones is the number of its terms, unless it is divided.
  void CountTerms(const std::vector<double>& sums_of_ones) {
    CountTermsOfSample();
    const bool are_equal = std::ranges::all_of(terms_, [&](int64_t n) { return n == terms_[0]; });
    // The number does not matter where nothing is rounded.
    if (!character_.rounds || (are_equal && IsUniform())) {
      units_.terms = {std::ranges::max(terms_)};
    } else if (!TakeIfRight(Whole(sums_of_ones)) && !TakeIfRight(CountedByTaps()) &&
               !TakeIfRight(CountedInOneChannel()) &&
               !TakeIfRight(
                   CountedBySources([](const Region& source) { return source.count(); }))) {
      units_.terms = EvaluateSizes(op_, inputs_, exact_.layout.sizes, output_).terms;
    }
  }

  static std::vector<int64_t> Whole(const std::vector<double>& numbers) {
    std::vector<int64_t> whole;
    for (const double x : numbers) whole.push_back(std::max<int64_t>(1, std::llround(x)));
    return whole;
  }

  // Returns whether all elements have equally many terms because of what the operator is.
  bool IsUniform() const {
    const Computed* computed = ComputedOnParts(op_);
    return IsElementWise() || std::holds_alternative<Reduction>(op_.info().family) ||
           (computed != nullptr && computed->unsplittable_dims == nullptr);
  }

  // Weighted sums have the products of the taps of all dimensions.
  std::vector<int64_t> CountedByTaps() const {
    std::vector<int64_t> terms;
    const auto* computed = std::get_if<Computed>(&op_.info().family);
    if (computed == nullptr || computed->weights == nullptr) return terms;
    const WeightedSource source = computed->weights(op_, inputs_[0]);
    const Dims& sizes = exact_.layout.sizes;
    Dims index = Dims::Filled(sizes.size(), 0);
    for (int64_t i = 0; i < Product(sizes); ++i, Advance(sizes, index)) {
      int64_t taps = 1;
      for (size_t d = 0; d < index.size(); ++d) taps *= source.axes[d]->Count(index[d]);
      terms.push_back(std::max<int64_t>(1, taps));
    }
    return terms;
  }

  // Samples of regions lie at the same places in all channels.
  std::vector<int64_t> CountedInOneChannel() const {
    constexpr size_t kRank = 4, kChannels = 1;
    const Dims& sizes = exact_.layout.sizes;
    if (!SamplesRegions(op_) || sizes.size() != kRank) return {};
    OperatorDesc op = op_;
    std::vector<ConstTensorView> inputs(inputs_.begin(), inputs_.end());
    for (ConstTensorView& input : inputs) {
      if (input.layout.rank() == kRank) input = input.Slice(kChannels, 0, 1);
    }
    for (const MutableTensorSlot& slot : TensorSlots(op)) {
      if (slot.desc->sizes->size() != kRank) continue;
      (*slot.desc->sizes)[kChannels] = 1;
      slot.desc->strides.reset();
    }
    Dims one = sizes;
    one[kChannels] = 1;
    const std::vector<int64_t> of_one = EvaluateSizes(op, inputs, one, output_).terms;
    const Layout numbers{sizes, *BroadcastStrides(PackedLayout(one), sizes)};
    std::vector<int64_t> terms;
    Dims index = Dims::Filled(sizes.size(), 0);
    for (int64_t i = 0; i < Product(sizes); ++i, Advance(sizes, index)) {
      terms.push_back(of_one[static_cast<size_t>(OffsetOf(numbers, index))]);
    }
    return terms;
  }

  // A number of the part of the first input that each element needs.
  template <typename NumberOf>
  std::vector<int64_t> CountedBySources(NumberOf&& number_of) const {
    constexpr int64_t kGrain = 1024;
    const std::vector<SourceMap> sources = SourcesOf(op_);
    if (sources.empty()) return {};
    const Dims& sizes = exact_.layout.sizes;
    std::vector<int64_t> terms(static_cast<size_t>(Product(sizes)), 1);
    ParallelFor(std::ssize(terms), kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
      Dims index = IndexOf(sizes, begin);
      for (int64_t i = begin; i < end; ++i, Advance(sizes, index)) {
        const auto source = sources[0](RegionAt(index));
        if (source) terms[static_cast<size_t>(i)] = std::max<int64_t>(1, number_of(*source));
      }
    });
    return terms;
  }

  // The sums may all have a number of terms more, such as an addend.
  bool TakeIfRight(std::vector<int64_t> terms) {
    if (terms.empty()) return false;
    const Layout numbers = PackedLayout(exact_.layout.sizes);
    const auto more = [&](size_t i) {
      return terms_[i] - terms[static_cast<size_t>(OffsetOf(numbers, sample_[i]))];
    };
    const int64_t addends = more(0);
    for (size_t i = 1; i < sample_.size(); ++i) {
      if (more(i) != addends) return false;
    }
    for (int64_t& count : terms) count += addends;
    units_.terms = std::move(terms);
    return true;
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  const ConstTensorView exact_;
  const size_t output_;
  std::vector<Dims> sample_;
  std::vector<int64_t> terms_;  // of the sample, once they are counted
  FormulaCharacter character_;
  bool is_long_ = false;  // a formula of the sample
  ErrorUnits units_;
};

}  // namespace

std::optional<ErrorUnits> ErrorUnitsOf(const OperatorDesc& op, InputViews inputs,
                                       const ConstTensorView& exact_output, size_t output) {
  if (!IsFloat(exact_output.type)) return std::nullopt;
  const bool is_activated = FusedActivationOf(op) != nullptr && output == 0;
  std::optional<ErrorUnits> units = is_activated ? ActivatedUnitsOf(op, inputs, exact_output)
                                                 : OwnUnitsOf(op, inputs, exact_output, output);
  if (units) units->infinite = EvaluateInfiniteResults(op, inputs, exact_output, output);
  return units;
}

std::optional<ErrorUnits> OwnUnitsOf(const OperatorDesc& op, InputViews inputs,
                                     const ConstTensorView& exact_output, size_t output) {
  return UnitsOfOutput(op, inputs, exact_output, output).Result();
}

int64_t ErrorUnits::TermsOf(int64_t element) const {
  return terms.size() == 1 ? terms[0] : terms[static_cast<size_t>(element)];
}

// A sum of n products is within n units of the exact one, in whatever order it is added up, because
// a device rounds each product, unless it is fused, and n - 1 sums. For sums of n terms the errors
// of any order add up to (n - 1) u S, without terms of second order (Jeannerod and Rump, "Improved
// error bounds for inner products in floating-point arithmetic", 2013), and to n u S with rounded
// products. A product below the normal range is off by u m instead. The last rounding does not
// count, as half an ulp of the actual value is excused; so one more factor (Alpha, or the
// reciprocal of a count) or one more addend (Beta C, a bias, itself a product) fits within n, which
// counts the addend. The exact result is within the other half ulp of r. S is rounded, too, and a
// factor after the sum has a term of second order: both are below (n + 1) u of the bound.
double ErrorUnits::AllowedSums(int64_t element, DataType sums) const {
  const auto n = static_cast<double>(TermsOf(element));
  const double size = scale[static_cast<size_t>(element)];
  double allowed = bound == Bound::kExact ? 0 : n * (1 + (n + 1) * FormOf(unit_type).Roundoff());
  if (bound == Bound::kOneValue) allowed = std::max(n, 4.0);
  if (bound == Bound::kGenerous) {
    const int64_t so_far = steps.empty() ? 1 : steps[static_cast<size_t>(element)];
    allowed = (n + 8) * static_cast<double>(so_far) *
              (has_logarithm && !std::isnan(size) ? 1 + 1 / (size + least) : 1);
  }
  if (sums == DataType::kUnknown || sums == unit_type || std::isinf(size)) return allowed;
  const FloatForm of_sums = FormOf(sums), own = FormOf(unit_type);
  return allowed * (of_sums.Roundoff() / own.Roundoff()) *
         ((size + of_sums.Least()) / (size + own.Least()));
}

bool ErrorUnits::MayOverflow(int64_t element, DataType sums) const {
  const auto i = static_cast<size_t>(element);
  const DataType type = sums == DataType::kUnknown ? unit_type : sums;
  if (!has_orders && InfiniteAt(element) != nullptr) return false;
  return std::max(scale[i], unscaled.empty() ? 0 : unscaled[i]) > FormOf(type).Most();
}

const InfiniteResult* ErrorUnits::InfiniteAt(int64_t element) const {
  const auto found = std::ranges::lower_bound(infinite, element, {}, &InfiniteResult::element);
  return found != infinite.end() && found->element == element ? &*found : nullptr;
}

bool ErrorUnits::MayBeAnything(int64_t element) const {
  const auto i = static_cast<size_t>(element);
  return scale[i] == kUnboundedSize || (!rounded_before.empty() && std::isinf(rounded_before[i]));
}

double ErrorUnits::UnitsOf(int64_t element, double actual, double expected,
                           DataType actual_type) const {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  if (MayBeAnything(element)) return 0;
  if (!std::isfinite(actual) && MayOverflow(element)) return 0;
  if (std::isnan(actual) || std::isnan(expected)) return kInfinity;
  const FloatForm actual_form = in_bfloat16 ? kFormOfBfloat16 : FormOf(actual_type);
  const FloatForm expected_form = in_bfloat16 ? kFormOfBfloat16 : FormOf(output_type);
  const InfiniteResult* const infinite_result =
      std::isinf(expected) ? InfiniteAt(element) : nullptr;
  const double a = actual_form.Finite(actual);
  const double r =
      infinite_result != nullptr ? infinite_result->value : expected_form.Finite(expected);
  if (std::isinf(r)) return kInfinity;
  const double nearest = std::clamp(r, -expected_form.Most(), expected_form.Most());
  const double before = rounded_before.empty() ? 0 : rounded_before[static_cast<size_t>(element)];
  const double excused = (actual_form.Ulp(a) + expected_form.Ulp(nearest)) / 2 + before;
  const double error = std::max(0.0, std::abs(a - r) - excused);
  const double size =
      infinite_result != nullptr ? infinite_result->size : scale[static_cast<size_t>(element)];
  const FloatForm unit_form = in_bfloat16 ? kFormOfBfloat16 : FormOf(unit_type);
  return error == 0 ? 0 : error / (size + least) / unit_form.Roundoff();
}

}  // namespace dmlop
