// SPDX-License-Identifier: Apache-2.0
#include "core/ops/index_warning.h"

#include "core/base/counted.h"

#include <fmt/ranges.h>

namespace dmlop {

void WarnOfStray(const StrayIndices& stray, std::string_view path, const Layout& all,
                 std::string_view what_happens, Diagnostics& diagnostics) {
  if (stray.count == 0) return;
  const Dims first = IndexOf(all.sizes, stray.first);
  diagnostics.Warning("IDX-5", std::string(path),
                      fmt::format("{} of {} {} out of range and {}; the first is {} at [{}]; "
                                  "such elements judge no device",
                                  stray.count, Counted(all.element_count(), "index"),
                                  ForCount(stray.count, "is", "are"), what_happens,
                                  stray.first_value, fmt::join(first.begin(), first.end(), ", ")));
}

}  // namespace dmlop
