// Results that are known within a relative error, rounded where that is enough.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// Rounds FLOAT64 results within a relative error to FLOAT32 or FLOAT16, `count` a multiple of
// kRowBlock. Returns how many of them could be rounded otherwise, and which in `unresolved`.
using RoundFunction = int64_t(double relative_error, int64_t count, std::byte* to,
                              const std::byte* from, int32_t* unresolved);
RoundFunction* RoundFunctionFor(DataType type);

}  // namespace dmlop
