// SPDX-License-Identifier: Apache-2.0
// Tells by the formula of an operator which variations can make a difference to it.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/float_format.h"
#include "core/arithmetic/formula_numbers.h"
#include "core/arithmetic/sum_orders.h"
#include "core/arithmetic/varied_values.h"
#include "core/ops/fused.h"

namespace dmlop {
namespace {

using Kind = ArithmeticKind;
using Operation = FormulaOperation;

// The parts that a formula has.
struct Features {
  size_t most_terms = 0;            // of a sum of numbers that are not whole
  bool has_many_sums = false;       // of which each depends on others, in a long formula
  int roundings = 0;                // of what is not whole
  bool has_long_constants = false;  // fractions that FLOAT16 has not
  bool has_scaled_quotient = false;
  bool has_computed_factors = false;
  bool has_addend = false;
  bool has_comparisons = false;
  bool has_extreme_of_list = false;
  bool has_places = false;
  bool has_clamps = false;
  bool has_wraps = false;
  bool has_whole_roundings = false;  // to the nearest whole number
  bool has_functions = false;
  bool has_integer_differences = false;
  bool has_sums_of_integers = false;    // of elements, in no type yet
  bool has_integer_arithmetic = false;  // and nothing that is rounded
  bool has_integer_sums = false;
};

bool IsInexactFunction(const Formula& formula, FormulaNode node) {
  switch (formula.operation(node)) {
    case Operation::kElementWise:
      return IsApproximated(formula.function(node));
    case Operation::kPower:
    case Operation::kExponential:
    case Operation::kLogarithm:
      return true;
    default:
      return false;
  }
}

// A device may round the product before the sum, or fuse them.
bool IsScaledWithAddend(const Formula& formula, FormulaNode node) {
  const auto is_product = [&](FormulaNode term) {
    return formula.operation(term) == Operation::kProduct;
  };
  return formula.operation(node) == Operation::kSum &&
         std::ranges::any_of(formula.operands(node), is_product);
}

bool IsFunction(const Formula& formula, FormulaNode node) {
  switch (formula.operation(node)) {
    case Operation::kQuotient:
    case Operation::kQuotientOrDividend:
    case Operation::kSquareRoot:
      return true;
    default:
      return IsInexactFunction(formula, node);
  }
}

bool IsOfIntegers(const Formula& formula, FormulaNode node) {
  return std::ranges::all_of(formula.operands(node), [&](FormulaNode operand) {
    return formula.operation(operand) == Operation::kElement &&
           !IsFloat(formula.inputs()[formula.tensor(operand)].type);
  });
}

bool IsArithmetic(Operation operation) {
  return operation == Operation::kSum || operation == Operation::kProduct ||
         operation == Operation::kDifference;
}

bool IsLongConstant(const Formula& formula, FormulaNode node) {
  if (formula_numbers::IsRootOfNumber(formula, node)) return true;
  if (formula.operation(node) != Operation::kNumber) return false;
  const double number = formula.number(node);
  return std::trunc(number) != number && FloatRounding(FloatFormat::kFloat16)(number) != number;
}

size_t MostTermsOf(const ElementFormula& element) {
  size_t most = 0;
  for (const FormulaNode sum : element.sums()) {
    most = std::max(most, element.formula().operands(sum).size());
  }
  return most;
}

// Returns how often an element is rounded if each operation is: products are of one factor after
// another. Sums are told by their terms.
int RoundingsOf(const ElementFormula& element) {
  int roundings = 0;
  for (FormulaNode node = 0; node <= element.last(); ++node) {
    if (!element.IsRounded(node)) continue;
    const bool is_product = element.formula().operation(node) == Operation::kProduct;
    const auto factors = static_cast<int>(element.formula().operands(node).size());
    roundings += is_product ? std::max(factors - 1, 1) : 1;
  }
  return roundings;
}

// Returns whether the result is an element of an input whose type has numbers that the output's
// lacks.
bool IsRoundedElement(const ElementFormula& element, DataType type) {
  const Formula& formula = element.formula();
  if (formula.operation(element.last()) != Operation::kElement) return false;
  const DataType own = formula.inputs()[formula.tensor(element.last())].type;
  const unsigned bits = BitWidth(own), of_result = BitWidth(type);
  return bits > of_result || (bits == of_result && !IsFloat(own));
}

// Returns whether a sum may have more terms elsewhere: it has so few here that windows may pass by.
bool HasShortSum(const ElementFormula& element) {
  const Formula& formula = element.formula();
  for (FormulaNode node = 0; node <= element.last(); ++node) {
    const bool is_sum = formula.operation(node) == Operation::kSum && formula.HasList(node);
    if (is_sum && formula.operands(node).size() < 2) return true;
  }
  return false;
}

// The first and the last element, one of which has the most terms or factors where an output
// accumulates; none where the middle one has so many that a few more make no difference. Where it
// has fewer than two, its neighbours may have more.
std::vector<Region> OthersThan(const Region& middle, const OperatorDesc& op,
                               const ElementFormula& of_middle) {
  constexpr FormulaNode kMany = 1 << 16;
  constexpr int64_t kNeighbours = 3;
  if (of_middle.last() > kMany) return {};
  std::vector<Region> others(HasShortSum(of_middle) ? 2 + kNeighbours : 2, middle);
  const TensorDesc& desc = *TensorSlots(op, TensorRole::kOutput)[middle.tensor].desc;
  for (size_t d = 0; d < middle.begin.size(); ++d) {
    const int64_t last = (*desc.sizes)[d] - 1;
    others[0].begin[d] = 0;
    others[1].begin[d] = last;
    for (size_t i = 2; i < others.size(); ++i) {
      others[i].begin[d] = std::min(middle.begin[d] + static_cast<int64_t>(i) - 1, last);
    }
  }
  return others;
}

// Returns the most terms that the sum of elements that others choose may have: all those that could
// be chosen.
size_t MostChosenOf(const OperatorDesc& op, const ElementFormula& element) {
  if (!op.info().reads_by_index || !HasShortSum(element)) return 0;
  const Formula& formula = element.formula();
  size_t most = 0;
  for (FormulaNode node = 0; node <= element.last(); ++node) {
    const bool is_element = formula.operation(node) == Operation::kElement;
    most += is_element && IsFloat(formula.inputs()[formula.tensor(node)].type) ? 1 : 0;
  }
  return most;
}

Features FeaturesOf(const ElementFormula& element) {
  const Formula& formula = element.formula();
  Features features;
  features.most_terms = MostTermsOf(element);
  features.roundings = RoundingsOf(element);
  constexpr FormulaNode kLong = 4096;
  features.has_many_sums = element.sums().size() > 1 && element.last() > kLong;
  features.has_scaled_quotient = element.HasScaledQuotient();
  constexpr int64_t kTooLong = int64_t{1} << 17;
  features.has_computed_factors = formula.WholeSize() < kTooLong && element.HasComputedFactors();
  features.has_addend =
      element.WithRoundedProduct(FloatRounding(FloatFormat::kFloat32)).has_value();
  for (FormulaNode node = 0; node <= element.last(); ++node) {
    const Operation operation = formula.operation(node);
    const bool is_extreme = operation == Operation::kMaximum || operation == Operation::kMinimum;
    features.has_long_constants |= IsLongConstant(formula, node);
    features.has_comparisons |= is_extreme || IsChoice(operation) || GivesPlace(operation);
    features.has_extreme_of_list |= is_extreme && formula.HasList(node);
    features.has_places |= GivesPlace(operation);
    features.has_clamps |= operation == Operation::kClamp;
    features.has_wraps |= operation == Operation::kWrap;
    features.has_whole_roundings |= operation == Operation::kRound;
    features.has_functions |= IsFunction(formula, node);
    const bool is_of_integers = IsArithmetic(operation) && IsOfIntegers(formula, node);
    features.has_integer_differences |= operation == Operation::kDifference && is_of_integers;
    features.has_sums_of_integers |= operation == Operation::kSum && is_of_integers;
    features.has_integer_arithmetic |= IsArithmetic(operation) && element.HasOnlyIntegers();
    features.has_integer_sums |=
        operation == Operation::kSum && formula.HasList(node) && !element.IsRounded(node);
  }
  return features;
}

// Returns whether the first output is a maximum, whose places others have.
bool IsMaximum(const OperatorDesc& op, InputViews inputs) {
  const auto formula = ElementFormula::Of(op, inputs, MiddleOf(op, 0), Formula::kAbridged);
  return formula && formula->formula().operation(formula->last()) == Operation::kMaximum;
}

class Relevance {
 public:
  Relevance(const OperatorDesc& op, InputViews inputs, size_t output)
      : op_(op),
        inputs_(inputs),
        has_places_of_maxima_(output > 0 && IsMaximum(op, inputs)),
        chooses_first_(ChoosesFirstOfEquals(op)),
        type_(*TensorSlots(op, TensorRole::kOutput)[output].desc->data_type),
        factors_(FactorsOf(op, inputs, output)) {
    Region middle = MiddleOf(op, output);
    if (IsNetwork(op)) middle = InLongItem(op, inputs, std::move(middle));
    const auto formula = ElementFormula::Of(op, inputs, middle, Formula::kAbridged);
    has_formula_ = formula != nullptr;
    if (!has_formula_) return;
    features_ = FeaturesOf(*formula);
    is_rounded_element_ = IsRoundedElement(*formula, type_);
    for (const Region& other : OthersThan(middle, op, *formula)) {
      const auto there = ElementFormula::Of(op, inputs, other, Formula::kAbridged);
      if (!there) continue;
      features_.most_terms = std::max(features_.most_terms, MostTermsOf(*there));
      features_.roundings = std::max(features_.roundings, RoundingsOf(*there));
    }
    if (const size_t chosen = MostChosenOf(op, *formula); chosen > 1) {
      features_.most_terms = std::max(features_.most_terms, chosen);
      features_.roundings = std::max(features_.roundings, 1);
    }
  }

  bool Has(const ArithmeticVariation& v) const {
    switch (v.kind) {
      case Kind::kInputs:
        return has_formula_ && HasInputs(v);
      case Kind::kSums:
        return HasSums(v);
      case Kind::kProductRounded:
        return features_.has_addend &&
               (v.format != FloatFormat::kBfloat16 || type_ == DataType::kFloat32);
      case Kind::kSteps:
        return HasSteps(v);
      case Kind::kThrough:
        return IsFloat(type_) ? IsThrough(v.format)
                              : ConvertsThrough(op_, v.format) || LacksIntegers(v.format);
      case Kind::kTowardZero:
        return IsFloat(type_) ? v.cut_off == CutOff::kQuotient &&
                                    (features_.roundings > 0 || is_rounded_element_)
                              : features_.has_whole_roundings;
      case Kind::kFlushSubnormals:
        return IsFlushed(v.flushed);
      case Kind::kNanPasses:
        return features_.has_comparisons || SelectsInOrder(op_);
      case Kind::kStartsAtZero:
        return features_.has_extreme_of_list;
      case Kind::kLastOfEquals:
        return features_.has_places || has_places_of_maxima_ || chooses_first_;
      case Kind::kFastFunctions:
        return features_.has_functions;
      case Kind::kSaturated:
        return v.wrapped == WrappedPart::kResults
                   ? features_.has_wraps || (IsFloat(type_) && has_formula_)
                   : features_.has_integer_sums;
      default:
        return IsWrapped(v.wrapped);
    }
  }

 private:
  // If each order takes a computation of its own, only some orders are tried.
  bool HasSums(const ArithmeticVariation& v) const {
    const bool has_addend = v.addend == AddendOrder::kExactly || features_.has_addend;
    if (!has_addend || !HasTermOrder(op_, v.terms)) return false;
    if (features_.most_terms < 2 || static_cast<int>(features_.most_terms) <= v.count) return false;
    return !features_.has_many_sums || v.count == 0;
  }

  // Returns whether the output may have integers that the format lacks.
  bool LacksIntegers(FloatFormat format) const {
    constexpr unsigned kDigits = 24;
    return format == FloatFormat::kFloat32 && !IsFloat(type_) && BitWidth(type_) > kDigits;
  }

  bool HasSteps(const ArithmeticVariation& v) const {
    constexpr size_t kFewestTerms = 3;  // whose sum takes more than one step
    const int least = v.divides_first ? 1 : 2;
    if (features_.has_integer_arithmetic && LacksIntegers(v.format)) {
      return !v.rounds_constants && !v.has_whole_sums && !v.divides_first;
    }
    return features_.roundings >= least && (!v.rounds_constants || features_.has_long_constants) &&
           (!v.has_whole_sums || features_.most_terms >= kFewestTerms) &&
           (!v.divides_first || features_.has_scaled_quotient);
  }

  bool IsThrough(FloatFormat format) const {
    if (format == FloatFormat::kFloat16) return type_ != DataType::kFloat16;
    return type_ == DataType::kFloat64 || (type_ == DataType::kFloat16 && has_formula_);
  }

  bool IsWrapped(WrappedPart part) const {
    switch (part) {
      case WrappedPart::kDifferences:
        return features_.has_integer_differences;
      case WrappedPart::kSums:
        return features_.has_sums_of_integers && !features_.has_wraps;
      case WrappedPart::kSumsInInt16:
        return features_.has_integer_sums;
      default:
        return features_.has_clamps;
    }
  }

  bool IsFlushed(FlushedPart part) const {
    const bool has_inputs =
        std::ranges::any_of(inputs_, [](const auto& input) { return IsFloat(input.type); });
    if (part == FlushedPart::kOutputs) return IsFloat(type_);
    return has_inputs && (part == FlushedPart::kInputs || IsFloat(type_));
  }

  // Returns whether an input that is rounded has more digits than the format, and is not the same
  // as where only factors are rounded.
  bool HasInputs(const ArithmeticVariation& v) const {
    if (v.inputs == RoundedInputs::kWithComputed) return HasComputedIn(v.format);
    const std::vector<bool> changed = ChangedBy(v.inputs, v.format);
    return std::ranges::find(changed, true) != changed.end() &&
           (v.inputs == RoundedInputs::kFactors ||
            changed != ChangedBy(RoundedInputs::kFactors, v.format));
  }

  // Results computed from FLOAT16 are rounded to that again, if at all, and not to TF32.
  bool HasComputedIn(FloatFormat format) const {
    const std::vector<bool> changed = ChangedBy(RoundedInputs::kFactors, format);
    return features_.has_computed_factors &&
           (format != FloatFormat::kTf32 || std::ranges::find(changed, true) != changed.end());
  }

  std::vector<bool> ChangedBy(RoundedInputs which, FloatFormat format) const {
    std::vector<bool> changed = RoundedOf(op_, inputs_, which, factors_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool has_more =
          format == FloatFormat::kBfloat16 || inputs_[i].type != DataType::kFloat16;
      changed[i] = changed[i] && has_more;
    }
    return changed;
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  bool has_places_of_maxima_;
  bool chooses_first_;
  DataType type_;
  std::vector<bool> factors_;
  Features features_;
  bool has_formula_ = false;
  bool is_rounded_element_ = false;
};

// The variations that concern an operator's own result.
std::vector<ArithmeticVariation> OwnVariationsOf(const OperatorDesc& op, InputViews inputs,
                                                 size_t output) {
  const Relevance relevance(op, inputs, output);
  std::vector<ArithmeticVariation> relevant;
  std::ranges::copy_if(AllArithmeticVariations(), std::back_inserter(relevant),
                       [&](const ArithmeticVariation& v) { return relevance.Has(v); });
  return relevant;
}

// Returns the variations that concern the activation of results, whose values do not matter.
std::vector<ArithmeticVariation> ActivationVariationsOf(const OperatorDesc& activation) {
  const ElementBytes zero{};
  const TensorDesc& desc = *TensorSlots(activation, TensorRole::kOutput)[0].desc;
  const Layout layout{{desc.sizes->begin(), desc.sizes->end()},
                      Dims::Filled(desc.sizes->size(), 0)};
  const ConstTensorView input{zero.data(), *desc.data_type, layout};
  std::vector<ArithmeticVariation> relevant = OwnVariationsOf(activation, {&input, 1}, 0);
  std::erase_if(relevant, [](const ArithmeticVariation& v) { return IsOfOwnResult(v.kind); });
  return relevant;
}

}  // namespace

bool IsChainOfExactSteps(const OperatorDesc& op, InputViews inputs, size_t output) {
  if (!std::holds_alternative<ElementWise>(op.info().family)) return false;
  const auto formula = ElementFormula::Of(op, inputs, MiddleOf(op, output));
  if (!formula) return false;
  for (FormulaNode node = 0; node <= formula->last(); ++node) {
    if (IsFunction(formula->formula(), node)) return false;
    if (IsScaledWithAddend(formula->formula(), node)) return false;
  }
  return true;
}

int64_t FormulaWork(const OperatorDesc& op, InputViews inputs, size_t output) {
  constexpr int64_t kFunction = 8;
  const OperatorDesc own = FusedActivationOf(op) == nullptr ? op : WithoutActivation(op);
  Formula formula(inputs, Formula::kAbridged);
  const auto last = FormulaOf(own, MiddleOf(own, output), formula);
  if (!last) return 1;
  int64_t work = *last;
  for (FormulaNode node = 0; node <= *last; ++node) {
    if (IsInexactFunction(formula, node)) work += kFunction;
  }
  return formula.is_abridged() ? work * formula.WholeSize() / *last : work;
}

bool IsOfOwnResult(ArithmeticKind kind) {
  return kind == Kind::kInputs || kind == Kind::kSums || kind == Kind::kProductRounded;
}

std::vector<ArithmeticVariation> ArithmeticVariationsOf(const OperatorDesc& op, InputViews inputs,
                                                        size_t output) {
  std::vector<ArithmeticVariation> relevant = OwnVariationsOf(op, inputs, output);
  const auto activation = output == 0 ? FusedAlone(op) : std::nullopt;
  if (!activation) return relevant;
  for (const ArithmeticVariation& variation : ActivationVariationsOf(*activation)) {
    if (std::ranges::find(relevant, variation) == relevant.end()) relevant.push_back(variation);
  }
  return relevant;
}

}  // namespace dmlop
