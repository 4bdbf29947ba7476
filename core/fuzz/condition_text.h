// SPDX-License-Identifier: Apache-2.0
// Conditions in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/fuzz/conditions.h"

namespace dmlop {

// The value of values:InputTensor in the smallest case.
inline constexpr std::string_view kAsInCase = "as in the case";

// "fails with W mod 16 = 15; any field, any other size, FLOAT32". `types` are those that fail.
std::string TextOf(const Conditions& conditions, const std::vector<std::string>& types);

// "; with Direction and Strides[0] kept", or nothing.
std::string KeptText(const std::vector<DescriptorChange>& kept);

}  // namespace dmlop
