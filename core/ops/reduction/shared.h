// SPDX-License-Identifier: Apache-2.0
// Shared by the operators that reduce along axes.
#pragma once

#include <string_view>

#include "core/ops/inference.h"

namespace dmlop::reduction {

inline constexpr auto kOutput = field::Output("OutputTensor", TypeVariable::kU);
inline constexpr auto kAxisCount = field::Count("AxisCount");
inline constexpr auto kAxes =
    field::Uints("Axes", {.max = kMaxRank - 1, .max_count = kMaxRank, .distinct = true});

inline constexpr DataTypeSet kIndexTypes = types::kInt64s | types::kInt32s;

// The output holds indices if `function` yields them; its type is UINT32 if left out (RED-2).
void InferIndexType(const OperatorDesc& op, std::string_view function, Inference& infer);

// The output's sizes are 1 on Axes and otherwise those of the input (RED-1, RED-3, RED-4).
void InferReducedSizes(const OperatorDesc& op, Inference& infer);

}  // namespace dmlop::reduction
