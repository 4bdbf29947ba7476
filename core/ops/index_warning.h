// SPDX-License-Identifier: Apache-2.0
// Warnings of indices that select nothing (IDX-5).
#pragma once

#include <string_view>

#include "core/base/diagnostic.h"
#include "core/engine/index/stray_indices.h"

namespace dmlop {

// Warns if any of the indices `all` were found to be stray. `path` is that of their tensor;
// `what_happens` says whether they are clamped or not used.
void WarnOfStray(const StrayIndices& stray, std::string_view path, const Layout& all,
                 std::string_view what_happens, Diagnostics& diagnostics);

}  // namespace dmlop
