#include "core/explain/calculation.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/progress.h"
#include "core/explain/calculate_reduce.h"
#include "core/explain/rounding_choice.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr std::string_view kRuleNames[] = {
    "exact",     "nearest", "tie-to-even", "overflow", "within-bound", "nan",       "infinity",
    "zero-sign", "modulo",  "extreme",     "first",    "only-nan",     "truncated", "clamped"};

template <typename T>
T ValueOf(const ElementBytes& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// The engine's own result.
ElementBytes RunOn(const OperatorDesc& desc, const ConstTensorView& view, DataType output_type) {
  alignas(8) ElementBytes value{};
  const Dims ones = Dims::Filled(view.layout.rank(), 1);
  const TensorView output{value.data(), output_type, PackedLayout(ones)};
  Run(desc, {&view, 1}, {&output, 1});
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
      calculation = ScaledInteger(factors, x, ValueOf<T>(result));
    } else {
      calculation = ScaledFloat(factors, x, ValueOf<T>(result));
    }
  });
  return calculation;
}

// --- REDUCE --------------------------------------------------------------------------------------

Calculation ExplainReduce(ReduceFunction function, const Group& group, const ElementBytes& result) {
  switch (function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return ExplainExtreme(function, group);
    default:
      return IsFloat(group.view.type) ? ExplainFloats(function, group, result)
                                      : ExplainIntegers(function, group, result);
  }
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

Outcome Calculate(const OperatorDesc& desc, const ElementBox& sources, const ConstTensorView& view,
                  DataType output_type) {
  Outcome outcome;
  if (const auto* reduce = std::get_if<ReduceDesc>(&desc)) {
    const Work work("explaining");  // how often elements are looked at depends on them
    outcome.value = RunOn(desc, view, output_type);
    outcome.calculation = ExplainReduce(*reduce->function, {sources, view}, outcome.value);
    return outcome;
  }
  const auto* identity = std::get_if<IdentityDesc>(&desc);
  if (identity != nullptr && identity->scale_bias) {
    outcome.value = RunOn(desc, view, output_type);
    outcome.calculation = ExplainScaleBias(*identity->scale_bias, view, outcome.value);
  } else if (sources.count() > 0) {
    std::memcpy(outcome.value.data(), view.data, ByteWidth(output_type));
  }
  return outcome;
}

ConstTensorView Narrowed(ConstTensorView tensor, const ElementBox& box) {
  for (size_t d = 0; d < box.sizes.size(); ++d) {
    tensor = tensor.Slice(d, box.begin[d], box.sizes[d]);
  }
  return tensor;
}

}  // namespace dmlop
