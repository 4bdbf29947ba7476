// SPDX-License-Identifier: Apache-2.0
// Arithmetics that change what an operator reads, or what becomes of its results.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/exact/double_double.h"
#include "core/judge/arithmetic.h"
#include "core/judge/computation.h"

namespace dmlop {

// --- inputs --------------------------------------------------------------------------------------

bool ChangesInputs(const ArithmeticVariation& variation);

// The inputs whose elements are multiplied by those of other ones, by number; all if none are.
std::vector<bool> FactorsOf(const OperatorDesc& op, InputViews inputs, size_t output);

// The same operator on the inputs as the device reads them.
Computation WithChangedInputs(Computation computation, const ArithmeticVariation& variation,
                              size_t output);

// --- outputs -------------------------------------------------------------------------------------

bool ChangesOutputs(const ArithmeticVariation& variation);

void ChangeOutputs(const ArithmeticVariation& variation, DataType type,
                   std::span<ElementBytes> elements);

// `rounded` is the element that is nearest to an exact number.
ElementBytes TowardZero(DataType type, const ElementBytes& rounded, DoubleDouble exact);
// A FLOAT16 that is rounded to FLOAT32 before.
ElementBytes ThroughFloat32(DoubleDouble exact);

}  // namespace dmlop
