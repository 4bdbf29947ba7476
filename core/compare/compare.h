// SPDX-License-Identifier: Apache-2.0
// Compares two tensors: how many elements differ, where, and by how much.
//
// Errors are measured on elements that are finite on both sides. An element is a mismatch if
// exactly one side is NaN, or if an infinity faces anything but itself; no tolerance lets it pass.
#pragma once

#include <cstddef>

#include "core/compare/comparison.h"
#include "core/compare/wrong_elements.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The optional results of a comparison.
struct ComparisonDetails {
  size_t most_listed = 0;          // number of worst differences to list
  WrongElements* wrong = nullptr;  // receives the elements that do not pass
  bool is_located = false;         // fills Comparison::where and classes
  // The elements' errors in units, which then decide which is worse. Those with allowed units pass.
  const UnitErrors* units = nullptr;
};

// Takes views of equal types and sizes, in any layout. The type is at least a byte wide. If both
// are packed, elements need not be aligned. The types may differ if both are floats: errors are
// then those of the values, and ULP are those of the actual type, counted from its number nearest
// to the expected value; an actual element that is this number passes.
Comparison Compare(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, const ComparisonDetails& details = {});

}  // namespace dmlop
