// Element-wise work between two views of equal sizes, cut into tiles that run in parallel.
#pragma once

#include <functional>

#include "core/tensor/tensor.h"

namespace dmlop {

// Copies every element's bits. Views of equal types and sizes, which do not overlap unless they are
// the same elements in the same layout.
void CopyView(const ConstTensorView& from, const TensorView& to);

// Computes each element from the one at its place, as `row` computes adjacent ones; `to` and `from`
// of a row may be the same. A row that `streams` is written past the caches. Views of equal types
// and sizes.
using RowWork =
    std::function<void(int64_t count, std::byte* to, const std::byte* from, bool streams)>;
void ComputeView(const ConstTensorView& from, const TensorView& to, const RowWork& row);

}  // namespace dmlop
