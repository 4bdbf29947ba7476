// SPDX-License-Identifier: Apache-2.0
// Element-wise work between two views of equal sizes, cut into tiles that run in parallel.
#pragma once

#include <functional>

#include "core/tensor/tensor.h"

namespace dmlop {

// Copies the bits of every element. The views have equal types and sizes, and overlap only if they
// are the same elements in the same layout.
void CopyView(const ConstTensorView& from, const TensorView& to);

// Computes each element from the one at the same place; `row` computes adjacent elements, and its
// `to` and `from` may be equal. A row that `streams` bypasses the caches. The views have equal
// types and sizes.
using RowWork =
    std::function<void(int64_t count, std::byte* to, const std::byte* from, bool streams)>;
void ComputeView(const ConstTensorView& from, const TensorView& to, const RowWork& row);

}  // namespace dmlop
