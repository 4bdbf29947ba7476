#include <cmath>

#include "core/explain/calculate_reduce.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// What a pass over the group finds out.
struct Winner {
  std::optional<int64_t> place;  // none while all are NaN
  int64_t equals = 0;            // as good as that, itself included
  int64_t nan_count = 0;
  bool beats_other_zero = false;
};

template <typename T>
bool IsNan(T x) {
  return std::isnan(AsDouble(x));
}

// As ordered values: for MIN and MAX -0 is less than +0, for ARGMIN and ARGMAX they are equal.
template <typename T>
bool IsLess(T a, T b, bool zeros_differ) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    const double x = AsDouble(a);
    const double y = AsDouble(b);
    return x < y || (zeros_differ && x == y && std::signbit(x) && !std::signbit(y));
  }
}

template <typename T>
Winner FindWinner(const Group& group, bool greatest, bool zeros_differ, bool takes_last) {
  Winner winner;
  T best{};
  bool other_zero = false;  // than the best, which is a zero, too
  ForEach<T>(group, [&](int64_t k, T x) {
    if (IsNan(x)) {
      ++winner.nan_count;
      return;
    }
    const bool better =
        !winner.place || (greatest ? IsLess(best, x, zeros_differ) : IsLess(x, best, zeros_differ));
    const bool worse =
        winner.place && (greatest ? IsLess(x, best, zeros_differ) : IsLess(best, x, zeros_differ));
    if (winner.place && AsDouble(x) == 0 && AsDouble(best) == 0 && (better || worse)) {
      other_zero = true;
    } else if (better) {
      other_zero = false;
    }
    if (better) {
      winner.equals = 0;
      best = x;
    }
    if (better || (takes_last && !worse)) winner.place = k;
    if (!worse) ++winner.equals;
  });
  winner.beats_other_zero = other_zero;
  return winner;
}

}  // namespace

Calculation ExplainMinMax(ReduceFunction function, bool takes_last, const Group& group) {
  const bool gives_index =
      function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin;
  const bool greatest = function == ReduceFunction::kArgMax || function == ReduceFunction::kMax;
  Winner winner;
  VisitDataType(
      Join<Floats, Integers64, Integers32, Integers16, Integers8>(), group.view.type,
      [&]<typename T>() { winner = FindWinner<T>(group, greatest, !gives_index, takes_last); });

  const std::string_view end = takes_last ? "last" : "first";
  Calculation calculation;
  if (!winner.place) {
    calculation.rule = ValueRule::kOnlyNan;
    calculation.reason = fmt::format(
        "all elements are NaN{}", !gives_index ? "" : fmt::format("; the {} index is taken", end));
    return calculation;
  }
  calculation.deciding = {*winner.place};
  calculation.rule = winner.equals == 1 ? ValueRule::kMinMax
                     : takes_last       ? ValueRule::kLast
                                        : ValueRule::kFirst;
  const std::string_view extreme = greatest ? "greatest" : "least";
  calculation.reason =
      winner.equals > 1 ? fmt::format("{} is the {} of {} equal {} elements",
                                      group.NameOf(*winner.place), end, winner.equals, extreme)
                        : fmt::format("{} is the {} element", group.NameOf(*winner.place), extreme);
  if (gives_index && group.count() > 1) {
    calculation.reason += fmt::format(", number {} of the group in row-major order", *winner.place);
  }
  if (winner.beats_other_zero) {
    calculation.reason += greatest ? "; +0 is greater than -0" : "; -0 is less than +0";
  }
  if (winner.nan_count > 0) {
    calculation.reason +=
        fmt::format("; {} NaN {} skipped", winner.nan_count, winner.nan_count == 1 ? "is" : "are");
  }
  return calculation;
}

}  // namespace dmlop
