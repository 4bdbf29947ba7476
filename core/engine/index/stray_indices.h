// SPDX-License-Identifier: Apache-2.0
// Finds indices outside the dimension that they index, and warns of them (IDX-5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/tensor/tensor.h"

namespace dmlop {

struct StrayIndices {
  int64_t count = 0;
  int64_t first = 0;        // row-major number of the first one
  std::string first_value;  // in decimal
};

// The k-th index of a row-major walk belongs to a dimension of size sizes[k % sizes.size()].
StrayIndices FindStrayIndices(const ConstTensorView& indices, std::span<const int64_t> sizes);

// Warns if any of the indices `all` were found to be stray. `path` is that of their tensor;
// `what_happens` says whether they are clamped or not used.
void WarnOfStray(const StrayIndices& stray, std::string_view path, const Layout& all,
                 std::string_view what_happens, Diagnostics& diagnostics);

}  // namespace dmlop
