// SPDX-License-Identifier: Apache-2.0
// Copies views, also several at once: JOIN writes one tensor from many, SPLIT reads one into many,
// and UNFOLD reads one for each tap of its window.
#pragma once

#include <functional>
#include <span>

#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace dmlop {

struct Move {
  ConstTensorView from;
  TensorView to;
};

// Copies the bits of every element. All views have the same type, the two views of a move have
// equal sizes, and no destination overlaps any other view.
void CopyAll(std::span<const Move> moves);

// --- work between two views of equal sizes, cut into tiles that run in parallel ------------------

// Copies the bits of every element. The views have equal types and sizes, and overlap only if they
// are the same elements in the same layout.
void CopyView(const ConstTensorView& from, const TensorView& to);

// Computes each element from the one at the same place; `row` computes adjacent elements, and its
// `to` and `from` may be equal. A row that `streams` bypasses the caches. The views have equal
// types and sizes.
using RowWork =
    std::function<void(int64_t count, std::byte* to, const std::byte* from, bool streams)>;
void ComputeView(const ConstTensorView& from, const TensorView& to, const RowWork& row);

// --- fills ---------------------------------------------------------------------------------------

// The first bytes of `value` hold an element of the output's type.
inline void FillView(const ElementBytes& value, const TensorView& output) {
  const Dims& sizes = output.layout.sizes;
  CopyView({value.data(), output.type, {sizes, Dims::Filled(sizes.size(), 0)}}, output);
}

}  // namespace dmlop
