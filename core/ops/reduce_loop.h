// The loop of a reduction: feeds each group's elements to a function of reduce_functions.h.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/parallel.h"
#include "core/ops/reduce_plan.h"
#include "core/tensor/tensor.h"

namespace dmlop {

template <typename Function>
class ReduceLoop {
 public:
  using Input = typename Function::Input;
  using Output = typename Function::Output;
  using State = typename Function::State;

  // `shift` is null, or has a value for each output.
  ReduceLoop(const ReducePlan& plan, const ConstTensorView& input, const double* shift,
             const TensorView& output)
      : plan_(plan),
        input_(input.elements<Input>()),
        shift_(shift),
        output_(output.elements<Output>()),
        tiles_(plan.kept) {
    tiles_.sizes.back() = plan.tiles_per_row();
    for (Dims& strides : tiles_.strides) strides.back() *= plan.tile;
  }

  void Run() const {
    if (plan_.block_count() == 1) {
      RunWholeGroups();
    } else {
      RunInBlocks();
    }
  }

 private:
  static constexpr int64_t kParallelElements = 1 << 14;

  struct Tile {
    int64_t count;                 // outputs
    int64_t input, output, shift;  // offsets of the first
  };

  int64_t Stride(ReducePlan::KeptOperand operand) const {
    return plan_.kept.strides[operand].back();
  }

  // Calls body(index, tile) for the tiles [begin, end).
  template <typename Body>
  void ForEachTile(int64_t begin, int64_t end, Body&& body) const {
    Walk<ReducePlan::kKeptOperands> walk(tiles_, begin);
    for (int64_t i = begin; i < end; ++i, walk.Next()) {
      const int64_t first = i % tiles_.sizes.back() * plan_.tile;
      body(i, Tile{std::min(plan_.tile, plan_.kept.sizes.back() - first),
                   walk.offset(ReducePlan::kInput), walk.offset(ReducePlan::kOutput),
                   walk.offset(ReducePlan::kShift)});
    }
  }

  State Start(const Tile& tile, int64_t o) const {
    return Function::Start(shift_ == nullptr ? 0.0
                                             : shift_[tile.shift + o * Stride(ReducePlan::kShift)]);
  }

  void Finish(const Tile& tile, int64_t o, const State& state) const {
    output_[tile.output + o * Stride(ReducePlan::kOutput)] =
        Function::Finish(state, plan_.group_size);
  }

  void RunWholeGroups() const {
    const int64_t elements = plan_.tile * plan_.group_size;
    ParallelFor(Product(tiles_.sizes), kParallelElements / elements + 1,
                [&](int64_t begin, int64_t end) {
                  std::vector<State> states(static_cast<size_t>(plan_.tile), Function::Start(0.0));
                  ForEachTile(begin, end, [&](int64_t, const Tile& tile) {
                    for (int64_t o = 0; o < tile.count; ++o) {
                      states[static_cast<size_t>(o)] = Start(tile, o);
                    }
                    Accumulate(tile, 0, plan_.group_size, states.data());
                    for (int64_t o = 0; o < tile.count; ++o) {
                      Finish(tile, o, states[static_cast<size_t>(o)]);
                    }
                  });
                });
  }

  // Groups that are long enough to share: every block has states of its own, merged in order.
  void RunInBlocks() const {
    const int64_t blocks = plan_.block_count();
    const int64_t tile_count = Product(tiles_.sizes);
    std::vector<State> states(static_cast<size_t>(tile_count * blocks * plan_.tile),
                              Function::Start(0.0));
    const auto states_of = [&](int64_t tile, int64_t block) {
      return &states[static_cast<size_t>((tile * blocks + block) * plan_.tile)];
    };
    ParallelFor(tile_count * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t work = begin; work < end; ++work) {
        const int64_t block = work % blocks;
        ForEachTile(work / blocks, work / blocks + 1, [&](int64_t i, const Tile& tile) {
          State* of_block = states_of(i, block);
          for (int64_t o = 0; o < tile.count; ++o) of_block[o] = Start(tile, o);
          Accumulate(tile, block * plan_.block,
                     std::min(plan_.group_size, (block + 1) * plan_.block), of_block);
        });
      }
    });
    ParallelFor(tile_count, kParallelElements, [&](int64_t begin, int64_t end) {
      ForEachTile(begin, end, [&](int64_t i, const Tile& tile) {
        for (int64_t o = 0; o < tile.count; ++o) {
          State& merged = states_of(i, 0)[o];
          for (int64_t b = 1; b < blocks; ++b) Function::Merge(merged, states_of(i, b)[o]);
          Finish(tile, o, merged);
        }
      });
    });
  }

  // Adds the elements [begin, end) of each group of a tile to its state.
  void Accumulate(const Tile& tile, int64_t begin, int64_t end, State* states) const {
    if (plan_.by_columns) {
      ForEachRow(begin, end, [&](int64_t offset, int64_t number, int64_t count) {
        AddColumns(tile, offset, number, count, states);
      });
      return;
    }
    for (int64_t o = 0; o < tile.count; ++o) {
      const int64_t group = tile.input + o * Stride(ReducePlan::kInput);
      ForEachRow(begin, end, [&](int64_t offset, int64_t number, int64_t count) {
        AddRow(input_ + group + offset, number, count, states[o]);
      });
    }
  }

  // Calls body(offset, number, count) for the pieces of the innermost reduced loop in [begin, end).
  template <typename Body>
  void ForEachRow(int64_t begin, int64_t end, Body&& body) const {
    const int64_t row_size = plan_.reduced.sizes.back();
    LoopNest<ReducePlan::kReducedOperands> rows = plan_.reduced;
    rows.sizes.back() = 1;
    Walk<ReducePlan::kReducedOperands> row(rows, begin / row_size);
    int64_t first = begin % row_size;
    for (int64_t at = begin; at < end; row.Next(), first = 0) {
      const int64_t count = std::min(row_size - first, end - at);
      body(row.offset(ReducePlan::kElement) + first * ElementStride(),
           row.offset(ReducePlan::kNumber) + first * NumberStride(), count);
      at += count;
    }
  }

  int64_t ElementStride() const { return plan_.reduced.strides[ReducePlan::kElement].back(); }
  int64_t NumberStride() const { return plan_.reduced.strides[ReducePlan::kNumber].back(); }

  void AddRow(const Input* x, int64_t number, int64_t count, State& state) const {
    const int64_t stride = ElementStride();
    const int64_t step = NumberStride();
    for (int64_t j = 0; j < count; ++j) Function::Add(state, x[j * stride], number + j * step);
  }

  void AddColumns(const Tile& tile, int64_t offset, int64_t number, int64_t count,
                  State* states) const {
    const int64_t stride = Stride(ReducePlan::kInput);
    for (int64_t j = 0; j < count; ++j) {
      const Input* x = input_ + tile.input + offset + j * ElementStride();
      const int64_t element_number = number + j * NumberStride();
      for (int64_t o = 0; o < tile.count; ++o) {
        Function::Add(states[o], x[o * stride], element_number);
      }
    }
  }

  const ReducePlan& plan_;
  const Input* input_;
  const double* shift_;
  Output* output_;
  LoopNest<ReducePlan::kKeptOperands> tiles_;  // plan_.kept with its last loop counted in tiles
};

}  // namespace dmlop
