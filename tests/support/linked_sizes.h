// Operators with tensors and fields whose sizes hang together: these are drawn first, and together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"
#include "tests/support/entropy.h"

namespace dmlop {

// Sets fields and the sizes of tensors, which have their types, around the sizes of a first tensor;
// leaves alone what hangs together with nothing.
void DrawLinkedSizes(const Entropy& from, const std::vector<uint32_t>& sizes, OperatorDesc& op);

// Whether that draws optional tensors, too.
bool DrawsOptionalTensors(const OperatorDesc& op);

// How the sizes of one operator are drawn.
struct LinkedSizes {
  std::string_view name;
  void (*draw)(const Entropy& from, const std::vector<uint32_t>& sizes, OperatorDesc& op);
  bool draws_tensors = false;  // optional ones, too: those that it leaves out stay so
};

// Those of sources of their own.
std::span<const LinkedSizes> AttentionSizes();
std::span<const LinkedSizes> IndexingSizes();
std::span<const LinkedSizes> IntegerProductSizes();
std::span<const LinkedSizes> NormalizationSizes();
std::span<const LinkedSizes> RecurrentSizes();
std::span<const LinkedSizes> RegionSizes();
std::span<const LinkedSizes> WindowSizes();

}  // namespace dmlop
