// Two tensors to one verdict: how many elements differ, where, and by how much.
//
// Errors are measured on elements that are finite on both sides. An element is a mismatch where
// exactly one side is NaN, or where an infinity stands against anything but itself; no tolerance
// lets it pass.
#pragma once

#include <cstddef>
#include <span>

#include "core/compare/comparison.h"
#include "core/compare/difference_map.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// What a comparison tells beside its figures.
struct ComparisonDetails {
  std::span<DifferenceMap> maps = {};  // of the tensors' sizes; filled with what does not pass
  size_t most_listed = 0;              // of the worst differences
};

// Views of equal types and sizes, laid out in any way. The type is at least a byte wide. Where both
// are packed, elements need not be aligned. The types may differ where both are of floats: then
// errors are those of the values, and ULP those of the actual type, counted from its number that is
// nearest to what is expected; where that is the actual one, the element passes.
Comparison Compare(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, const ComparisonDetails& details = {});

}  // namespace dmlop
