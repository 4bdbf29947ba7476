// SPDX-License-Identifier: Apache-2.0
// The manual page of a group of operators, in mdoc(7).
#pragma once

#include <string>
#include <string_view>

#include "core/ops/groups.h"

namespace dmlop {

std::string ManualPage(const OperatorGroup& group);

// The page on ONNX models, with the table of their operators.
inline constexpr std::string_view kOnnxPage = "onnx";
std::string OnnxManualPage();

}  // namespace dmlop
