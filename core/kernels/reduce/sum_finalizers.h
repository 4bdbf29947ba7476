// SPDX-License-Identifier: Apache-2.0
// Functors that finalize sums of floats: each turns the sum of a group into the function's result.
//
//   Of(sum, n)                       takes an exact sum of n finite terms, not all of them zero
//   OfZero(zero)                     takes terms that are all zero; `zero` is their sum, signed
//   OfSpecial(sum)                   takes the IEEE 754 sum of terms that are not all finite
//   Decide(sum, bound, n, result)    takes a sum as in Of that is known within `bound`; false
//                                    if that does not suffice to know what Of would return
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "core/exact/double_double.h"
#include "core/exact/elementary.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/kernels/reduce/sum_map.h"
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

template <typename T>
T Infinity(bool negative) {
  return RoundOnce<T>(negative ? -INFINITY : INFINITY);
}
template <typename T>
T Zero(bool negative) {
  return RoundOnce<T>(negative ? -0.0 : 0.0);
}

// --- sums of floats ------------------------------------------------------------------------------

// Rounds a value within `bound` of head + tail if that leaves only one result.
template <typename T>
bool DecideRounding(double head, double tail, double bound, T& result) {
  const std::optional<T> rounded = RoundWithin<T>({head, tail}, bound);
  if (rounded) result = *rounded;
  return rounded.has_value();
}

// For zeros and special values, averages and roots are equal to their sums.
struct LikeSums {
  template <typename T>
  static T OfZero(double zero) {
    return RoundOnce<T>(zero);
  }
  template <typename T>
  static T OfSpecial(double sum) {
    return RoundOnce<T>(sum);
  }
};

struct Rounded : LikeSums {
  template <typename T>
  static T Of(const ExactSum& sum, int64_t) {
    return RoundSum<T>(sum);
  }
  template <typename T>
  static bool Decide(const HeadTail& sum, double bound, int64_t, T& result) {
    return DecideRounding(sum.head, sum.tail, bound, result);
  }
};

struct Averaged : LikeSums {
  template <typename T>
  static T Of(const ExactSum& sum, int64_t n) {
    return RoundQuotient<T>(sum, static_cast<uint64_t>(n));
  }
  template <typename T>
  static bool Decide(const HeadTail& sum, double bound, int64_t n, T& result) {
    const double divisor = static_cast<double>(n);
    const double head = sum.head / divisor;
    const double remainder = std::fma(-head, divisor, sum.head) + sum.tail;
    const double tail = remainder / divisor;
    // The fused operation is exact, so that only the tail is rounded.
    const double more = std::fabs(tail) * 0x1p-50;
    return DecideRounding(head, tail, bound / divisor * 1.01 + more, result);
  }
};

struct SquareRooted : LikeSums {
  template <typename T>
  static T Of(const ExactSum& sum, int64_t) {
    return RoundSquareRoot<T>(sum);
  }
  template <typename T>
  static bool Decide(const HeadTail& sum, double bound, int64_t, T& result) {
    const double head = std::sqrt(sum.head);
    const double remainder = std::fma(-head, head, sum.head) + sum.tail;
    const double tail = remainder / (2 * head);
    // The fused operation is exact; the next term of the series is tail^2 / (2 * head). A bound is
    // less than a hundredth of the sum, so the root is off by at most 1.01 * bound / (2 * head).
    const double more = std::fabs(tail) * 0x1p-50 + tail * tail / head;
    return DecideRounding(head, tail, bound / head * 0.51 + more, result);
  }
};

struct Logged {
  template <typename T>
  static T Of(const ExactSum& sum, int64_t) {
    return LogOfSum<T>(sum);
  }
  template <typename T>
  static T OfZero(double) {
    return Infinity<T>(true);
  }
  template <typename T>
  static T OfSpecial(double sum) {
    return sum > 0 ? Infinity<T>(false) : CanonicalNan<T>();
  }
  template <typename T>
  static bool Decide(const HeadTail& sum, double bound, int64_t, T& result) {
    if (sum.head < -2 * bound) {
      result = CanonicalNan<T>();
      return true;
    }
    if (sum.head <= 2 * bound) return false;
    if (LogOfSum<T>({sum, bound}, result)) return true;
    const bool near_one = std::fabs(sum.head - 1) < 0.25;
    const double log = near_one ? Log1p((sum.head - 1) + sum.tail) : Log(sum.head);
    const double more = near_one ? 0 : sum.tail / sum.head;
    // The logarithms here and of the exact sum may differ by this, apart from the sums.
    const double log_bound = 0x1p-50 * std::fabs(log);
    return DecideRounding(log, more, 2 * bound / sum.head + log_bound, result);
  }
};

// The functions of a functor, where it is not known at compile time.
template <typename T>
struct Finalizer {
  T (*of)(const ExactSum& sum, int64_t n);
  T (*of_zero)(double zero);
  T (*of_special)(double sum);
  bool (*decide)(const HeadTail& sum, double bound, int64_t n, T& result);
};

template <typename T, typename Functor>
constexpr Finalizer<T> kFinalizer = {Functor::template Of<T>, Functor::template OfZero<T>,
                                     Functor::template OfSpecial<T>, Functor::template Decide<T>};

template <typename T>
Finalizer<T> FinalizerFor(SumFinalizer finalizer) {
  switch (finalizer) {
    case SumFinalizer::kAverage:
      return kFinalizer<T, Averaged>;
    case SumFinalizer::kSquareRoot:
      return kFinalizer<T, SquareRooted>;
    case SumFinalizer::kLog:
      return kFinalizer<T, Logged>;
    case SumFinalizer::kItself:
      break;
  }
  return kFinalizer<T, Rounded>;
}

}  // namespace dmlop::reduce
