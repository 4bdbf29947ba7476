// SPDX-License-Identifier: Apache-2.0
// The fields of UNFOLD and FOLD, and the places of their windows in a tensor of spatial sizes S:
//
//   Reach[d] = Dilations[d] * (WindowSizes[d] - 1) + 1
//   Blocks[d] = floor((S[d] + StartPadding[d] + EndPadding[d] - Reach[d]) / Strides[d]) + 1
//   block b, tap t: position p[d] = b[d] * Strides[d] - StartPadding[d] + t[d] * Dilations[d]
#pragma once

#include <optional>
#include <span>

#include "core/ops/inference.h"

namespace dmlop::windows {

inline constexpr uint32_t kMaxSpatialRank = kMaxRank - 2;
constexpr Limits Spatial(uint32_t min) {
  return {.min = min,
          .rule = min > 0 ? "UNF-11" : "",
          .min_count = 1,
          .max_count = kMaxSpatialRank,
          .count_rule = "UNF-1"};
}
inline constexpr auto kWindowSizes = field::Uints("WindowSizes", Spatial(1))
                                         .Means("The size of a window in each spatial dimension.");
inline constexpr auto kStrides = field::Uints("Strides", Spatial(1)).Means(meaning::kStrides);
inline constexpr auto kDilations = field::Uints("Dilations", Spatial(1)).Means(meaning::kDilations);
inline constexpr auto kStartPadding =
    field::Uints("StartPadding", Spatial(0)).Means(meaning::kStartPadding);
inline constexpr auto kEndPadding =
    field::Uints("EndPadding", Spatial(0)).Means(meaning::kEndPadding);
inline constexpr const Field* kFields[] = {&kInputTensor,  &kOutputTensor, &kDimensionCount,
                                           &kWindowSizes,  &kStrides,      &kDilations,
                                           &kStartPadding, &kEndPadding};

inline constexpr Rule kCounts = {"UNF-1",
                                 "1 to 6 spatial dimensions, as many in each of the five arrays"};
inline constexpr Rule kFit = {"UNF-10", "the padded tensor holds at least one window"};
inline constexpr Rule kNoZeros = {"UNF-11", "WindowSizes, Strides and Dilations are not 0"};

// Returns the number of window positions along spatial dimension d of `size` elements; at least 1
// if the window fits.
int64_t BlocksAlong(const OperatorDesc& op, size_t d, int64_t size);

// prod(WindowSizes) and prod(Blocks) for the sizes (N, C, S...) of a tensor. Reports windows that
// do not fit, and counts, including C * prod(WindowSizes), that exceed what a tensor may have.
struct WindowCounts {
  uint32_t rows;  // C * prod(WindowSizes)
  uint32_t blocks;
};
std::optional<WindowCounts> CountWindows(const OperatorDesc& op, std::span<const uint32_t> sizes,
                                         const Field& columns, Inference& infer);

}  // namespace dmlop::windows
