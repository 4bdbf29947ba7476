// SPDX-License-Identifier: Apache-2.0
// Memory of mapped files.
#pragma once

#include <cstddef>
#include <span>

namespace dmlop {

// Gives back the pages that lie within bytes of a mapped file. What is read again comes from the
// file.
void ReleasePages(std::span<const std::byte> bytes);

}  // namespace dmlop
