// SPDX-License-Identifier: Apache-2.0
// Operators whose tensors and fields have interdependent sizes, which are drawn first and together.
#pragma once

#include <span>
#include <string_view>

#include "core/fuzz/random_desc.h"

namespace dmlop {

// Draws the sizes of one operator.
struct SizesRow {
  std::string_view name;
  // Sets fields and tensor sizes, with the tensors' types already set, to match the sizes of a
  // first tensor; leaves independent ones alone.
  void (*draw)(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op);
  bool draws_tensors = false;  // also draws optional tensors: those that it omits stay omitted
};

// Null if the operator's sizes do not depend on one another.
const SizesRow* SizesRowOf(const OperatorInfo& info);

// Rows defined in separate sources.
std::span<const SizesRow> AttentionSizes();
std::span<const SizesRow> IndexingSizes();
std::span<const SizesRow> MovementSizes();
std::span<const SizesRow> NormalizationSizes();
std::span<const SizesRow> ProductSizes();
std::span<const SizesRow> RecurrentSizes();
std::span<const SizesRow> RegionSizes();
std::span<const SizesRow> WindowSizes();

}  // namespace dmlop
