// SPDX-License-Identifier: Apache-2.0
// The fields of windows, and their places in a tensor of spatial sizes S:
//
//   Extent[d] = Dilations[d] * (WindowSizes[d] - 1) + 1
//   Outputs[d] = floor((S[d] + StartPadding[d] + EndPadding[d] - Extent[d]) / Strides[d]) + 1
//   output p, tap t: position p[d] * Strides[d] - StartPadding[d] + t[d] * Dilations[d]
#pragma once

#include <optional>
#include <span>

#include "core/engine/window/window_axis.h"
#include "core/ops/inference.h"

namespace dmlop {

// Each field has a number for each spatial dimension.
struct WindowFields {
  FieldOf<std::vector<uint32_t>> strides, dilations, start_padding, end_padding;
};

// Takes the limits of strides; paddings may be 0.
constexpr WindowFields WindowFieldsWith(FieldLimits limits) {
  FieldLimits paddings = limits;
  paddings.min = 0;
  paddings.rule = "";
  return {field::Uints("Strides", limits), field::Uints("Dilations", limits),
          field::Uints("StartPadding", paddings), field::Uints("EndPadding", paddings)};
}

// Returns windows of `taps` in spatial dimension d of `size` elements. Operators without dilations
// have 1.
WindowAxis AxisOf(const WindowFields& fields, const OperatorDesc& op, size_t d, int64_t size,
                  int64_t taps);

// The windows along the dimensions P@K, from the third dimension of a tensor on. The sizes of P
// follow from those of P@K and K, and the sizes of P@K from those of P and K.
struct TapWindows {
  const WindowFields* fields = nullptr;                  // null: there are no windows
  std::string_view rule = {};                            // of the sizes of P or P@K
  std::string_view fit_rule = {};                        // of windows that do not fit
  const FieldOf<std::vector<uint32_t>>* taps = nullptr;  // K, or the tensor that has it
  const FieldOf<TensorDesc>* filter = nullptr;
  const FieldOf<std::vector<uint32_t>>* more = nullptr;  // added to the size of an output
  bool may_overhang = false;  // P may count a last window that does not fit
  bool (*are_turned)(const OperatorDesc& op) = nullptr;  // the last tap has index 0 along K
};

// Returns the size that a tensor has in a dimension: the number of windows along `axis`, or, if
// they span it and axis.size is their number, what they span. Where several sizes have the same
// windows, the tensor decides. Returns 0, after a report, if there is no such size.
uint64_t SizeOfWindows(const TapWindows& windows, const WindowAxis& axis, bool spans,
                       const OperatorDesc& op, const TensorAt& tensor, size_t dimension,
                       Inference& infer);

}  // namespace dmlop

// UNFOLD and FOLD; an output is called a block here.
namespace dmlop::windows {

inline constexpr uint32_t kMaxSpatialRank = kMaxRank - 2;
inline constexpr FieldLimits kSpatial = {.min = 1,
                                         .rule = "UNF-11",
                                         .min_count = 1,
                                         .max_count = kMaxSpatialRank,
                                         .count_rule = "UNF-1"};
inline constexpr auto kWindowSizes = field::Uints("WindowSizes", kSpatial);
inline constexpr WindowFields kWindows = WindowFieldsWith(kSpatial);
inline constexpr auto kFields =
    Fields(kInputTensor, kOutputTensor, kDimensionCount, kWindowSizes, kWindows.strides,
           kWindows.dilations, kWindows.start_padding, kWindows.end_padding);

// The windows along the spatial dimensions of a tensor with the sizes (N, C, S...).
std::vector<WindowAxis> AxesOf(const OperatorDesc& op, std::span<const uint32_t> sizes);

// prod(WindowSizes) and prod(Blocks) for the sizes (N, C, S...) of a tensor. Reports windows that
// do not fit, and counts, including C * prod(WindowSizes), that exceed what a tensor may have.
struct WindowCounts {
  uint32_t rows;  // C * prod(WindowSizes)
  uint32_t blocks;
};
std::optional<WindowCounts> CountWindows(const OperatorDesc& op, std::span<const uint32_t> sizes,
                                         const Field& columns, Inference& infer);

}  // namespace dmlop::windows
