// SPDX-License-Identifier: Apache-2.0
// Networks that round their states before they multiply them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/arithmetic/float_format.h"
#include "core/tensor/element.h"

namespace dmlop {

// Returns, for an element of a network's output, one of the first direction and of the longest
// item, so that it has steps before it where any has.
Region InLongItem(const OperatorDesc& network, InputViews inputs, Region element);

// Computes elements of a network's output if hidden states are rounded where they are multiplied by
// weights, and nowhere else. Returns nothing for a network with activations of all units together.
std::optional<std::vector<ElementBytes>> ElementsOfRoundedStates(const Computation& network,
                                                                 const FloatRounding& rounding,
                                                                 size_t output,
                                                                 std::span<const int64_t> elements);

}  // namespace dmlop
