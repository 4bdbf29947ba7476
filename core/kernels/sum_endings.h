// How sums of floats end: what has been seen of a group becomes the function's result.
//
//   Of(state, n)                     from the exact sum of n terms
//   OfZero(zero)                     from terms that are all zero, whose sum is `zero`, sign
//   included Decide(sum, bound, n, result)    from a sum that is known within `bound`; false where
//   that is
//                                    not enough to know what Of would give
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/exact/elementary.h"
#include "core/exact/error_free.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/half.h"

namespace dmlop::reduce {

template <typename T>
T CanonicalNan();
template <>
inline float CanonicalNan<float>() {
  return std::bit_cast<float>(0x7FC00000u);
}
template <>
inline Half CanonicalNan<Half>() {
  return Half{0x7E00};
}
template <>
inline double CanonicalNan<double>() {
  return std::bit_cast<double>(0x7FF8000000000000u);
}

inline double Widen(float x) {
  return static_cast<double>(x);
}
inline double Widen(Half x) {
  return static_cast<double>(ToFloat(x));
}

template <typename T>
T Infinity(bool negative) {
  return RoundOnce<T>(negative ? -INFINITY : INFINITY, 0.0);
}
template <typename T>
T Zero(bool negative) {
  return RoundOnce<T>(negative ? -0.0 : 0.0, 0.0);
}

// --- sums of floats ------------------------------------------------------------------------------

// An exact sum with what a sum of numbers cannot hold.
struct SumState {
  ExactSum sum;
  bool nan = false;
  bool positive_infinity = false;
  bool negative_infinity = false;
  bool only_negative_zeros = true;

  void Add(double x) {
    only_negative_zeros &= x == 0 && std::signbit(x);
    if (std::isfinite(x)) {
      sum.Add(x);
    } else {
      nan |= std::isnan(x);
      positive_infinity |= x > 0;
      negative_infinity |= x < 0;
    }
  }

  void Merge(const SumState& other) {
    sum.Merge(other.sum);
    nan |= other.nan;
    positive_infinity |= other.positive_infinity;
    negative_infinity |= other.negative_infinity;
    only_negative_zeros &= other.only_negative_zeros;
  }

  // The result where the sum is not an ordinary number, else what `round` makes of the exact sum.
  template <typename T, typename Round>
  T Finish(Round&& round) const {
    if (nan || (positive_infinity && negative_infinity)) return CanonicalNan<T>();
    if (positive_infinity || negative_infinity) return Infinity<T>(negative_infinity);
    if (only_negative_zeros) return Zero<T>(true);
    return round(sum);
  }
};

// The rounding of a value within `bound` of head + tail, if that leaves no choice.
template <typename T>
bool DecideRounding(double head, double tail, double bound, T& result) {
  const HeadTail low = TwoSum(head, tail - bound);
  const HeadTail high = TwoSum(head, tail + bound);
  result = RoundOnce<T>(low.head, low.tail);
  const T other = RoundOnce<T>(high.head, high.tail);
  return std::memcmp(&result, &other, sizeof(T)) == 0;
}

// RoundOnce of a zero keeps its sign only if the tail has it too.
template <typename T>
T RoundZero(double zero) {
  return RoundOnce<T>(zero, zero);
}

struct Rounded {
  template <typename T>
  static T Of(const SumState& state, int64_t) {
    return state.Finish<T>([](const ExactSum& sum) { return RoundSum<T>(sum); });
  }
  template <typename T>
  static T OfZero(double zero) {
    return RoundZero<T>(zero);
  }
  template <typename T>
  static bool Decide(HeadTail sum, double bound, int64_t, T& result) {
    return DecideRounding(sum.head, sum.tail, bound, result);
  }
};

struct Averaged {
  template <typename T>
  static T Of(const SumState& state, int64_t n) {
    return state.Finish<T>(
        [n](const ExactSum& sum) { return RoundQuotient<T>(sum, static_cast<uint64_t>(n)); });
  }
  template <typename T>
  static T OfZero(double zero) {
    return RoundZero<T>(zero);
  }
  template <typename T>
  static bool Decide(HeadTail sum, double bound, int64_t n, T& result) {
    const double divisor = static_cast<double>(n);
    const double head = sum.head / divisor;
    const double remainder = std::fma(-head, divisor, sum.head) + sum.tail;
    // The roundings here are far below the last place of the head.
    return DecideRounding(head, remainder / divisor,
                          bound / divisor * 1.01 + std::fabs(head) * 0x1p-90, result);
  }
};

struct SquareRooted {
  template <typename T>
  static T Of(const SumState& state, int64_t) {
    return state.Finish<T>([](const ExactSum& sum) { return RoundSquareRoot<T>(sum); });
  }
  template <typename T>
  static T OfZero(double zero) {
    return RoundZero<T>(zero);
  }
  template <typename T>
  static bool Decide(HeadTail sum, double bound, int64_t, T& result) {
    const double head = std::sqrt(sum.head);
    const double remainder = std::fma(-head, head, sum.head) + sum.tail;
    return DecideRounding(head, remainder / (2 * head), bound / head + head * 0x1p-90, result);
  }
};

struct Logged {
  template <typename T>
  static T Of(const SumState& state, int64_t) {
    if (state.negative_infinity) return CanonicalNan<T>();
    if (state.only_negative_zeros) return Infinity<T>(true);
    return state.Finish<T>([](const ExactSum& sum) { return LogOfSum<T>(sum); });
  }
  template <typename T>
  static T OfZero(double) {
    return Infinity<T>(true);
  }
  template <typename T>
  static bool Decide(HeadTail sum, double bound, int64_t, T& result) {
    if (sum.head <= 2 * bound) return false;
    const double log = Log(sum.head);
    // What Log and the logarithm of the exact sum may differ by, besides what the sums do.
    const double log_bound = 0x1p-50 * (1 + std::fabs(log));
    return DecideRounding(log, sum.tail / sum.head, 2 * bound / sum.head + log_bound, result);
  }
};

}  // namespace dmlop::reduce
