// SPDX-License-Identifier: Apache-2.0
#include "core/explain/formula_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dmlop {
namespace {

using Node = FormulaNode;
using enum FormulaOperation;

// --- what is not finite --------------------------------------------------------------------------

class SpecialTrace {
 public:
  SpecialTrace(const Formula& formula, FormulaSteps& steps) : formula_(formula), steps_(steps) {}

  Decision From(Node node) {
    const Node made_of = steps_.MadeOf(node);
    if (made_of != node && IsLike(made_of, node)) return From(made_of);
    const bool is_nan = std::isnan(Head(node));
    const std::span<const Node> operands = formula_.operands(node);
    if (operands.empty()) return OfLeaf(node);
    if (is_nan) {
      const auto nan = Find(operands, [](double x) { return std::isnan(x); });
      return nan ? From(*nan) : Meaningless(node);
    }
    if (formula_.HasList(node) && LosesInfinity(node)) {
      Decision decision = From(operands[0]);
      decision.reason = fmt::format("all elements are {}", Head(node));
      return decision;
    }
    const bool is_quotient = formula_.operation(node) == kQuotient;
    const auto is_cause = [&](double x) {
      return std::isinf(x) && (!IsExtreme(formula_, node) || x == Head(node));
    };
    const auto infinite = Find(is_quotient ? operands.first(1) : operands, is_cause);
    return infinite ? From(*infinite) : Pole(node);
  }

 private:
  double Head(Node node) { return steps_.ValueOf(node).number.head; }
  std::string Text(Node node) { return steps_.TextOf(node); }

  bool IsLike(Node a, Node b) {
    return std::isnan(Head(a)) == std::isnan(Head(b)) && std::isfinite(Head(a)) == false;
  }

  // The least of elements is infinite only if all are, and so is the greatest.
  bool LosesInfinity(Node node) {
    return formula_.operation(node) == (Head(node) < 0 ? kMaximum : kMinimum);
  }

  template <typename Predicate>
  std::optional<Node> Find(std::span<const Node> operands, Predicate&& predicate) {
    const auto found =
        std::ranges::find_if(operands, [&](Node operand) { return predicate(Head(operand)); });
    return found == operands.end() ? std::nullopt : std::optional(*found);
  }

  Decision OfLeaf(Node node) {
    const bool is_nan = std::isnan(Head(node));
    Decision decision{is_nan ? ValueRule::kNan : ValueRule::kInfinity,
                      fmt::format("{} is {}", Text(node), is_nan ? "NaN" : "infinite"),
                      {}};
    AddElement(node, decision);
    return decision;
  }

  // The node, or the elements that make it infinite.
  void AddElement(Node node, Decision& decision) {
    if (formula_.operation(node) == kElement) {
      decision.deciding.push_back(node);
    } else if (!formula_.operands(node).empty() && std::isinf(Head(node))) {
      const Decision from = From(node);
      decision.deciding.insert(decision.deciding.end(), from.deciding.begin(), from.deciding.end());
    }
  }

  Decision Nan(std::string reason, std::initializer_list<Node> nodes) {
    Decision decision{ValueRule::kNan, std::move(reason), {}};
    for (const Node node : nodes) AddElement(node, decision);
    return decision;
  }

  // Numbers that make a NaN together.
  Decision Meaningless(Node node) {
    const std::span<const Node> operands = formula_.operands(node);
    switch (formula_.operation(node)) {
      case kSum:
      case kMean:
        return OpposedInfinities(*Find(operands, [](double x) { return std::isinf(x) && x > 0; }),
                                 *Find(operands, [](double x) { return std::isinf(x) && x < 0; }));
      case kDifference:
        return OpposedInfinities(operands[0], operands[1]);
      case kProduct: {
        const Node zero = *Find(operands, [](double x) { return x == 0; });
        const Node infinite = *Find(operands, [](double x) { return std::isinf(x); });
        return Nan(fmt::format("{} is 0 and {} is infinite, and 0 * inf is NaN", Text(zero),
                               Text(infinite)),
                   {zero, infinite});
      }
      case kQuotient: {
        const std::string_view both = Head(operands[0]) == 0 ? "0" : "inf";
        return Nan(fmt::format("{} / {} is {} / {}, which is NaN", Text(operands[0]),
                               Text(operands[1]), both, both),
                   {operands[0], operands[1]});
      }
      case kLogarithm:
        return OfLogarithm(operands[0]);
      default:
        return Nan(steps_.NumbersOf(node) + " is NaN", {operands[0]});
    }
  }

  Decision OpposedInfinities(Node a, Node b) {
    return Nan(fmt::format("{} is {} and {} is {}, and inf - inf is NaN", Text(a), Head(a), Text(b),
                           Head(b)),
               {a, b});
  }

  Decision OfLogarithm(Node operand) {
    if (std::isfinite(Head(operand))) {
      const bool is_named = formula_.IsNamed(operand);
      return Nan(fmt::format("a negative {} has no logarithm", is_named ? Text(operand) : "number"),
                 {});
    }
    Decision decision = Nan("", {operand});
    const Node from = decision.deciding.empty() ? operand : decision.deciding[0];
    decision.reason = fmt::format("{} is -inf, and the logarithm of -inf is NaN", Text(from));
    return decision;
  }

  // Numbers that make an infinity.
  Decision Pole(Node node) {
    const std::span<const Node> operands = formula_.operands(node);
    Decision decision{ValueRule::kInfinity, "", {}};
    if (formula_.operation(node) == kLogarithm) {
      decision.reason = "the logarithm of 0 is -inf";
    } else if (formula_.operation(node) == kQuotient) {
      decision.reason = fmt::format("{} is {}, by which a number divided is infinite",
                                    Text(operands[1]), Head(operands[1]));
      AddElement(operands[1], decision);
    } else {
      decision.reason = fmt::format("{} is {}", steps_.NumbersOf(node), Head(node));
    }
    return decision;
  }

  const Formula& formula_;
  FormulaSteps& steps_;
};

// --- extremes ------------------------------------------------------------------------------------

// The result of a pass over a list.
struct Winner {
  std::optional<size_t> place;  // none while all are NaN
  int64_t equals = 0;           // as good as that, itself included
  int64_t nan_count = 0;
  bool beats_other_zero = false;
};

struct ExtremeKind {
  bool is_greatest, is_last, is_place;
};

ExtremeKind KindOf(FormulaOperation operation) {
  const bool is_place = operation != kMaximum && operation != kMinimum;
  return {operation == kMaximum || operation == kFirstMaximum || operation == kLastMaximum,
          operation == kLastMaximum || operation == kLastMinimum, is_place};
}

// For maxima and minima -0 is less than +0, for their places they are equal.
Winner FindWinner(std::span<const Node> operands, const ExtremeKind& kind, FormulaSteps& steps) {
  Winner winner;
  FormulaValue best;
  const auto is_better = [&](const FormulaValue& a, const FormulaValue& b) {
    const FormulaValue& more = kind.is_greatest ? a : b;
    const FormulaValue& less = kind.is_greatest ? b : a;
    return kind.is_place ? IsGreater(more, less) : IsLess(less, more);
  };
  for (size_t k = 0; k < operands.size(); ++k) {
    const FormulaValue x = steps.ValueOf(operands[k]);
    if (IsNan(x)) {
      ++winner.nan_count;
      continue;
    }
    const bool better = !winner.place || is_better(x, best);
    const bool worse = winner.place && is_better(best, x);
    const bool are_zeros = winner.place && IsZero(x) && IsZero(best);
    if (are_zeros && (better || worse)) {
      winner.beats_other_zero = true;
    } else if (better) {
      winner.beats_other_zero = false;
    }
    if (better) {
      winner.equals = 0;
      best = x;
    }
    if (better || (kind.is_last && !worse)) winner.place = k;
    if (!worse) ++winner.equals;
  }
  return winner;
}

Decision OfOnlyNan(const ExtremeKind& kind) {
  const std::string_view end = kind.is_last ? "last" : "first";
  return {ValueRule::kOnlyNan,
          fmt::format("all elements are NaN{}",
                      kind.is_place ? fmt::format("; the {} index is taken", end) : ""),
          {}};
}

std::string ExtremeReason(const Winner& winner, std::string_view name, size_t count,
                          const ExtremeKind& kind) {
  const std::string_view extreme = kind.is_greatest ? "greatest" : "least";
  std::string reason = winner.equals == 1
                           ? fmt::format("{} is the {} element", name, extreme)
                           : fmt::format("{} is the {} of {} equal {} elements", name,
                                         kind.is_last ? "last" : "first", winner.equals, extreme);
  if (kind.is_place && count > 1) {
    reason += fmt::format(", number {} of the group in row-major order", *winner.place);
  }
  if (winner.beats_other_zero) {
    reason += kind.is_greatest ? "; +0 is greater than -0" : "; -0 is less than +0";
  }
  if (winner.nan_count > 0) {
    reason +=
        fmt::format("; {} NaN {} skipped", winner.nan_count, winner.nan_count == 1 ? "is" : "are");
  }
  return reason;
}

}  // namespace

Decision DecisionOfSpecial(const Formula& formula, Node node, FormulaSteps& steps) {
  return SpecialTrace(formula, steps).From(node);
}

bool IsExtreme(const Formula& formula, Node node) {
  const FormulaOperation operation = formula.operation(node);
  const std::span<const Node> operands = formula.operands(node);
  const auto is_element = [&](Node operand) { return formula.operation(operand) == kElement; };
  return formula.HasList(node) && operation >= kMaximum && operation <= kLastMinimum &&
         !operands.empty() && std::ranges::all_of(operands, is_element);
}

Decision DecisionOfExtreme(const Formula& formula, Node node, FormulaSteps& steps) {
  const std::span<const Node> operands = formula.operands(node);
  const ExtremeKind kind = KindOf(formula.operation(node));
  const Winner winner = FindWinner(operands, kind, steps);
  if (!winner.place) return OfOnlyNan(kind);
  const Node own = operands[*winner.place];
  const ValueRule rule = winner.equals == 1 ? ValueRule::kMinMax
                         : kind.is_last     ? ValueRule::kLast
                                            : ValueRule::kFirst;
  return {rule, ExtremeReason(winner, steps.TextOf(own), operands.size(), kind), {own}};
}

Decision DecisionOfZero(const Formula& formula, Node node, FormulaSteps& steps) {
  const std::span<const Node> operands = formula.operands(node);
  const auto is_minus = [&](Node x) { return std::signbit(steps.ValueOf(x).number.head); };
  switch (formula.operation(node)) {
    case kProduct: {
      const auto zero =
          std::ranges::find_if(operands, [&](Node x) { return IsZero(steps.ValueOf(x)); });
      if (zero == operands.end()) break;
      Decision decision{
          ValueRule::kZeroSign,
          fmt::format("{} is 0; an {} number of {} is negative", steps.TextOf(*zero),
                      std::ranges::count_if(operands, is_minus) % 2 == 0 ? "even" : "odd",
                      formula.HasList(node) ? "elements" : "factors"),
          {}};
      // A field's number or a step's result may be 0, too.
      if (formula.operation(*zero) == kElement) decision.deciding.push_back(*zero);
      return decision;
    }
    case kSum:
    case kMean: {
      const std::string_view terms = formula.HasList(node) ? "elements" : "terms";
      return {ValueRule::kZeroSign,
              is_minus(node) ? fmt::format("all {} are -0; any other sum of zero is +0", terms)
                             : fmt::format("a sum of zeros is +0 unless all {} are -0", terms),
              {}};
    }
    default:
      break;
  }
  return {ValueRule::kZeroSign, "a zero with the sign that the steps give it", {}};
}

}  // namespace dmlop
