// What a file holds that was taken for another.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace dmlop {

// "a zip archive", as far as the first bytes tell; empty where they do not.
std::string_view KindOfContent(std::span<const std::byte> bytes);

}  // namespace dmlop
