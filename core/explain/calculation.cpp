#include "core/explain/calculation.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/progress.h"
#include "core/explain/calculate_element.h"
#include "core/explain/calculate_formula.h"
#include "core/explain/calculate_reduce.h"
#include "core/explain/rounding_choice.h"
#include "core/ops/families.h"
#include "core/ops/fused.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr std::string_view kRuleNames[] = {"exact",        "nearest",   "tie-to-even", "overflow",
                                           "within-bound", "nan",       "infinity",    "zero-sign",
                                           "modulo",       "extreme",   "first",       "last",
                                           "only-nan",     "truncated", "clamped",     "too-long"};

// The engine's own result.
ElementBytes ValueAt(const OperatorDesc& op, InputViews inputs, const Element& output) {
  alignas(8) ElementBytes value{};
  const Dims ones = Dims::Filled(output.index.size(), 1);
  const DataType type = *TensorSlots(op, TensorRole::kOutput)[output.tensor].desc->data_type;
  RunPart(op, inputs, {output.tensor, output.index, ones},
          {value.data(), type, PackedLayout(ones)});
  return value;
}

// --- ScaleBias -----------------------------------------------------------------------------------

template <typename T>
Calculation ScaledFloat(const ScaleBias& factors, T x, T result) {
  Calculation calculation;
  calculation.quantity = "x * Scale + Bias";
  const double product = AsDouble(x) * static_cast<double>(factors.scale);
  const double sum = product + static_cast<double>(factors.bias);
  if (!std::isfinite(sum)) {  // finite ones stay far below what binary64 takes
    calculation.rule = std::isnan(sum) ? ValueRule::kNan : ValueRule::kInfinity;
    calculation.reason = fmt::format("x, Scale or Bias is not finite, and {} * {} + {} is {}",
                                     AsDouble(x), factors.scale, factors.bias,
                                     std::isnan(sum) ? "nan"
                                     : sum > 0       ? "inf"
                                                     : "-inf");
    return calculation;
  }
  const Dyadic exact = Dyadic(AsDouble(x)) * Dyadic(static_cast<double>(factors.scale)) +
                       Dyadic(static_cast<double>(factors.bias));
  calculation.exact = exact.ToDecimal();
  ExplainRounding(
      result, [&](const Dyadic& y) { return (exact - y).Sign(); }, exact, calculation);
  calculation.reason = RoundingReason(calculation.rule, kDataTypeOf<T>);
  if (exact.Sign() == 0) {
    calculation.rule = ValueRule::kZeroSign;
    calculation.reason = std::signbit(AsDouble(result)) ? "product and Bias are both -0"
                                                        : "an exact zero is +0 unless all is -0";
  }
  return calculation;
}

template <std::integral T>
Calculation ScaledInteger(const ScaleBias& factors, T x, T result) {
  const double value = static_cast<double>(x) * static_cast<double>(factors.scale) +
                       static_cast<double>(factors.bias);
  Calculation calculation;
  calculation.quantity = "x * Scale + Bias in binary64";
  if (std::isnan(value)) {
    calculation.rule = ValueRule::kNan;
    calculation.reason = "NaN becomes 0";
    return calculation;
  }
  if (std::isfinite(value)) calculation.exact = Dyadic(value).ToDecimal();
  if (std::trunc(value) != static_cast<double>(result)) {
    calculation.rule = ValueRule::kClamped;
    calculation.reason =
        fmt::format("beyond the range of {}, whose nearest end is taken", Name(kDataTypeOf<T>));
  } else if (value != static_cast<double>(result)) {
    calculation.rule = ValueRule::kTruncated;
    calculation.reason = "the fraction is cut off, toward zero";
  } else {
    calculation.reason = RoundingReason(ValueRule::kExact, kDataTypeOf<T>);
  }
  return calculation;
}

Calculation ExplainScaleBias(const ScaleBias& factors, const ConstTensorView& view,
                             const ElementBytes& result) {
  Calculation calculation;
  VisitDataType(Join<Floats, Integers32, Integers16, Integers8>(), view.type, [&]<typename T>() {
    const T x = *view.elements<T>();
    if constexpr (std::is_integral_v<T>) {
      calculation = ScaledInteger(factors, x, ElementOf<T>(result));
    } else {
      calculation = ScaledFloat(factors, x, ElementOf<T>(result));
    }
  });
  return calculation;
}

// --- REDUCE --------------------------------------------------------------------------------------

Calculation ExplainGroup(ReduceFunction function, bool takes_last, const Group& group,
                         const ElementBytes& result) {
  switch (function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return ExplainMinMax(function, takes_last, group);
    default:
      return IsFloat(group.view.type) ? ExplainFloats(function, group, result)
                                      : ExplainIntegers(function, group, result);
  }
}

// What is asked of an output element.
struct Question {
  const OperatorDesc& op;
  InputViews inputs;
  const Element& output;
  const std::vector<Region>& sources;
  ListLength length;

  Region place() const {
    return {output.tensor, output.index, Dims::Filled(output.index.size(), 1)};
  }
  DataType type() const {
    return *TensorSlots(op, TensorRole::kOutput)[output.tensor].desc->data_type;
  }
};

Calculation ExplainReduce(ReduceFunction function, bool takes_last, const Question& question,
                          const ElementBytes& result) {
  const std::string tensor = DisplayName(TensorSlots(question.op, TensorRole::kInput)[0].path);
  const Region& source = question.sources[0];
  const ConstTensorView view = Narrowed(question.inputs[0], source);
  return ExplainGroup(function, takes_last, {tensor, source, view}, result);
}

Calculation OfNothing(ReduceFunction function) {
  const bool is_sum = function == ReduceFunction::kSum;
  Calculation calculation;
  calculation.quantity = is_sum ? "sum" : "product";
  calculation.exact = is_sum ? "0" : "1";
  calculation.reason = is_sum ? "a sum of nothing is 0" : "a product of nothing is 1";
  return calculation;
}

Calculation TooLong() {
  Calculation calculation;
  calculation.rule = ValueRule::kTooLong;
  calculation.reason =
      fmt::format("made of more than {} parts, which are not told", Formula::kMostNodes);
  return calculation;
}

// How the value came about; none where bits are only moved, or where that is not told yet.
std::optional<Calculation> ExplainByFormula(const Question& question, const ElementBytes& value) {
  Formula formula(question.inputs);
  const auto last = FormulaOf(question.op, question.place(), formula);
  if (!last && formula.is_too_long()) return TooLong();
  if (!last) return std::nullopt;
  return ExplainFormula(formula, *last, question.op, question.type(), value, question.length);
}

template <typename Family>
std::optional<Calculation> Explain(const Family&, const Question& question,
                                   const ElementBytes& value) {
  return ExplainByFormula(question, value);
}

std::optional<Calculation> Explain(const ElementWise& family, const Question& question,
                                   const ElementBytes& value) {
  const ElementWiseWork work = WorkOf(family, question.op, question.inputs);
  Region place = question.place();
  place.tensor = 0;
  if (work.call.function != ElementWiseFunction::kCast) {
    return ExplainFunction(work, place, question.type(), value);
  }
  if (!work.call.scale_bias) return std::nullopt;
  return ExplainScaleBias(*work.call.scale_bias, Narrowed(work.operands[0], place), value);
}

std::optional<Calculation> Explain(const Custom& family, const Question& question,
                                   const ElementBytes& value) {
  if (!family.reduces) return ExplainByFormula(question, value);
  if (question.sources.empty()) return OfNothing(*family.reduces);
  return ExplainReduce(*family.reduces, false, question, value);
}

std::optional<Calculation> Explain(const Reduction& reduction, const Question& question,
                                   const ElementBytes& value) {
  const ReductionCall call = reduction.call(question.op);
  return ExplainReduce(call.function, call.takes_last, question, value);
}

Outcome Unfused(const Question& question) {
  Outcome outcome{ValueAt(question.op, question.inputs, question.output), std::nullopt};
  outcome.calculation =
      std::visit([&](const auto& family) { return Explain(family, question, outcome.value); },
                 question.op.info().family);
  return outcome;
}

// What an activation makes of one element that it sees.
std::optional<Calculation> ExplainActivation(const OperatorDesc& activation,
                                             const ElementBytes& own, const ElementBytes& value) {
  const auto* family = std::get_if<ElementWise>(&activation.info().family);
  if (family == nullptr) return std::nullopt;
  const TensorDesc& tensor = *TensorSlots(activation)[0].desc;
  const Dims ones = Dims::Filled(tensor.rank(), 1);
  const ConstTensorView input{own.data(), *tensor.data_type, PackedLayout(ones)};
  const Element element{0, Dims::Filled(tensor.rank(), 0)};
  const std::vector<Region> nothing;
  return Explain(*family, Question{activation, {&input, 1}, element, nothing, {}}, value);
}

Outcome Activated(const Question& question) {
  const OperatorDesc& op = question.op;
  const OperatorDesc activation = *FusedAlone(op);
  const OperatorDesc alone = WithoutActivation(op);
  const Outcome own =
      Unfused({alone, question.inputs, question.output, question.sources, question.length});
  Outcome outcome{ValueAt(op, question.inputs, question.output), own.calculation};
  alignas(8) const ElementBytes rounded = own.value;
  outcome.activation = {activation.name(), rounded,
                        ExplainActivation(activation, rounded, outcome.value)};
  return outcome;
}

}  // namespace

std::string_view Name(ValueRule rule) {
  return kRuleNames[static_cast<size_t>(rule)];
}

std::string RoundingReason(ValueRule rule, DataType type) {
  switch (rule) {
    case ValueRule::kNearest:
      return fmt::format("the nearer of the two {} neighbours", Name(type));
    case ValueRule::kTieToEven:
      return "both neighbours are equally near; the one whose last bit is 0 is taken";
    case ValueRule::kOverflow:
      return fmt::format("half a step or more beyond the greatest {}", Name(type));
    default:
      return fmt::format("a {} number, so nothing is rounded", Name(type));
  }
}

Outcome Calculate(const OperatorDesc& op, InputViews inputs, const Element& output,
                  const std::vector<Region>& sources, ListLength length) {
  const Work work("explaining");  // how often elements are looked at depends on them
  const Question question{op, inputs, output, sources, length};
  const bool is_activated = output.tensor == 0 && FusedActivationOf(op) != nullptr;
  return is_activated ? Activated(question) : Unfused(question);
}

}  // namespace dmlop
