// What operators share that work on slices.
#pragma once

#include <string_view>
#include <vector>

#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop::normalization {

inline constexpr auto kAxisCount = field::Count("AxisCount");
inline constexpr auto kAxes =
    field::Uints("Axes", {.max = kMaxRank - 1, .max_count = kMaxRank, .distinct = true});

inline constexpr std::string_view kAxesText = "Axes lie in [0, DimensionCount - 1], each once";

// The part of an input that a part of an output is computed from: what is at the same place, but
// all of it along the axes. An input repeats itself where its size is 1.
SourceMap SliceOfInput(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes);

}  // namespace dmlop::normalization
