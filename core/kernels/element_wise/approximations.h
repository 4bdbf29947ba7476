// SPDX-License-Identifier: Apache-2.0
// Rounds results that are known within a relative error, where that suffices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// Rounds FLOAT64 results, known within a relative error, to FLOAT32 or FLOAT16; `count` is a
// multiple of kRowBlock. Returns how many of them the error leaves undecided, and their indices in
// `unresolved`.
using RoundFunction = int64_t(double relative_error, int64_t count, std::byte* to,
                              const std::byte* from, int32_t* unresolved);
RoundFunction* RoundFunctionFor(DataType type);

}  // namespace dmlop
