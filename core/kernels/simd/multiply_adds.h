// SPDX-License-Identifier: Apache-2.0
// Multiply-adds at the processor's peak rate, only to be timed.
#pragma once

#include <cstdint>

namespace dmlop {

// Does at least `count` multiply-adds of binary64, in independent chains. The sum is returned only
// to keep the compiler from leaving the work out.
using MultiplyAddsFunction = double (*)(int64_t count);

MultiplyAddsFunction MultiplyAddsForIsa();

}  // namespace dmlop
