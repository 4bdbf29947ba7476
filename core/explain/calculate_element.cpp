#include "core/explain/calculate_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/exact/functions.h"
#include "core/explain/rounding_choice.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using F = ElementWiseFunction;

// A value that has no finite decimal, or one that is `exact`.
struct ExactValue {
  CompareWith compare;
  std::optional<Dyadic> exact;
  double approximate = 0;
};

ExactValue Finite(const Dyadic& value) {
  return {[value](const Dyadic& y) { return (value - y).Sign(); }, value};
}

// a / b, b not zero.
ExactValue Quotient(double a, double b) {
  return {[=](const Dyadic& y) {
            const int sign = (Dyadic(a) - y * Dyadic(b)).Sign();
            return b < 0 ? -sign : sign;
          },
          std::nullopt, a / b};
}

ExactValue SquareRoot(double a) {
  return {[=](const Dyadic& y) { return y.Sign() < 0 ? 1 : (Dyadic(a) - y * y).Sign(); },
          std::nullopt, std::sqrt(a)};
}

// Of finite elements with a finite result.
std::optional<ExactValue> ExactValueOf(const ElementWiseCall& call, std::span<const double> x) {
  const auto dyadic = [&](size_t i) { return Dyadic(x[i]); };
  switch (call.function) {
    case F::kAdd:
      return Finite(dyadic(0) + dyadic(1));
    case F::kSubtract:
      return Finite(dyadic(0) - dyadic(1));
    case F::kMultiply:
      return Finite(dyadic(0) * dyadic(1));
    case F::kMean:
      return Finite((dyadic(0) + dyadic(1)).TimesPowerOfTwo(-1));
    case F::kDifferenceSquare:
      return Finite((dyadic(0) - dyadic(1)) * (dyadic(0) - dyadic(1)));
    case F::kDivide:
      return Quotient(x[0], x[1]);
    case F::kRecip:
      return Quotient(1, x[0]);
    case F::kSqrt:
      return SquareRoot(x[0]);
    default:
      break;
  }
  if (!IsApproximated(call.function)) return std::nullopt;
  const HeadTail value = ExactElement(call.function, x, call.parameters.numbers);
  if (!std::isfinite(value.head)) return std::nullopt;
  ExactValue sum = Finite(Dyadic(value.head) + Dyadic(value.tail));
  sum.approximate = value.head;
  if (value.tail != 0) sum.exact.reset();
  return sum;
}

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
  const auto value = ExactValueOf(work.call, x);
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

}  // namespace

std::optional<Calculation> ExplainFunction(const ElementWiseWork& work, const Region& place,
                                           DataType type, const ElementBytes& result) {
  const bool same_type =
      !work.operands.empty() &&
      std::all_of(work.operands.begin(), work.operands.end(),
                  [&](const ConstTensorView& operand) { return operand.type == type; });
  if (!same_type || (type != DataType::kFloat32 && type != DataType::kFloat16)) {
    return std::nullopt;
  }
  return type == DataType::kFloat32 ? Explained(work, place, ElementOf<float>(result))
                                    : Explained(work, place, ElementOf<Half>(result));
}

}  // namespace dmlop
