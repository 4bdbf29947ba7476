// Several copies as one: JOIN writes one tensor from many, SPLIT reads one into many.
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace dmlop {

struct ViewCopy {
  ConstTensorView from;
  TensorView to;
};

// Copies every element's bits. All views have one type, the two of a copy equal sizes, and no
// destination overlaps anything.
void CopyViews(std::span<const ViewCopy> copies);

}  // namespace dmlop
