// The reduce functions as accumulators, one struct a function and element type:
//
//   State                what has been seen of a group so far
//   Start(shift)         the state of an empty group; `shift` matters to LOG_SUM_EXP only
//   Add(state, x, i)     one more element x, whose row-major number in its group is i
//   Merge(state, other)  what another part of the same group has seen
//   Finish(state, n)     the result of a group of n elements
//
// Every state is exact or independent of order, but for MULTIPLY, whose parts are merged in order.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/exact/elementary.h"
#include "core/exact/exact_product.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/kernels/sum_endings.h"
#include "core/tensor/half.h"

namespace dmlop::reduce {

// --- products ------------------------------------------------------------------------------------

struct ProductState {
  ScaledProduct magnitude;
  bool negative = false;
  bool nan = false;
  bool zero = false;
  bool infinity = false;
};

template <typename T>
struct FloatProduct {
  using Input = T;
  using Output = T;
  using State = ProductState;

  static State Start(double) { return {}; }
  static void Add(State& state, T element, int64_t) {
    const double x = Widen(element);
    state.negative ^= std::signbit(x);
    if (std::isfinite(x) && x != 0) {
      state.magnitude.Multiply(std::fabs(x));
    } else {
      state.nan |= std::isnan(x);
      state.zero |= x == 0;
      state.infinity |= std::isinf(x);
    }
  }
  static void Merge(State& state, const State& other) {
    state.magnitude.Merge(other.magnitude);
    state.negative ^= other.negative;
    state.nan |= other.nan;
    state.zero |= other.zero;
    state.infinity |= other.infinity;
  }
  static T Finish(const State& state, int64_t) {
    if (state.nan || (state.zero && state.infinity)) return CanonicalNan<T>();
    if (state.infinity) return Infinity<T>(state.negative);
    if (state.zero) return Zero<T>(state.negative);
    const T magnitude = state.magnitude.template Round<T>();
    return RoundOnce<T>(state.negative ? -Widen(magnitude) : Widen(magnitude), 0.0);
  }
};

// --- LOG_SUM_EXP, in two passes ------------------------------------------------------------------

// First pass: the maximum of a group, NaN if it has one. It becomes the second pass's shift.
template <typename T>
struct ExpShift {
  using Input = T;
  using Output = double;
  struct State {
    double max = -INFINITY;
    bool nan = false;
  };

  static State Start(double) { return {}; }
  static void Add(State& state, T element, int64_t) {
    const double x = Widen(element);
    state.nan |= std::isnan(x);
    state.max = x > state.max ? x : state.max;
  }
  static void Merge(State& state, const State& other) {
    state.nan |= other.nan;
    state.max = other.max > state.max ? other.max : state.max;
  }
  static double Finish(const State& state, int64_t) {
    return state.nan ? CanonicalNan<double>() : state.max;
  }
};

// Second pass: the exact sum of e^(x - shift).
template <typename T>
struct LogSumExp {
  using Input = T;
  using Output = T;
  struct State {
    double shift;
    ExactSum sum;
  };

  static State Start(double shift) { return {shift, {}}; }
  static void Add(State& state, T x, int64_t) {
    if (std::isfinite(state.shift)) state.sum.Add(Exp(Widen(x) - state.shift));
  }
  static void Merge(State& state, const State& other) { state.sum.Merge(other.sum); }
  static T Finish(const State& state, int64_t) {
    if (!std::isfinite(state.shift)) return RoundOnce<T>(state.shift, 0.0);
    return LogOfExpSum<T>(state.shift, state.sum);
  }
};

}  // namespace dmlop::reduce
