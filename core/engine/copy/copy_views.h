// SPDX-License-Identifier: Apache-2.0
// Several copies at once: JOIN writes one tensor from many, SPLIT reads one into many, and UNFOLD
// reads one for each tap of its window.
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace dmlop {

struct Move {
  ConstTensorView from;
  TensorView to;
};

// Copies the bits of every element. All views have the same type, the two views of a move have
// equal sizes, and no destination overlaps any other view.
void CopyAll(std::span<const Move> moves);

}  // namespace dmlop
