// SPDX-License-Identifier: Apache-2.0
// Powers and roots in binary64. Each is a sequence of IEEE operations, so that its bits are the
// same on every machine.
#pragma once

#include <cstdint>
#include <span>

#include "core/kernels/window/pool_row.h"

namespace dmlop {

// Replaces each base, which must be positive and finite, by e^(exponent * ln(base)), with Exp and
// Log of core/exact/elementary.h; a power outside of [e^-700, e^700] by that bound.
void RaiseAll(std::span<double> bases, double exponent);

// Stores, for each window, the root of the sum of its magnitudes' powers. The row's offsets are not
// used, but `taps`.
template <typename T>
using PoolNormKernel = void (*)(const PoolRow<T>& row, const TapLoops& taps, uint32_t exponent,
                                double* norms);

// T is float or Half.
template <typename T>
PoolNormKernel<T> PoolNormKernelFor();

}  // namespace dmlop
