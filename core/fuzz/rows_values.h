// SPDX-License-Identifier: Apache-2.0
// What the values of inputs must be so that DirectML says what happens, and what they usually are.
#pragma once

#include "core/fuzz/elements.h"
#include "core/ops/operator.h"

namespace dmlop {

// The numbers that an input usually has, or must have.
ValueDomain DomainOf(const OperatorDesc& op, const TensorSlot& input);

// Among which numbers an operator chooses in a way that DirectML does not say where some are NaN.
enum class Choice : uint8_t {
  kNone,      // it chooses none, or NaN does what IEEE 754 says
  kOfInputs,  // as they are: only NaN itself is open
  kOfValues,  // computed from inputs by a step that makes NaN of infinities, or becoming integers
  kOfSums,    // which may be NaN where partial sums are infinite
};
Choice ChoiceOf(const OperatorDesc& op);

// Whether an input has indices, whose range depends on sizes.
bool HasIndices(const OperatorDesc& op, const TensorSlot& input);

// Whether indices are tuples, along the last dimension.
bool HasTuples(const OperatorDesc& op);

// Whether the input has the places that an operator writes to. No two of them may be the same.
bool HasPlaces(const OperatorDesc& op, const TensorSlot& input);

// Fills a tensor for which HasPlaces holds. Returns false if there are fewer places than elements,
// or if its elements overlap.
bool DrawPlaces(const OperatorDesc& op, RandomEngine& engine, const TensorView& places);

// Changes elements for which DirectML does not say what happens, such as divisors of 0.
void MendValues(const OperatorDesc& op, const TensorSlot& input, const TensorView& values);

}  // namespace dmlop
