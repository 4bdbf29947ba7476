// Element-wise work between two views of equal sizes, cut into tiles that run in parallel.
#pragma once

#include <functional>

#include "core/kernels/copy.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Calls work(tile, to, from) on tiles that cover the views; `to` and `from` point at the tile's
// first elements. Views of equal sizes.
using TileWork = std::function<void(const CopyTile& tile, std::byte* to, const std::byte* from)>;
void ForEachTile(const ConstTensorView& from, const TensorView& to, const TileWork& work);

// Copies every element's bits. Views of equal types and sizes.
void CopyView(const ConstTensorView& from, const TensorView& to);

}  // namespace dmlop
