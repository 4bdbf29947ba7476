// SPDX-License-Identifier: Apache-2.0
// Finds the greatest tap of each window.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/min_max.h"
#include "core/kernels/window/pool_row.h"

namespace dmlop {

// Stores the key of each window's greatest tap, and the number of the first tap with that key.
using PoolWinnerKernel = void (*)(const PoolRow<float>& row, KeyOf<float>* keys, int32_t* taps);

PoolWinnerKernel PoolWinnerKernelFor();

}  // namespace dmlop
