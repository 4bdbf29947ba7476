// SPDX-License-Identifier: Apache-2.0
// Draws the values of an operator's inputs by class. Indices, lengths, divisors and the like are
// such that DirectML says what happens, unless the caller asks for all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/fuzz/elements.h"
#include "core/judge/computation.h"

namespace dmlop {

// By paths of tensors; ordinary where one is missing.
using ValueClasses = std::map<std::string, InputClass, std::less<>>;

// Returns the classes that an input may have: integers have neither subnormals nor infinities, and
// indices are ordinary. Unless `open`, NaN and infinities are left out where DirectML does not say
// which operand an operator chooses.
std::span<const InputClass> ValueClassesOf(const OperatorDesc& op, const TensorSlot& input,
                                           bool open);

// Draws all inputs of a valid descriptor, in the layouts that it states. The values of an input
// depend on its class, its sizes and `draw`, not on other inputs, apart from what must differ for
// the case to be valid. Returns nothing if no values were found of which nothing warns.
std::optional<Computation> DrawInputs(const OperatorDesc& op, const ValueClasses& classes,
                                      uint64_t draw, bool open = false);

}  // namespace dmlop
