// SPDX-License-Identifier: Apache-2.0
// The places of slices in several tensors, and the copies that put their elements side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/normalization/slice_function.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

// The operands are the inputs, in their order, the output, and the results.
inline constexpr size_t kSliceOperands = kMaxSliceInputs + 1 + kMaxSliceResults;

// The placement of an operand's elements in a slice. Only inputs that no pass sees can be
// kOneForAll.
enum class InSlice { kOneForAll, kSideBySide, kApart };

class SliceLayout {
 public:
  // Passes see the first `seen_inputs` inputs.
  SliceLayout(const std::vector<uint32_t>& axes, const SliceTensors& tensors, size_t seen_inputs);

  // Slices that are neighbours in the first input's memory are neighbours here.
  const LoopNest<kSliceOperands>& slices() const { return slices_; }
  int64_t slice_count() const { return Product(slices_.sizes); }
  int64_t length() const { return Product(elements_.sizes); }  // N
  InSlice Lies(size_t operand) const { return lies_[operand]; }

  // Add the moves of slices' elements between a tensor and rows, `pitch` elements apart, one for
  // each slice.
  struct Rows {
    Range slices, elements;  // iterations of slices() and of the loops over elements
    int64_t pitch;
  };
  void AddGathering(const Rows& rows, size_t operand, const ConstTensorView& from, std::byte* to,
                    std::vector<Move>& moves) const;
  void AddScattering(const Rows& rows, size_t operand, const std::byte* from, const TensorView& to,
                     std::vector<Move>& moves) const;

 private:
  LoopNest<kSliceOperands> slices_;
  LoopNest<kSliceOperands> elements_;  // in row-major order
  std::array<InSlice, kSliceOperands> lies_;
};

}  // namespace dmlop
