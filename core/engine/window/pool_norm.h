// SPDX-License-Identifier: Apache-2.0
// Norms of windows: roots of sums of powers.
#pragma once

#include <cstdint>

#include "core/engine/window/sliding_windows.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

// Computes `count` windows with the first taps x[i * step] into results[i]. T is float or Half.
template <typename T>
void NormsOf(const T* x, int64_t step, int64_t count, const LoopNest<1>& taps, uint32_t exponent,
             T* results);

// Computes a part of the output by sliding windows.
template <typename T>
void SlideNorms(const PoolDims& dims, const SlideAxes& axes, const ConstTensorView& input,
                uint32_t exponent, const TensorView& norms);

}  // namespace dmlop
