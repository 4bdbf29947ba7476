// SPDX-License-Identifier: Apache-2.0
// Values that functions have as numbers with an end, where vectors only approximate them.
#pragma once

#include <optional>
#include <span>

#include "core/exact/dyadic.h"
#include "core/exact/functions.h"

namespace dmlop {

// Numbers with more binary digits are not written out.
inline constexpr int64_t kMostProductBits = 1 << 15;

// x^exponent of finite numbers, x not 0; none where it has no end, or too many digits.
std::optional<Dyadic> ExactPower(double x, double exponent);

// As ExactElement, which gives `value`, finite and not 0; none where it is irrational.
std::optional<Dyadic> ExactValueOf(ElementWiseFunction function, std::span<const double> elements,
                                   std::span<const double> numbers, const HeadTail& value);

}  // namespace dmlop
