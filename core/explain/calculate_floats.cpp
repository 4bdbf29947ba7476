#include <cmath>
#include <limits>

#include "core/exact/elementary.h"
#include "core/exact/rounding.h"
#include "core/explain/calculate_reduce.h"
#include "core/explain/rounding_choice.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// What one pass over the group finds out.
struct Elements {
  std::optional<int64_t> nan, positive_infinity, negative_infinity, zero;  // the first of each
  bool only_negative_zeros = true;
  bool negative = false;  // the sign of the product
  ExactSum sum;           // of what the function adds up, of finite elements
  double greatest = -std::numeric_limits<double>::infinity();
  int64_t greatest_at = 0;
};

void Note(std::optional<int64_t>& first, int64_t k) {
  if (!first) first = k;
}

double TermOf(ReduceFunction function, double x) {
  switch (function) {
    case ReduceFunction::kL1:
      return std::fabs(x);
    case ReduceFunction::kL2:
    case ReduceFunction::kSumSquare:
      return x * x;  // exact: 24 bits each
    default:
      return x;
  }
}

template <typename T>
Elements Look(ReduceFunction function, const Group& group) {
  Elements seen;
  ForEach<T>(group, [&](int64_t k, T element) {
    const double x = AsDouble(element);
    seen.negative ^= std::signbit(x);
    seen.only_negative_zeros &= x == 0 && std::signbit(x);
    if (x == 0) Note(seen.zero, k);
    if (x > seen.greatest) {
      seen.greatest = x;
      seen.greatest_at = k;
    }
    if (std::isfinite(x)) return seen.sum.Add(TermOf(function, x));
    Note(std::isnan(x) ? seen.nan : x > 0 ? seen.positive_infinity : seen.negative_infinity, k);
  });
  return seen;
}

class FloatExplanation {
 public:
  FloatExplanation(ReduceFunction function, const Group& group)
      : function_(function), group_(group) {}

  template <typename T>
  Calculation For(T result) {
    seen_ = Look<T>(function_, group_);
    calculation_.quantity = Quantity();
    if (IsSpecial()) return std::move(calculation_);
    switch (function_) {
      case ReduceFunction::kMultiply:
        ExplainProduct<T>(result);
        break;
      case ReduceFunction::kLogSumExp:
        ExplainLogSumExp<T>(result);
        break;
      case ReduceFunction::kLogSum:
        ExplainLogSum<T>(result);
        break;
      default:
        ExplainSum<T>(result);
    }
    return std::move(calculation_);
  }

 private:
  std::string Quantity() const {
    switch (function_) {
      case ReduceFunction::kL1:
        return "sum of magnitudes";
      case ReduceFunction::kL2:
      case ReduceFunction::kSumSquare:
        return "sum of squares";
      case ReduceFunction::kLogSumExp:
        return "sum of e^(x - max)";
      case ReduceFunction::kMultiply:
        return "product";
      default:
        return "sum";
    }
  }

  // --- elements that decide alone ----------------------------------------------------------------

  bool Decided(ValueRule rule, std::vector<int64_t> deciding, std::string reason) {
    calculation_.rule = rule;
    calculation_.deciding = std::move(deciding);
    calculation_.reason = std::move(reason);
    return true;
  }

  bool IsSpecial() {
    const auto& nan = seen_.nan;
    const auto& positive = seen_.positive_infinity;
    const auto& negative = seen_.negative_infinity;
    if (nan) return Decided(ValueRule::kNan, {*nan}, group_.NameOf(*nan) + " is NaN");
    if (!positive && !negative) return false;
    const int64_t infinite = positive ? *positive : *negative;
    const std::string name = group_.NameOf(infinite);
    switch (function_) {
      case ReduceFunction::kLogSumExp:
        if (!positive) return false;  // e^-inf is 0
        break;
      case ReduceFunction::kMultiply:
        if (seen_.zero) {
          return Decided(ValueRule::kNan, {*seen_.zero, infinite},
                         fmt::format("{} is 0 and {} is infinite, and 0 * inf is NaN",
                                     group_.NameOf(*seen_.zero), name));
        }
        break;
      case ReduceFunction::kL1:
      case ReduceFunction::kL2:
      case ReduceFunction::kSumSquare:
        break;
      default:
        if (positive && negative) {
          return Decided(ValueRule::kNan, {*positive, *negative},
                         fmt::format("{} is inf and {} is -inf, and inf - inf is NaN",
                                     group_.NameOf(*positive), group_.NameOf(*negative)));
        }
        if (negative && function_ == ReduceFunction::kLogSum) {
          return Decided(ValueRule::kNan, {*negative},
                         name + " is -inf, and the logarithm of -inf is NaN");
        }
    }
    return Decided(ValueRule::kInfinity, {infinite}, name + " is infinite");
  }

  // --- sums --------------------------------------------------------------------------------------

  template <typename T>
  void ExplainSum(T result) {
    const Dyadic sum(seen_.sum);
    calculation_.exact = sum.ToDecimal();
    if (sum.Sign() == 0 && std::signbit(AsDouble(result))) {
      Decided(ValueRule::kZeroSign, {}, "all elements are -0; any other sum of zero is +0");
      return;
    }
    if (function_ == ReduceFunction::kAverage) {
      const Dyadic count(group_.count());
      calculation_.then = fmt::format("divided by {}", group_.count());
      calculation_.value = RoundSum<double>(seen_.sum) / static_cast<double>(group_.count());
      ExplainRounding(
          result, [&](const Dyadic& x) { return (sum - count * x).Sign(); }, std::nullopt,
          calculation_);
    } else if (function_ == ReduceFunction::kL2) {
      calculation_.then = "square root";
      calculation_.value = std::sqrt(RoundSum<double>(seen_.sum));
      ExplainRounding(
          result, [&](const Dyadic& x) { return x.Sign() < 0 ? 1 : (sum - x * x).Sign(); },
          std::nullopt, calculation_);
    } else {
      ExplainRounding(
          result, [&](const Dyadic& x) { return (sum - x).Sign(); }, sum, calculation_);
    }
    calculation_.reason = RoundingReason(calculation_.rule, kDataTypeOf<T>);
  }

  // --- logarithms, whose rounding is promised within a bound only --------------------------------

  template <typename T>
  void ExplainBounded(T result, std::string bound) {
    const Dyadic value(*calculation_.value);
    ExplainRounding(
        result, [&](const Dyadic& x) { return (value - x).Sign(); }, std::nullopt, calculation_);
    calculation_.rule = ValueRule::kWithinBound;
    calculation_.reason = fmt::format("within {} of the exact value", bound);
  }

  template <typename T>
  void ExplainLogSum(T result) {
    const int sign = seen_.sum.Sign();
    calculation_.exact = Dyadic(seen_.sum).ToDecimal();
    calculation_.then = "natural logarithm";
    if (sign < 0) {
      Decided(ValueRule::kNan, {}, "a negative sum has no logarithm");
    } else if (sign == 0) {
      Decided(ValueRule::kInfinity, {}, "the logarithm of 0 is -inf");
    } else {
      calculation_.value = LogOfPositive(seen_.sum);
      ExplainBounded(result, "0.51 ULP");
    }
  }

  template <typename T>
  void ExplainLogSumExp(T result) {
    if (std::isinf(seen_.greatest)) {
      Decided(ValueRule::kInfinity, {seen_.greatest_at}, "all elements are -inf");
      return;
    }
    ExactSum sum;
    ForEach<T>(group_, [&](int64_t, T x) {
      if (std::isfinite(AsDouble(x))) sum.Add(Exp(AsDouble(x) - seen_.greatest));
    });
    calculation_.deciding = {seen_.greatest_at};
    calculation_.approximate = RoundSum<double>(sum);
    calculation_.then =
        fmt::format("natural logarithm, plus max = {} of {}", Dyadic(seen_.greatest).ToDecimal(),
                    group_.NameOf(seen_.greatest_at));
    calculation_.value = seen_.greatest + LogOfPositive(sum);
    ExplainBounded(result, "0.51 ULP + 2^-45 * (1 + |max|)");
  }

  // --- products ----------------------------------------------------------------------------------

  template <typename T>
  void ExplainProduct(T result) {
    if (seen_.zero) {
      calculation_.exact = "0";
      Decided(ValueRule::kZeroSign, {*seen_.zero},
              fmt::format("{} is 0; an {} number of elements is negative",
                          group_.NameOf(*seen_.zero), seen_.negative ? "odd" : "even"));
      return;
    }
    constexpr std::string_view kBound = "within 0.5001 ULP of the exact product";
    const std::optional<Dyadic> product = ExactProduct<T>(group_);
    if (!product) {
      calculation_.rule = ValueRule::kWithinBound;
      calculation_.reason =
          fmt::format("{}, which has more than {} binary digits and is not written out", kBound,
                      kMaxProductBits);
      return;
    }
    calculation_.exact = product->ToDecimal();
    ExplainRounding(
        result, [&](const Dyadic& x) { return (*product - x).Sign(); }, product, calculation_);
    calculation_.reason = calculation_.rule == ValueRule::kWithinBound
                              ? std::string(kBound)
                              : RoundingReason(calculation_.rule, kDataTypeOf<T>);
  }

  ReduceFunction function_;
  const Group& group_;
  Elements seen_;
  Calculation calculation_;
};

}  // namespace

Calculation ExplainFloats(ReduceFunction function, const Group& group, const ElementBytes& result) {
  Calculation calculation;
  VisitDataType(Floats(), group.view.type, [&]<typename T>() {
    calculation = FloatExplanation(function, group).For(ElementOf<T>(result));
  });
  return calculation;
}

}  // namespace dmlop
