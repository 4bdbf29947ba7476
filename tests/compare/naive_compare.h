// SPDX-License-Identifier: Apache-2.0
// The comparison of two tensors by its definition, one element at a time.
#pragma once

#include "core/compare/comparison.h"

namespace dmlop {

Comparison NaiveCompare(const ConstTensorView& actual, const ConstTensorView& expected,
                        const Tolerance& tolerance);

// Compares every field, doubles by their bits.
void ExpectSame(const Comparison& actual, const Comparison& expected);

}  // namespace dmlop
