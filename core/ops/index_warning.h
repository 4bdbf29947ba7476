// What is said of indices that choose nothing (IDX-5).
#pragma once

#include <string_view>

#include "core/base/diagnostic.h"
#include "core/engine/index/stray_indices.h"

namespace dmlop {

// Warns of those that were found, if any, among `all`; `path` is their tensor's, and `what_happens`
// to them is that they are clamped, or not used.
void WarnOfStray(const StrayIndices& stray, std::string_view path, const Layout& all,
                 std::string_view what_happens, Diagnostics& diagnostics);

}  // namespace dmlop
