// Copies of bytes of which some become zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dmlop {

// to[i] = from[i] & kept[i].
using CopyKeptFunction = void (*)(int64_t bytes, std::byte* to, const std::byte* from,
                                  const std::byte* kept);

CopyKeptFunction CopyKeptForIsa();

}  // namespace dmlop
