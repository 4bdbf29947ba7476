#include "core/explain/calculate_element.h"

#include <algorithm>
#include <cmath>

#include "core/explain/calculate_modulo.h"
#include "core/explain/exact_value.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using F = ElementWiseFunction;

// What the function sees: the first element is scaled and rounded to FLOAT32 before.
std::vector<double> ElementsAt(const ElementWiseWork& work, const Region& place) {
  std::vector<double> elements;
  for (const ConstTensorView& operand : work.operands) {
    VisitDataType(Floats(), operand.type, [&]<typename T>() {
      elements.push_back(AsDouble(*Narrowed(operand, place).elements<T>()));
    });
  }
  if (const auto& factors = work.call.scale_bias) {
    elements[0] = static_cast<double>(
        std::fma(static_cast<float>(elements[0]), factors->scale, factors->bias));
  }
  return elements;
}

template <typename T>
std::optional<Calculation> Explained(const ElementWiseWork& work, const Region& place, T result) {
  const std::vector<double> x = ElementsAt(work, place);
  const bool finite = std::all_of(x.begin(), x.end(), [](double e) { return std::isfinite(e); });
  // At poles and outside of their domains functions follow rules of their own.
  const bool is_pole = (work.call.function == F::kDivide && x[1] == 0) ||
                       (work.call.function == F::kRecip && x[0] == 0);
  if (!finite || is_pole || std::isnan(AsDouble(result))) return std::nullopt;
  const auto value = ExactValueOf(work.call.function, x, work.call.parameters.numbers);
  if (!value) return std::nullopt;
  Calculation calculation;
  calculation.quantity = "exact value";
  if (value->exact) {
    calculation.exact = value->exact->ToDecimal();
  } else {
    calculation.approximate = value->approximate;
  }
  ExplainRounding(result, value->compare, value->exact, calculation);
  calculation.reason = RoundingReason(calculation.rule, kDataTypeOf<T>);
  return calculation;
}

// --- integers ------------------------------------------------------------------------------------

// What wraps to the result; none where the function is another.
std::optional<Dyadic> WholeValueOf(F function, std::span<const Dyadic> x) {
  switch (function) {
    case F::kAbs:
      return x[0].Sign() < 0 ? -x[0] : x[0];
    case F::kNegate:
      return -x[0];
    case F::kAdd:
      return x[0] + x[1];
    case F::kSubtract:
      return x[0] - x[1];
    case F::kMultiply:
      return x[0] * x[1];
    case F::kDifferenceSquare:
      return (x[0] - x[1]) * (x[0] - x[1]);
    default:
      return std::nullopt;
  }
}

std::optional<Calculation> ExplainIntegerFunction(const ElementWiseWork& work, const Region& place,
                                                  DataType type, const ElementBytes& result) {
  using Types = Join<Integers64, Integers32, Integers16, Integers8>;
  if (!Types::kSet.Contains(type) || work.call.scale_bias) return std::nullopt;
  std::optional<Calculation> calculation;
  VisitDataType(Types(), type, [&]<typename T>() {
    std::vector<Dyadic> x;
    for (const ConstTensorView& operand : work.operands) {
      x.emplace_back(*Narrowed(operand, place).elements<T>());
    }
    const std::optional<Dyadic> value = WholeValueOf(work.call.function, x);
    if (!value) return;
    calculation.emplace();
    calculation->quantity = "exact value";
    ExplainModulo(ElementOf<T>(result), *value, *calculation);
  });
  return calculation;
}

}  // namespace

std::optional<Calculation> ExplainFunction(const ElementWiseWork& work, const Region& place,
                                           DataType type, const ElementBytes& result) {
  const bool same_type =
      !work.operands.empty() &&
      std::all_of(work.operands.begin(), work.operands.end(),
                  [&](const ConstTensorView& operand) { return operand.type == type; });
  if (!same_type) return std::nullopt;
  if (type != DataType::kFloat32 && type != DataType::kFloat16) {
    return ExplainIntegerFunction(work, place, type, result);
  }
  return type == DataType::kFloat32 ? Explained(work, place, ElementOf<float>(result))
                                    : Explained(work, place, ElementOf<Half>(result));
}

}  // namespace dmlop
