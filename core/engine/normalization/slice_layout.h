// Where slices lie in several tensors, and how they come to lie side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/normalization/slice_function.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

// Of the inputs, in their order, the output, and the results.
inline constexpr size_t kSliceOperands = kMaxSliceInputs + 1 + kMaxSliceResults;

// How an operand's elements lie in a slice. That there is one for all is said of inputs only that
// no pass sees.
enum class InSlice { kOneForAll, kSideBySide, kApart };

class SliceLayout {
 public:
  // Passes see that many of the inputs.
  SliceLayout(const std::vector<uint32_t>& axes, const SliceTensors& tensors, size_t seen_inputs);

  // Neighbours in memory of the first input are neighbours here.
  const LoopNest<kSliceOperands>& slices() const { return slices_; }
  int64_t slice_count() const { return Product(slices_.sizes); }
  int64_t length() const { return Product(elements_.sizes); }  // N
  InSlice Lies(size_t operand) const { return lies_[operand]; }

  // Adds the moves of elements of slices between a tensor and rows of `pitch` elements, one for
  // each slice.
  struct Rows {
    Range slices, elements;  // iterations of the two nests
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
