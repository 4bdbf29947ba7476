// SPDX-License-Identifier: Apache-2.0
// Operators whose tensors and fields have interdependent sizes, which are drawn first and together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"
#include "tests/support/entropy.h"

namespace dmlop {

// Sets fields and tensor sizes, with the tensors' types already set, to match the sizes of a first
// tensor; leaves independent ones alone.
void DrawLinkedSizes(const Entropy& from, const std::vector<uint32_t>& sizes, OperatorDesc& op);

// Whether DrawLinkedSizes draws optional tensors, too.
bool DrawsOptionalTensors(const OperatorDesc& op);

// Draws the sizes of one operator.
struct LinkedSizes {
  std::string_view name;
  void (*draw)(const Entropy& from, const std::vector<uint32_t>& sizes, OperatorDesc& op);
  bool draws_tensors = false;  // also draws optional tensors: those that it omits stay omitted
};

// Rows defined in separate sources.
std::span<const LinkedSizes> AttentionSizes();
std::span<const LinkedSizes> IndexingSizes();
std::span<const LinkedSizes> IntegerProductSizes();
std::span<const LinkedSizes> NormalizationSizes();
std::span<const LinkedSizes> RecurrentSizes();
std::span<const LinkedSizes> RegionSizes();
std::span<const LinkedSizes> WindowSizes();

}  // namespace dmlop
