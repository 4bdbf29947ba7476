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
#include "core/ops/windows.h"

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

// Returns the sizes that pooling makes, following `pooled` where the rule allows one more.
std::vector<uint64_t> PooledSizes(const OperatorDesc& op, const Sizes& sizes,
                                  const TensorDesc& pooled);

// Checks the first two of a pooled tensor's given sizes. Returns whether they are right.
bool CheckBatches(const TensorAt& pooled, const TensorAt& tensor, Inference& infer);

// Does all of that for an operator from InputTensor to an output, by default OutputTensor.
void InferPooling(const FieldOf<TensorDesc>& output, const OperatorDesc& op, Inference& infer);
void InferPooling(const OperatorDesc& op, Inference& infer);

// Likewise for a gradient: InputGradientTensor has the pooled sizes of a tensor, if that has sizes.
// `code` is the rule that says so.
void InferGradient(std::string_view code, const FieldOf<TensorDesc>& tensor, const OperatorDesc& op,
                   Inference& infer);

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

// --- rows ----------------------------------------------------------------------------------------

constexpr OperatorInfo Pooling(std::string_view name, std::span<const Field* const> fields,
                               const Computed& family) {
  return OperatorRow(name, {fields, "POOL-1", InferPooling}, family);
}

}  // namespace dmlop::pooling
