// SPDX-License-Identifier: Apache-2.0
#include "core/judge/units.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/judge/formula_character.h"
#include "core/judge/magnitude_run.h"
#include "core/judge/size_evaluation.h"
#include "core/ops/formula.h"
#include "core/ops/fused.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Node = Formula::Node;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- float types ---------------------------------------------------------------------------------

// Numbers of a float type have `digits` binary digits, and exponents as frexp has them.
struct FloatForm {
  int digits;
  int least_exponent;  // of normal numbers
  int most_exponent;

  double Least() const { return std::ldexp(0.5, least_exponent); }
  double Most() const { return std::ldexp(1 - std::ldexp(1, -digits), most_exponent); }
  double Roundoff() const { return std::ldexp(1, -digits); }
  // The distance to the next number.
  double Ulp(double x) const {
    int exponent = least_exponent;
    if (x != 0) std::frexp(x, &exponent);
    return std::ldexp(1, std::max(exponent, least_exponent) - digits);
  }
  // An infinity is as far from numbers as the one that would come next.
  double Finite(double x) const {
    return std::isinf(x) ? std::copysign(std::ldexp(1, most_exponent), x) : x;
  }
};

FloatForm FormOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {11, -13, 16};
    case DataType::kFloat64:
      return {53, -1021, 1024};
    default:
      return {24, -125, 128};
  }
}

// --- elements to look at -------------------------------------------------------------------------

// Corners, the middle, and some that are spread over the output.
std::vector<Dims> SampleOf(const Dims& sizes) {
  constexpr int64_t kSpread = 11;
  const int64_t count = Product(sizes);
  std::vector<int64_t> numbers = {0, count / 2, count - 1};
  for (int64_t k = 1; k < kSpread; ++k) numbers.push_back(count * k / kSpread);
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
  std::vector<Dims> elements;
  for (const int64_t number : numbers) elements.push_back(IndexOf(sizes, number));
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
        sample_(SampleOf(exact.layout.sizes)) {}

  std::optional<ErrorUnits> Result() {
    if (!LookAtSample()) return std::nullopt;
    units_.unit_type = exact_.type == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
    units_.output_type = exact_.type;
    units_.least = FormOf(units_.unit_type).Least();
    units_.bound = BoundOf();
    units_.has_logarithm = character_.has_logarithm;
    Measure();
    return std::move(units_);
  }

 private:
  // False if there is no formula.
  bool LookAtSample() {
    const std::vector<int> unknown(inputs_.size(), 0);
    for (const Dims& element : sample_) {
      Formula formula(inputs_);
      const auto last = FormulaOf(op_, RegionAt(element), formula);
      if (!last) return false;
      Add(CharacterOf(formula, *last, unknown));
      terms_.push_back(TermsAt(formula, *last));
    }
    return true;
  }

  Region RegionAt(const Dims& element) const {
    return {output_, element, Dims::Filled(element.size(), 1)};
  }

  void Add(const FormulaCharacter& one) {
    character_.is_of_one_sign &= one.is_of_one_sign;
    character_.is_polynomial &= one.is_polynomial;
    character_.is_linear &= one.is_linear;
    character_.has_list |= one.has_list;
    character_.has_function |= one.has_function;
    character_.has_logarithm |= one.has_logarithm;
  }

  bool IsElementWise() const { return std::holds_alternative<ElementWise>(op_.info().family); }

  ErrorUnits::Bound BoundOf() const {
    if (character_.is_polynomial) return ErrorUnits::Bound::kProved;
    return IsElementWise() || !character_.has_function ? ErrorUnits::Bound::kOneValue
                                                       : ErrorUnits::Bound::kGenerous;
  }

  void Measure() {
    if (character_.is_of_one_sign) {
      TakeResults();
      return CountTerms({});
    }
    const MagnitudeRun run(op_, inputs_, output_, sample_);
    if (run.is_possible()) return MeasureByRun(run);
    SizesAndTerms found = EvaluateSizes(op_, inputs_, exact_.layout.sizes, output_);
    units_.scale = std::move(found.sizes);
    units_.terms = std::move(found.terms);
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
    std::vector<double> factors = run.Ones(/*factors=*/true);
    CountTerms(run.has_parameters() ? run.Ones(/*factors=*/false) : factors);
    // Products below the normal range are off by u * m each, which factors multiply.
    for (size_t i = 0; i < factors.size(); ++i) {
      const double part = factors[i] / static_cast<double>(units_.TermsOf(static_cast<int64_t>(i)));
      if (part > 1) units_.scale[i] += units_.least * (part - 1);
      units_.undivided.push_back(part < 1 ? static_cast<float>(1 / part) : 1);
    }
  }

  // --- terms -------------------------------------------------------------------------------------

  // A sum of ones is the number of its terms, unless it is divided.
  void CountTerms(const std::vector<double>& sums_of_ones) {
    const bool are_equal = std::ranges::all_of(terms_, [&](int64_t n) { return n == terms_[0]; });
    if (are_equal && IsUniform()) {
      units_.terms = {terms_[0]};
    } else if (!TakeIfRight(Whole(sums_of_ones)) && !TakeIfRight(CountedBySources())) {
      units_.terms = EvaluateSizes(op_, inputs_, exact_.layout.sizes, output_).terms;
    }
  }

  static std::vector<int64_t> Whole(const std::vector<double>& numbers) {
    std::vector<int64_t> whole;
    for (const double x : numbers) whole.push_back(std::max<int64_t>(1, std::llround(x)));
    return whole;
  }

  // Whether all elements have equally many terms because of what the operator is.
  bool IsUniform() const {
    const Computed* computed = ComputedOnParts(op_);
    return IsElementWise() || std::holds_alternative<Reduction>(op_.info().family) ||
           (computed != nullptr && computed->unsplittable_dims == nullptr);
  }

  // Where each element of a part of the first input is a term.
  std::vector<int64_t> CountedBySources() const {
    std::vector<int64_t> terms;
    const std::vector<SourceMap> sources = SourcesOf(op_);
    if (sources.empty()) return terms;
    const Dims& sizes = exact_.layout.sizes;
    Dims index = Dims::Filled(sizes.size(), 0);
    for (int64_t i = 0; i < Product(sizes); ++i, Advance(sizes, index)) {
      const auto source = sources[0](RegionAt(index));
      terms.push_back(source ? std::max<int64_t>(1, source->count()) : 1);
    }
    return terms;
  }

  bool TakeIfRight(std::vector<int64_t> terms) {
    if (terms.empty()) return false;
    const Layout numbers = PackedLayout(exact_.layout.sizes);
    for (size_t i = 0; i < sample_.size(); ++i) {
      if (terms[static_cast<size_t>(OffsetOf(numbers, sample_[i]))] != terms_[i]) return false;
    }
    units_.terms = std::move(terms);
    return true;
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  const ConstTensorView& exact_;
  const size_t output_;
  const std::vector<Dims> sample_;
  std::vector<int64_t> terms_;  // of the sample
  FormulaCharacter character_;
  ErrorUnits units_;
};

}  // namespace

std::optional<ErrorUnits> ErrorUnitsOf(const OperatorDesc& op, InputViews inputs,
                                       const ConstTensorView& exact_output, size_t output) {
  if (!IsFloat(exact_output.type)) return std::nullopt;
  return UnitsOfOutput(op, inputs, exact_output, output).Result();
}

int64_t ErrorUnits::TermsOf(int64_t element) const {
  return terms.size() == 1 ? terms[0] : terms[static_cast<size_t>(element)];
}

std::optional<double> ErrorUnits::AllowedSums(int64_t element) const {
  const auto n = static_cast<double>(TermsOf(element));
  switch (bound) {
    case Bound::kProved:
      return n;
    case Bound::kOneValue:
      return std::max(n, 4.0);
    default:
      break;
  }
  const double size = scale[static_cast<size_t>(element)] + least;
  return (n + 8) * (has_logarithm ? 1 + 1 / size : 1);
}

bool ErrorUnits::MayOverflow(int64_t element) const {
  const auto i = static_cast<size_t>(element);
  const double part = undivided.empty() ? 1 : double{undivided[i]};
  return bound == Bound::kProved && scale[i] * part > FormOf(unit_type).Most();
}

double ErrorUnits::UnitsOf(int64_t element, double actual, double expected,
                           DataType actual_type) const {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  if (!std::isfinite(actual) && std::isfinite(expected) && MayOverflow(element)) return 0;
  if (std::isnan(actual) || std::isnan(expected)) return kInfinity;
  const FloatForm actual_form = FormOf(actual_type), expected_form = FormOf(output_type);
  const double a = actual_form.Finite(actual), r = expected_form.Finite(expected);
  const double excused = (actual_form.Ulp(a) + expected_form.Ulp(r)) / 2;
  const double error = std::max(0.0, std::abs(a - r) - excused);
  const double size = scale[static_cast<size_t>(element)] + least;
  return error == 0 ? 0 : error / size / FormOf(unit_type).Roundoff();
}

}  // namespace dmlop
