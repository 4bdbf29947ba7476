// What is computed of slices: all elements of a tensor that agree in the coordinates but along some
// axes. Each is gone through in passes, and every result is a function of the slice alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

inline constexpr size_t kMaxSliceInputs = 5;
inline constexpr size_t kMaxSliceResults = 2;

// Elements of a slice that are seen at once, in row-major order, at most. What a pass finds in
// those of each chunk is put together in the order of chunks: so sums depend on the length of the
// slice alone. A multiple of the blocks of kernels.
inline constexpr int64_t kSliceChunk = 1 << 12;

// What a pass finds in a chunk, and what is known of a slice; a function knows what they mean.
using ChunkFindings = std::array<double, 4>;
using SliceFacts = std::array<double, 6>;

struct SliceChunk {
  // An element for each of the chunk's or, unless it varies, one for all of the slice.
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
  // A number for each element, which a function that keeps some may keep from one pass to another.
  // Null for others, and where the slice is too long for that.
  double* kept;
  // The inputs but for the first are those of the slice before, and `kept` is what that one left.
  bool follows;
  int64_t begin;         // the number of the first element in its slice
  int64_t slice_length;  // N
};

class SliceFunction {
 public:
  virtual ~SliceFunction() = default;

  // How often a slice is gone through before it is written, and the inputs that are seen by then.
  virtual int passes() const { return 0; }
  virtual size_t seen_inputs() const { return 1; }
  virtual bool keeps() const { return false; }  // a number for each element

  virtual ChunkFindings Find(int pass, const SliceFacts& facts, const SliceChunk& chunk) const = 0;
  // `findings` are those of all chunks; `length` is the slice's.
  virtual void Conclude(int pass, std::span<const ChunkFindings> findings, int64_t length,
                        SliceFacts& facts) const = 0;
  virtual void Write(const SliceFacts& facts, const SliceChunk& chunk) const = 0;
  // Writes the results of the slice, each an element.
  virtual void Give(const SliceFacts&, std::span<std::byte* const>) const {}
};

// All inputs and the output have one type. Inputs have the output's sizes, or 1 where they repeat
// themselves; the results have 1 along the axes.
struct SliceTensors {
  std::span<const ConstTensorView> inputs;
  TensorView output;
  std::span<const TensorView> results;
};

void RunSlices(const SliceFunction& function, const std::vector<uint32_t>& axes,
               const SliceTensors& tensors);

}  // namespace dmlop
