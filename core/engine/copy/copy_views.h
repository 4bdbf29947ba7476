// Copies as one: JOIN writes one tensor from many, SPLIT reads one into many, UNFOLD reads it for
// each tap of its window.
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace dmlop {

struct Move {
  ConstTensorView from;
  TensorView to;
};

// Copies every element's bits. All views have one type, the two of a move equal sizes, and no
// destination overlaps anything.
void CopyAll(std::span<const Move> moves);

}  // namespace dmlop
