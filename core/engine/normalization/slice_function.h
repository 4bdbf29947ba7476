// SPDX-License-Identifier: Apache-2.0
// Functions of slices. A slice is all elements of a tensor whose coordinates agree except along
// some axes. A function makes passes over each slice, and every result depends on that slice alone.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/copy/copy_views.h"
#include "core/exact/double_double.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

inline constexpr size_t kMaxSliceInputs = 5;
inline constexpr size_t kMaxSliceResults = 2;

// The most elements of a slice that a pass sees at once, in row-major order; a multiple of the
// kernels' blocks. The findings of chunks are combined in their order, so that sums depend on the
// length of the slice alone.
inline constexpr int64_t kSliceChunk = 1 << 12;

// The findings of a pass in a chunk, and the facts about a slice, as each function defines them.
using ChunkFindings = std::array<double, 4>;
using SliceFacts = std::array<double, 6>;

struct SliceChunk {
  // One element for each of the chunk's or, unless it varies, one for the whole slice.
  struct Input {
    const std::byte* data;
    bool varies;

    template <typename T>
    const T* elements() const {
      return reinterpret_cast<const T*>(data);
    }
  };

  int64_t count;
  std::array<Input, kMaxSliceInputs> inputs;
  std::byte* output;
  // Rows with a number for each element, which a function may carry from one pass to the next: as
  // many as it keeps, `kept_pitch` apart, with room for whole blocks of kernels. Null for other
  // functions, and if the slice is too long.
  double* kept;
  int64_t kept_pitch;
  // True if all inputs but the first are those of the slice before, which left `kept` as it is.
  bool follows;
  int64_t begin;         // number of the first element in its slice
  int64_t slice_length;  // N
};

class SliceFunction {
 public:
  virtual ~SliceFunction() = default;

  // Number of passes over a slice before it is written, and of inputs that these passes see.
  virtual int passes() const { return 0; }
  virtual size_t seen_inputs() const { return 1; }
  virtual int64_t kept_rows() const { return 0; }  // number of rows that it keeps

  virtual ChunkFindings Find(int pass, const SliceFacts& facts, const SliceChunk& chunk) const = 0;
  // `findings` has one entry for each chunk; `length` is the slice's.
  virtual void Conclude(int pass, std::span<const ChunkFindings> findings, int64_t length,
                        SliceFacts& facts) const = 0;
  virtual void Write(const SliceFacts& facts, const SliceChunk& chunk) const = 0;
  // Writes the slice's results, one element each.
  virtual void Give(const SliceFacts&, std::span<std::byte* const>) const {}
};

// All inputs and the output have the same type. Inputs have the output's sizes, or 1 where they are
// broadcast; results have size 1 along the axes.
struct SliceTensors {
  std::span<const ConstTensorView> inputs;
  TensorView output;
  std::span<const TensorView> results;
};

void RunSlices(const SliceFunction& function, const std::vector<uint32_t>& axes,
               const SliceTensors& tensors);

inline double TotalOf(std::span<const ChunkFindings> findings, size_t number) {
  HeadTail sum{0, 0};
  for (const ChunkFindings& one : findings) {
    const HeadTail next = TwoSum(sum.head, one[number]);
    sum = {next.head, sum.tail + next.tail};
  }
  return std::isfinite(sum.head) ? sum.head + sum.tail : sum.head;
}

// The mean of sums that have a head and, after it, a tail. Infinities and NaN have no tail. Mostly
// there is one sum, without a tail, and the length is a power of two.
inline HeadTail MeanOf(std::span<const ChunkFindings> findings, size_t number, int64_t length) {
  if (findings.size() == 1 && findings[0][number + 1] == 0 &&
      std::has_single_bit(static_cast<uint64_t>(length))) {
    const double sum = findings[0][number] + 0.0;  // a zero is positive
    return {sum / static_cast<double>(length), 0};
  }
  HeadTail sum{0, 0};
  double plain = 0;
  for (const ChunkFindings& one : findings) {
    plain += one[number];
    sum = sum + HeadTail{one[number], one[number + 1]};
  }
  if (!std::isfinite(plain)) return {plain, 0};
  return sum / static_cast<double>(length);
}

// --- layouts -------------------------------------------------------------------------------------

// The places of slices in several tensors, and the copies that put their elements side by side.

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

  // Add the moves between a tensor's slices and rows, `pitch` elements apart, one for each slice.
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
