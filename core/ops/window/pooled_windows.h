// SPDX-License-Identifier: Apache-2.0
// The windows of poolings: their fields, and their places.
//
//   output p, tap t: position p[d] * Strides[d] - StartPadding[d] + t[d] * Dilations[d]
//
// A tap is present if its position is inside the input.
#pragma once

#include <string_view>
#include <vector>

#include "core/engine/window/pool_windows.h"
#include "core/ops/formula.h"
#include "core/ops/signature.h"

namespace dmlop::pooling {

// --- fields --------------------------------------------------------------------------------------

// DirectML's poolings have two or three spatial dimensions.
inline constexpr uint32_t kMinSpatialRank = 2;
inline constexpr uint32_t kMaxSpatialRank = 3;
inline constexpr FieldLimits kSpatial = {.min = 1,
                                         .rule = "CTR-5",
                                         .min_count = kMinSpatialRank,
                                         .max_count = kMaxSpatialRank,
                                         .count_rule = "CTR-4"};
inline constexpr auto kWindowSize = field::Uints("WindowSize", kSpatial);
inline constexpr WindowFields kWindows = WindowFieldsWith(kSpatial);
inline constexpr auto kIncludePadding = field::Bool("IncludePadding");

// --- rules ---------------------------------------------------------------------------------------

// Takes the rule of the sizes that pooling makes.
constexpr TapWindows WindowsWith(std::string_view rule) {
  return {.fields = &kWindows,
          .rule = rule,
          .fit_rule = "POOL-4",
          .taps = &kWindowSize,
          .may_overhang = true};
}

// --- windows -------------------------------------------------------------------------------------

// The windows of a valid descriptor over a tensor.
PoolDims DimsOf(const OperatorDesc& op, const FieldOf<TensorDesc>& tensor);

// Maps to the taps of an output part's windows in the first input; exact for one element.
std::vector<SourceMap> WindowSources(const PoolDims& dims);
std::vector<SourceMap> Sources(const OperatorDesc& op);  // in InputTensor

// Maps to the windows in input `input`, which has pooled sizes, that reach a part of the tensor.
SourceMap ReachingSources(const PoolDims& dims, const Sizes& pooled, size_t input);

// --- formulas ------------------------------------------------------------------------------------

// The elements of the first input in an output's window, in order. Names how many taps are absent.
std::vector<FormulaNode> PresentTapsAt(const PoolDims& dims, const Dims& output, Formula& formula);

// For each window in `outputs`, its winner's index in the whole input, as MAX_POOLING finds it.
std::vector<uint64_t> WinnersOf(const PoolDims& dims, const ConstTensorView& input,
                                const Region& outputs);

// Returns the divisor of an average: the number of present taps, or also of those in the padding.
Dyadic TapCountAt(const PoolDims& dims, bool counts_padding, const Dims& output);
FormulaNode NamedTapCount(const PoolDims& dims, bool counts_padding, const Dims& output,
                          Formula& formula);

}  // namespace dmlop::pooling
