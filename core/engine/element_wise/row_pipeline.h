// SPDX-License-Identifier: Apache-2.0
// Takes rows of stored elements through conversions, ScaleBias and a function to rows of results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/engine/element_wise/loop.h"
#include "core/kernels/copy/stream.h"
#include "core/kernels/element_wise/convert.h"
#include "core/kernels/element_wise/row.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The steps that are applied to adjacent elements, one row after another.
class RowSteps {
 public:
  explicit RowSteps(DataType type = DataType::kUnknown) : type_(type), widest_(BytesOf(type)) {}

  void ConvertTo(DataType type);
  void Apply(const ScaleBias& scale_bias);
  // Reinterprets the elements as unsigned integers of their width.
  void TakeBits();

  bool empty() const { return count_ == 0; }
  DataType type() const { return type_; }     // type of the results
  int64_t widest() const { return widest_; }  // most bytes that an element takes between steps

  // Returns where the results are: in `to`; in one of the buffers if `to` is null; or in `from` if
  // there is no step. `count` is a multiple of kRowBlock.
  const std::byte* Run(int64_t count, const std::byte* from, std::byte* to,
                       std::byte* const (&buffers)[2]) const;

 private:
  static int64_t BytesOf(DataType type) { return static_cast<int64_t>(ByteWidth(type)); }

  struct Step {
    RowFunction* convert;     // null: the step is a ScaleBias
    ScaleBiasFunction scale;  // null: the step is a conversion
  };

  std::array<Step, 10> steps_;
  size_t count_ = 0;
  DataType type_;
  int64_t widest_;
  ScaleBias scale_bias_{};
};

// A row of an input: adjacent elements, or one repeated element.
struct RowSource {
  const std::byte* elements;
  bool repeats;
};

class RowPipeline {
 public:
  static constexpr int64_t kChunkBytes = 1 << 12;  // the first-level cache holds a few
  static constexpr int64_t kMostUndecided = kChunkBytes / sizeof(double);
  // Quick forms leave few elements undecided, and to compute those takes longer one by one than
  // together with others.
  static constexpr int64_t kQuickChunk = 1 << 12;

  // The buffers of a thread.
  struct Scratch {
    alignas(64) std::byte inputs[kMaxElementInputs][2][kChunkBytes];
    alignas(64) std::byte outputs[2][kChunkBytes];
    alignas(64) int32_t unresolved[kChunkBytes / sizeof(double)];
    alignas(64) int32_t undecided[kMostUndecided];
    alignas(64) std::byte quick[kQuickChunk * sizeof(float)];
    // Results of the steps for a repeated element.
    alignas(64) std::byte repeated[kMaxElementInputs][kChunkBytes];
    const std::byte* repeated_from[kMaxElementInputs] = {};
  };

  RowPipeline(const ElementWiseCall& call, std::span<const ConstTensorView> inputs,
              DataType output_type);

  // Computes any number of elements. `to` may be a source. A row that `streams` bypasses the caches
  // and becomes visible to other threads with FlushStreams.
  void Run(int64_t count, std::span<const RowSource> sources, std::byte* to, bool streams,
           Scratch& scratch) const;

 private:
  using Inputs = std::array<const std::byte*, kMaxElementInputs>;

  int64_t NextChunk(int64_t left, int64_t most, const std::byte* to, bool streams) const;
  const std::byte* Prepare(size_t input, RowSource source, int64_t begin, int64_t count,
                           Scratch& scratch) const;
  const std::byte* Repeat(size_t input, const std::byte* element, Scratch& scratch) const;
  // Returns whole blocks of the elements as they are stored.
  const std::byte* Padded(size_t input, RowSource source, int64_t begin, int64_t count,
                          Scratch& scratch) const;
  // Both return where the results of whole blocks are: in `to` unless that is null. The first takes
  // FLOAT32 to the quick form, and computes what that does not decide as the second does.
  const std::byte* ComputeQuickly(int64_t count, const std::byte* from, std::byte* to,
                                  Scratch& scratch) const;
  // Computes the results of `count` elements whose indices are in `undecided`.
  void Decide(int64_t count, const std::byte* from, std::byte* to, Scratch& scratch) const;
  const std::byte* Compute(int64_t count, const Inputs& inputs, std::byte* to,
                           Scratch& scratch) const;
  // Approximates the function; returns the number of unresolved results.
  int64_t Approximate(int64_t count, const Inputs& inputs, std::byte* to, Scratch& scratch) const;
  void Resolve(int64_t unresolved_count, const Inputs& inputs, std::byte* to,
               const Scratch& scratch) const;

  const ElementWiseCall& call_;
  const ElementWiseRow* row_ = nullptr;  // null: elements are only converted
  RowFunction* stream_row_ = nullptr;    // null: streamed results need a buffer first
  size_t input_count_;
  std::array<RowSteps, kMaxElementInputs> before_;
  std::array<int64_t, kMaxElementInputs> widths_;  // widths of stored elements in bytes
  RowSteps after_;
  RoundFunction* round_ = nullptr;  // rounds approximations
  QuickFunction* quick_ = nullptr;  // decides most results from stored elements
  bool approximates_nothing_ = false;
  DataType output_type_;
  int64_t output_width_;
  int64_t chunk_;  // in elements
  StreamRowsFunction stream_ = StreamRowsForIsa();
};

// --- plans ---------------------------------------------------------------------------------------

// Cuts element-wise work on several views into boxes, and boxes into rows.

// Operand 0 is the output; the inputs follow.
inline constexpr size_t kElementOperands = 1 + kMaxElementInputs;
using ElementNest = LoopNest<kElementOperands>;

enum class RowKind {
  kAdjacent,  // the elements of a row are side by side
  kRepeated,  // one element serves a whole row
  kPacked,    // elements are copied into or out of a buffer, box by box
};

struct ElementPlan {
  static constexpr int64_t kBoxBytes = 1 << 14;  // for the operand with the widest elements

  ElementNest nest;                               // strides of the output decrease
  std::array<int64_t, kElementOperands> first{};  // offsets at which the loops begin
  Dims box;                                       // sizes of a box
  size_t row_loop;                                // a row comprises this loop and those inside it
  std::array<RowKind, kElementOperands> kinds;
  bool streams;  // results bypass the caches
};

ElementPlan PlanElements(std::span<const ConstTensorView> inputs, const TensorView& output);

}  // namespace dmlop
