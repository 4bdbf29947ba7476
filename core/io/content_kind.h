// SPDX-License-Identifier: Apache-2.0
// Names the kind of a file that was taken for another.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace dmlop {

// Returns "a zip archive" or the like, as far as the first bytes tell; otherwise empty.
std::string_view KindOfContent(std::span<const std::byte> bytes);

}  // namespace dmlop
