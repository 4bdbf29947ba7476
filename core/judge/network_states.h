// SPDX-License-Identifier: Apache-2.0
// Networks that round their states before they multiply them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/judge/computation.h"
#include "core/judge/float_format.h"
#include "core/tensor/element.h"

namespace dmlop {

// Computes elements of a network's output if hidden states are rounded where they are multiplied by
// weights, and nowhere else. Returns nothing for a network of two directions, one whose items have
// lengths of their own, or one with activations of all units together.
std::optional<std::vector<ElementBytes>> ElementsOfRoundedStates(const Computation& network,
                                                                 const FloatRounding& rounding,
                                                                 size_t output,
                                                                 std::span<const int64_t> elements);

}  // namespace dmlop
