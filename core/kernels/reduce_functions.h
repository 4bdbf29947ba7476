// MULTIPLY as an accumulator:
//
//   State                what has been seen of a group so far
//   Add(state, x)        one more element x
//   Merge(state, other)  what another part of the same group has seen, which comes next in order
//   Finish(state)        the result
#pragma once

#include <cmath>

#include "core/exact/exact_product.h"
#include "core/exact/rounding.h"
#include "core/kernels/sum_endings.h"
#include "core/tensor/half.h"

namespace dmlop::reduce {

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

  static void Add(State& state, T element) {
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
  static T Finish(const State& state) {
    if (state.nan || (state.zero && state.infinity)) return CanonicalNan<T>();
    if (state.infinity) return Infinity<T>(state.negative);
    if (state.zero) return Zero<T>(state.negative);
    const T magnitude = state.magnitude.template Round<T>();
    return RoundOnce<T>(state.negative ? -Widen(magnitude) : Widen(magnitude), 0.0);
  }
};

}  // namespace dmlop::reduce
