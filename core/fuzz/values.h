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
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/fuzz/elements.h"
#include "core/fuzz/entropy.h"
#include "core/ops/operator.h"

namespace dmlop {

// By paths of tensors; ordinary where one is missing.
using ValueClasses = std::map<std::string, InputClass, std::less<>>;

// Returns the classes that an input may have: integers have neither subnormals nor infinities, and
// indices are ordinary or below 0. Unless `open`, NaN and infinities are left out where DirectML
// does not say which operand an operator chooses.
std::span<const InputClass> ValueClassesOf(const OperatorDesc& op, const TensorSlot& input,
                                           bool open);

// Draws all inputs of a valid descriptor, in the layouts that it states. The values of an input
// depend on its class, its sizes and `draw`, not on other inputs, apart from what must differ for
// the case to be valid. Returns nothing if no values were found of which nothing warns.
std::optional<Computation> DrawInputs(const OperatorDesc& op, const ValueClasses& classes,
                                      uint64_t draw, bool open = false);

// Returns the operator with inputs that are 0 everywhere, where only the descriptor matters.
Computation WithZeros(const OperatorDesc& op);

// Returns whether nothing warns of the values of inputs, such as indices out of range.
bool HasSoundValues(const Computation& computation);

// --- operators that need certain values ----------------------------------------------------------

// The numbers that an input usually has, or must have.
ValueDomain DomainOf(const OperatorDesc& op, const TensorSlot& input);

// The numbers among which an operator chooses in a way that DirectML does not define if some are
// NaN.
enum class Choice : uint8_t {
  kNone,      // it chooses none, or NaN does what IEEE 754 says
  kOfInputs,  // as they are: only NaN itself is open
  kOfValues,  // computed from inputs by a step that makes NaN of infinities, or becoming integers
  kOfSums,    // which may be NaN where partial sums are infinite
};
Choice ChoiceOf(const OperatorDesc& op);

// Returns whether an input has indices, whose range depends on sizes.
bool HasIndices(const TensorSlot& input);

// Returns whether indices are tuples, along the last dimension.
bool HasTuples(const OperatorDesc& op);

// Returns whether the input has the places that an operator writes to. No two of them may be the
// same.
bool HasPlaces(const OperatorDesc& op, const TensorSlot& input);

// Fills a tensor for which HasPlaces holds. Returns false if there are fewer places than elements,
// or if its elements overlap.
bool DrawPlaces(const OperatorDesc& op, RandomEngine& engine, const TensorView& places);

// Changes elements for which DirectML does not say what happens, such as divisors of 0.
void MendValues(const OperatorDesc& op, const TensorSlot& input, const TensorView& values);

// --- indices -------------------------------------------------------------------------------------

// Draws values of an input with indices, whatever DirectML leaves open: most are in range or a
// little outside, on either side of 0 if the type is signed; some keep their values.
void DrawIndices(const Entropy& from, const OperatorDesc& desc, const TensorView& view);

// --- simpler values ------------------------------------------------------------------------------

// A number that is lower for simpler values: all equal, 0 and 1, small integers, few non-zero.
int64_t ComplexityOf(const ConstTensorView& input);

// Returns cases with other values of an input, in its layout, the simplest first. Integers become 0
// only where one is 0 already, as they may be divisors.
std::vector<Computation> WithSimplerValues(const Computation& original, size_t input);

}  // namespace dmlop
