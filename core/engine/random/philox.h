// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 of Random123 (Salmon et al., 2011): a block cipher in counter mode.
#pragma once

#include <array>
#include <cstdint>

#include "core/tensor/tensor.h"

namespace dmlop {

// Words 0 to 3 count blocks of four numbers, the least first; words 4 and 5 are the key.
using PhiloxState = std::array<uint32_t, 6>;

// The state `blocks` blocks later, modulo 2^128.
PhiloxState Advanced(const PhiloxState& state, uint64_t blocks);

// The four numbers of the block at the state.
std::array<uint32_t, 4> PhiloxBlock(const PhiloxState& state);

// Fills a UINT32 output in row-major order with numbers, beginning at the state.
void FillRandomNumbers(const PhiloxState& state, const TensorView& output);

}  // namespace dmlop
