// SPDX-License-Identifier: Apache-2.0
// Shared by the operators that reduce along axes.
#pragma once

#include <string_view>

#include "core/ops/inference.h"

namespace dmlop::reduction {

inline constexpr auto kOutput =
    field::Output("OutputTensor", TypeVariable::kU).Means(meaning::kOutputTensor);
inline constexpr auto kAxisCount = field::Count("AxisCount").Means(meaning::kAxisCount);
inline constexpr auto kAxes =
    field::Uints("Axes", {.max = kMaxRank - 1, .max_count = kMaxRank, .distinct = true})
        .Means(meaning::kAxes);

inline constexpr DataTypeSet kIndexTypes = types::kInt64s | types::kInt32s;

inline constexpr Rule kAxesExist = {"RED-3", "Axes lie in [0, DimensionCount - 1]"};
inline constexpr Rule kAxesDiffer = {"RED-4", "no axis is listed twice"};

// The output holds indices if `function` yields them; its type is UINT32 if left out (RED-2).
void InferIndexType(const OperatorDesc& op, std::string_view function, Inference& infer);

// The output's sizes are 1 on Axes and otherwise those of the input (RED-1, RED-3, RED-4).
void InferReducedSizes(const OperatorDesc& op, Inference& infer);

}  // namespace dmlop::reduction
