// Two tensors to one verdict: how many elements differ, where, and by how much.
//
// Errors are measured on elements that are finite on both sides. An element is a mismatch where
// exactly one side is NaN, or where an infinity stands against anything but itself; no tolerance
// lets it pass.
#pragma once

#include <span>

#include "core/compare/comparison.h"
#include "core/compare/difference_map.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Views of equal types and sizes, laid out in any way. The type is at least a byte wide. The maps,
// which are of the same sizes, are filled with the elements that do not pass.
Comparison Compare(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, std::span<DifferenceMap> maps = {});

}  // namespace dmlop
