// SPDX-License-Identifier: Apache-2.0
// The measure of the errors of single elements, for maps.
#pragma once

#include <cstdint>
#include <functional>

#include "core/tensor/tensor.h"

namespace dmlop {

enum class ErrorMeasure { kUlp, kUnits, kAbsolute, kRelative };

// Returns the error of the element with a row-major number. It is NaN if only one side is NaN or
// infinite, and infinite if it is relative to 0.
using ElementError = std::function<double(int64_t number)>;

// Measures in anything but units, which take an operator. The views must outlive the result; they
// are as for Compare.
ElementError ElementErrorOf(const ConstTensorView& actual, const ConstTensorView& expected,
                            ErrorMeasure measure);

}  // namespace dmlop
