// SPDX-License-Identifier: Apache-2.0
#include "core/engine/element_wise/loop.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/copy/tile_shape.h"
#include "core/engine/element_wise/row_pipeline.h"
#include "core/kernels/copy/copy.h"
#include "core/kernels/copy/stream.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

// Functions of FLOAT16 are computed by a table: there are only 65,536 arguments.
constexpr int64_t kHalves = 1 << 16;

// A table look-up takes a quarter of the time of the quickest function.
constexpr int64_t kManyHalves = 4 * kHalves;

// The result's bits for every FLOAT16 number.
std::vector<uint16_t> ResultsOfHalves(const ElementWiseCall& call) {
  std::vector<uint16_t> halves(kHalves);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  std::vector<uint16_t> results(kHalves);
  const Layout layout{{kHalves}, {1}};
  const ConstTensorView input{reinterpret_cast<const std::byte*>(halves.data()), DataType::kFloat16,
                              layout};
  ComputeElements(call, {&input, 1},
                  {reinterpret_cast<std::byte*>(results.data()), DataType::kFloat16, layout});
  return results;
}

void LookUp(const uint16_t* table, int64_t count, std::byte* to, const std::byte* from) {
  const uint16_t* halves = reinterpret_cast<const uint16_t*>(from);
  uint16_t* results = reinterpret_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; ++i) results[i] = table[halves[i]];
}

// Returns whether a table of all results takes less time than the function itself.
bool PaysHalfTable(const ElementWiseCall& call, std::span<const ConstTensorView> inputs,
                   const TensorView& output) {
  return IsApproximated(call.function) && inputs.size() == 1 &&
         inputs[0].type == DataType::kFloat16 && output.type == DataType::kFloat16 &&
         Product(output.layout.sizes) >= kManyHalves;
}

// The call has one input.
void ComputeByHalfTable(const ElementWiseCall& call, const ConstTensorView& input,
                        const TensorView& output) {
  const std::vector<uint16_t> table = ResultsOfHalves(call);
  const StreamRowsFunction stream = StreamRowsForIsa();
  ComputeView(input, output,
              [&](int64_t count, std::byte* to, const std::byte* from, bool streams) {
                if (!streams) return LookUp(table.data(), count, to, from);
                constexpr int64_t kWidth = sizeof(uint16_t);
                constexpr int64_t kPart = 1 << 11;
                alignas(64) std::byte results[kPart * kWidth];
                for (int64_t begin = 0; begin < count; begin += kPart) {
                  const int64_t size = std::min(kPart, count - begin);
                  LookUp(table.data(), size, results, from + begin * kWidth);
                  stream(1, size * kWidth, to + begin * kWidth, 0, results, 0);
                }
              });
}

class ElementLoop {
 public:
  ElementLoop(const ElementWiseCall& call, std::span<const ConstTensorView> inputs,
              const TensorView& output)
      : plan_(PlanElements(inputs, output)),
        pipeline_(call, inputs, output.type),
        input_count_(inputs.size()),
        bytes_(output.element_bytes()) {
    SetOperand(0, output.type, output.data);
    for (size_t k = 0; k < input_count_; ++k) {
      // Inputs are never written to.
      SetOperand(k + 1, inputs[k].type, const_cast<std::byte*>(inputs[k].data));
    }
  }

  void Run() const {
    const ElementNest grid = Grid();
    const int64_t box_bytes = Product(plan_.box) * widths_[0];
    ParallelFor(Product(grid.sizes), kParallelBytes / box_bytes + 1, bytes_,
                [&](int64_t begin, int64_t end) {
                  Worker worker(*this);
                  Dims place = IndexOf(grid.sizes, begin);
                  Walk<kElementOperands> walk(grid, begin);
                  Walk<kElementOperands> next = walk;
                  for (int64_t i = begin; i < end; ++i, walk.Next(), Advance(grid.sizes, place)) {
                    if (i + 1 < end) next.Next();
                    worker.WorkOnBox(place, walk.offsets(), next.offsets());
                  }
                  if (plan_.streams) FlushStreams();
                });
  }

 private:
  using Offsets = std::array<int64_t, kElementOperands>;

  void SetOperand(size_t k, DataType type, std::byte* data) {
    widths_[k] = static_cast<int64_t>(ByteWidth(type));
    data_[k] = data + plan_.first[k] * widths_[k];
  }

  // The loops over the first elements of boxes.
  ElementNest Grid() const {
    ElementNest grid;
    for (size_t d = 0; d < plan_.nest.rank(); ++d) {
      Offsets step = plan_.nest.Step(d);
      for (int64_t& s : step) s *= plan_.box[d];
      grid.Push((plan_.nest.sizes[d] - 1) / plan_.box[d] + 1, step);
    }
    return grid;
  }

  // The state of a thread that computes one box after another.
  class Worker {
   public:
    explicit Worker(const ElementLoop& loop) : loop_(loop), plan_(loop.plan_) {}

    // `next` is where the next box is, or the box itself if it is the last.
    void WorkOnBox(const Dims& place, const Offsets& offsets, const Offsets& next) {
      SetShape(place);
      Offsets at = offsets;
      for (size_t k = 1; k <= loop_.input_count_; ++k) {
        if (plan_.kinds[k] == RowKind::kPacked) {
          Pack(k, loop_.Address(k, offsets[k]), loop_.Address(k, next[k]));
        }
      }
      Walk<kElementOperands> walk(rows_, 0);
      for (int64_t row = 0; row < row_count_; ++row, walk.Next()) {
        RowSource sources[kMaxElementInputs];
        for (size_t k = 1; k <= loop_.input_count_; ++k) {
          sources[k - 1] = {RowOf(k, at[k] + walk.offset(k), row),
                            plan_.kinds[k] == RowKind::kRepeated};
        }
        loop_.pipeline_.Run(row_length_, {sources, loop_.input_count_},
                            RowOf(0, at[0] + walk.offset(0), row), plan_.streams, scratch_);
      }
      if (plan_.kinds[0] == RowKind::kPacked) Unpack(loop_.Address(0, offsets[0]));
    }

   private:
    // Returns early for most boxes: they have the sizes of the one before.
    void SetShape(const Dims& place) {
      Dims sizes = plan_.box;
      for (size_t d = 0; d < sizes.size(); ++d) {
        sizes[d] = std::min(sizes[d], plan_.nest.sizes[d] - place[d] * plan_.box[d]);
      }
      if (sizes == sizes_) return;
      sizes_ = sizes;
      row_length_ = 1;
      rows_ = {};
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (d < plan_.row_loop) {
          rows_.Push(sizes[d], plan_.nest.Step(d));
        } else {
          row_length_ *= sizes[d];
        }
      }
      row_count_ = Product(rows_.sizes);
      const Dims packed = PackedStrides(sizes);
      for (size_t k = 0; k < kElementOperands; ++k) {
        if (plan_.kinds[k] != RowKind::kPacked) continue;
        const Dims& strides = plan_.nest.strides[k];
        moves_[k] = MoveOf(k == 0 ? LoopNest<2>{sizes, {strides, packed}}
                                  : LoopNest<2>{sizes, {packed, strides}});
        packed_from_[k] = nullptr;
      }
    }

    // Returns early if the same elements are still packed from the box before.
    void Pack(size_t k, const std::byte* from, const std::byte* next) {
      if (packed_from_[k] == from) return;
      packed_from_[k] = from;
      const TileMove& move = moves_[k];
      if (move.tile.from_outer_stride == 1 &&
          move.tile.outer_count * loop_.widths_[k] >= kLineBytes) {
        MoveSlices(k, packed_[k], from, next - from);
      } else {
        Move(k, packed_[k], from);
      }
    }

    void Unpack(std::byte* to) { Move(0, to, packed_[0]); }

    void Move(size_t k, std::byte* to, const std::byte* from) const {
      const int64_t width = loop_.widths_[k];
      const CopyTileFunction copy = CopyTileFor(static_cast<size_t>(width));
      ForEachTile(moves_[k], [&](const CopyTile& tile, int64_t to_offset, int64_t from_offset) {
        copy(tile, to + to_offset * width, from + from_offset * width);
      });
    }

    // Lines of the input are in so many places that the hardware prefetcher does not find them, so
    // a few slices ahead, in this box or in the next one, are prefetched.
    void MoveSlices(size_t k, std::byte* to, const std::byte* from, int64_t distance) const {
      constexpr int64_t kAhead = 3;
      const int64_t width = loop_.widths_[k];
      const CopyTileFunction copy = CopyTileFor(static_cast<size_t>(width));
      ForEachTile(moves_[k], [&](const CopyTile& tile, int64_t to_offset, int64_t from_offset) {
        const TileSlices slices(tile, width);
        std::byte* const tile_to = to + to_offset * width;
        const std::byte* const tile_from = from + from_offset * width;
        for (int64_t i = 0; i < slices.count(); ++i) {
          const int64_t later = i + kAhead;
          slices.Prefetch(later % slices.count(),
                          later < slices.count() ? tile_from : tile_from + distance);
          copy(slices.Slice(i), tile_to + slices.to_offset(i), tile_from + slices.from_offset(i));
        }
      });
    }

    std::byte* RowOf(size_t k, int64_t offset, int64_t row) {
      if (plan_.kinds[k] != RowKind::kPacked) return loop_.Address(k, offset);
      return packed_[k] + row * row_length_ * loop_.widths_[k];
    }

    const ElementLoop& loop_;
    const ElementPlan& plan_;
    Dims sizes_;  // sizes of the box
    int64_t row_length_ = 0;
    int64_t row_count_ = 0;
    ElementNest rows_;
    std::array<TileMove, kElementOperands> moves_;
    std::array<const std::byte*, kElementOperands> packed_from_{};
    alignas(64) std::byte packed_[kElementOperands][ElementPlan::kBoxBytes];
    RowPipeline::Scratch scratch_;
  };

  std::byte* Address(size_t k, int64_t offset) const { return data_[k] + offset * widths_[k]; }

  ElementPlan plan_;
  RowPipeline pipeline_;
  size_t input_count_;
  int64_t bytes_;  // size of the output
  std::array<int64_t, kElementOperands> widths_{};
  std::array<std::byte*, kElementOperands> data_{};
};

bool MovesBits(const ElementWiseCall& call, DataType from, DataType to) {
  return call.function == ElementWiseFunction::kCast && !call.scale_bias &&
         (from == to || (!IsFloat(from) && !IsFloat(to) && BitWidth(from) == BitWidth(to)));
}

}  // namespace

void ComputeElements(const ElementWiseCall& call, std::span<const ConstTensorView> inputs,
                     const TensorView& output) {
  if (MovesBits(call, inputs[0].type, output.type)) {
    return CopyView({inputs[0].data, output.type, inputs[0].layout}, output);
  }
  if (PaysHalfTable(call, inputs, output)) return ComputeByHalfTable(call, inputs[0], output);
  ElementLoop(call, inputs, output).Run();
}

// --- sequences -----------------------------------------------------------------------------------

namespace {

constexpr int64_t kPart = 1 << 9;    // elements in a part of a row
constexpr int64_t kGrain = 1 << 15;  // fewer elements do not repay a second thread

template <typename T>
void NumberPlaces(int64_t first, int64_t step, int64_t count, std::byte* to) {
  T* places = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) places[i] = static_cast<T>(first + i * step);
}

}  // namespace

void FillSequence(const ElementParameters& parameters, int64_t first, const Dims& steps,
                  const TensorView& output) {
  // The loops over the output and over the numbers of its elements.
  LoopNest<2> nest = Merged(LoopNest<2>{output.layout.sizes, {output.layout.strides, steps}});
  if (nest.rank() == 0) nest.Push(1, {1, 1});
  const size_t last = nest.rank() - 1;
  const int64_t row = nest.sizes[last];
  const int64_t stride = nest.strides[0][last];
  const int64_t step = nest.strides[1][last];
  const LoopNest<2> rows = Without(nest, last);

  const bool is_float = IsFloat(output.type);
  const DataType place_type = is_float ? DataType::kFloat64 : DataType::kUint64;
  const ElementWiseCall call{ElementWiseFunction::kSequence, parameters, {}};
  const ConstTensorView places{nullptr, place_type, output.layout};
  const RowPipeline pipeline(call, {&places, 1}, output.type);
  const size_t width = ByteWidth(output.type);
  const CopyTileFunction copy = CopyTileFor(width);

  const int64_t parts = (row - 1) / kPart + 1;
  ParallelFor(Product(rows.sizes) * parts, std::max<int64_t>(1, kGrain / std::min(row, kPart)),
              output.element_bytes(), [&](int64_t begin, int64_t end) {
                RowPipeline::Scratch scratch;
                alignas(64) std::byte numbers[kPart * sizeof(double)];
                alignas(64) std::byte values[kPart * sizeof(double)];
                Walk<2> walk(rows, begin / parts);
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t in_row = i % parts * kPart;
                  const int64_t count = std::min(kPart, row - in_row);
                  const int64_t place = first + walk.offset(1) + in_row * step;
                  is_float ? NumberPlaces<double>(place, step, count, numbers)
                           : NumberPlaces<uint64_t>(place, step, count, numbers);
                  const RowSource source{numbers, false};
                  std::byte* const to = output.data + (walk.offset(0) + in_row * stride) *
                                                          static_cast<int64_t>(width);
                  std::byte* const target = stride == 1 ? to : values;
                  pipeline.Run(count, {&source, 1}, target, /*streams=*/false, scratch);
                  if (target != to) copy({1, count, 0, stride, 0, 1}, to, values);
                  if (i % parts == parts - 1) walk.Next();
                }
              });
}

}  // namespace dmlop
