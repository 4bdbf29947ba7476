// As many multiply-adds as the processor can do, for nothing but to be timed.
#pragma once

#include <cstdint>

namespace dmlop {

// Does `count` multiply-adds of binary64 or a few more, in chains that do not wait for one another.
// The sum is of no use, but that nobody can leave the work out.
using MultiplyAddsFunction = double (*)(int64_t count);

MultiplyAddsFunction MultiplyAddsForIsa();

}  // namespace dmlop
