// The loop of a reduction: shows each group's elements to a tile, which has the states of a few
// neighbouring outputs.
//
//   Tile(capacity)                    states of up to `capacity` outputs
//   Start(count, shift, stride)       begins `count` groups; see ReduceLoop about `shift`
//   AddRow(o, row)                    elements of group o
//   AddColumns(columns, rows)         elements of all groups: `columns` leads from group to group
//   Merge(o, other)                   what another part of group o has seen
//   Finish(o, n, result)              the result of group o of n elements; false: not decided
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/base/parallel.h"
#include "core/ops/reduce_plan.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Elements a stride apart, numbered in their group from `number` in steps of `number_step`.
template <typename T>
struct ElementRun {
  const T* first;
  int64_t count;
  int64_t stride;
  int64_t number;
  int64_t number_step;
};

// The groups that a run of elements belongs to, one each.
struct ColumnRun {
  int64_t count;
  int64_t stride;  // elements
};

template <typename Tile>
class ReduceLoop {
 public:
  using Input = typename Tile::Input;
  using Output = typename Tile::Output;

  // `shift` is null, or has a value for each output, which Tile::Start is shown.
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

  // Computes every output. Returns the numbers of those that the tile could not decide.
  std::vector<int64_t> Run() {
    std::vector<int64_t> all(static_cast<size_t>(Product(tiles_.sizes)));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    return RunTiles(all);
  }

  // The same for the tiles that have these outputs.
  std::vector<int64_t> RunOutputs(const std::vector<int64_t>& outputs) {
    std::vector<int64_t> tiles;
    for (const int64_t output : outputs) {
      const int64_t row = output / plan_.kept.sizes.back();
      const int64_t column = output % plan_.kept.sizes.back();
      tiles.push_back(row * plan_.tiles_per_row() + column / plan_.tile);
    }
    std::sort(tiles.begin(), tiles.end());
    tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
    return RunTiles(tiles);
  }

 private:
  static constexpr int64_t kParallelElements = 1 << 15;

  // Where a tile's outputs are.
  struct Place {
    int64_t count;                 // outputs
    int64_t first;                 // number of the first
    int64_t input, output, shift;  // offsets of the first
  };

  int64_t Stride(ReducePlan::KeptOperand operand) const {
    return plan_.kept.strides[operand].back();
  }

  Place PlaceOf(int64_t tile) const {
    const Walk<ReducePlan::kKeptOperands> walk(tiles_, tile);
    const int64_t column = tile % tiles_.sizes.back() * plan_.tile;
    return {std::min(plan_.tile, plan_.kept.sizes.back() - column),
            tile / tiles_.sizes.back() * plan_.kept.sizes.back() + column,
            walk.offset(ReducePlan::kInput), walk.offset(ReducePlan::kOutput),
            walk.offset(ReducePlan::kShift)};
  }

  std::vector<int64_t> RunTiles(const std::vector<int64_t>& tiles) {
    undecided_.clear();
    if (plan_.block_count() == 1) {
      RunWholeGroups(tiles);
    } else {
      RunInBlocks(tiles);
    }
    return std::move(undecided_);
  }

  void RunWholeGroups(const std::vector<int64_t>& tiles) {
    const int64_t elements = plan_.tile * plan_.group_size;
    ParallelFor(static_cast<int64_t>(tiles.size()), kParallelElements / elements + 1,
                [&](int64_t begin, int64_t end) {
                  Tile tile(plan_.tile);
                  for (int64_t i = begin; i < end; ++i) {
                    const Place place = PlaceOf(tiles[static_cast<size_t>(i)]);
                    Accumulate(place, 0, plan_.group_size, tile);
                    Finish(place, tile);
                  }
                });
  }

  // Groups that are long enough to share: every block has states of its own, merged in order.
  void RunInBlocks(const std::vector<int64_t>& tiles) {
    const int64_t blocks = plan_.block_count();
    const int64_t count = static_cast<int64_t>(tiles.size());
    std::vector<Tile> states(static_cast<size_t>(count * blocks), Tile(plan_.tile));
    ParallelFor(count * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t work = begin; work < end; ++work) {
        const int64_t block = work % blocks;
        Accumulate(PlaceOf(tiles[static_cast<size_t>(work / blocks)]), block * plan_.block,
                   std::min(plan_.group_size, (block + 1) * plan_.block),
                   states[static_cast<size_t>(work)]);
      }
    });
    ParallelFor(count, kParallelElements / (blocks * plan_.tile) + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const Place place = PlaceOf(tiles[static_cast<size_t>(i)]);
                    Tile* of_tile = &states[static_cast<size_t>(i * blocks)];
                    for (int64_t b = 1; b < blocks; ++b) {
                      for (int64_t o = 0; o < place.count; ++o) of_tile[0].Merge(o, of_tile[b]);
                    }
                    Finish(place, of_tile[0]);
                  }
                });
  }

  // Shows the elements [begin, end) of each group of a place to a tile.
  void Accumulate(const Place& place, int64_t begin, int64_t end, Tile& tile) const {
    tile.Start(place.count, shift_ == nullptr ? nullptr : shift_ + place.shift,
               Stride(ReducePlan::kShift));
    const Input* first = input_ + place.input;
    const int64_t column_stride = Stride(ReducePlan::kInput);
    if (plan_.by_columns) {
      ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
        run.first = first + offset;
        tile.AddColumns(ColumnRun{place.count, column_stride}, run);
      });
      return;
    }
    for (int64_t o = 0; o < place.count; ++o) {
      ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
        run.first = first + o * column_stride + offset;
        tile.AddRow(o, run);
      });
    }
  }

  // Calls body(run, offset) for the pieces of the innermost reduced loop in [begin, end).
  template <typename Body>
  void ForEachRun(int64_t begin, int64_t end, Body&& body) const {
    const int64_t row_size = plan_.reduced.sizes.back();
    const int64_t stride = plan_.reduced.strides[ReducePlan::kElement].back();
    const int64_t number_step = plan_.reduced.strides[ReducePlan::kNumber].back();
    LoopNest<ReducePlan::kReducedOperands> rows = plan_.reduced;
    rows.sizes.back() = 1;
    Walk<ReducePlan::kReducedOperands> row(rows, begin / row_size);
    int64_t first = begin % row_size;
    for (int64_t at = begin; at < end; row.Next(), first = 0) {
      const int64_t count = std::min(row_size - first, end - at);
      body(ElementRun<Input>{nullptr, count, stride,
                             row.offset(ReducePlan::kNumber) + first * number_step, number_step},
           row.offset(ReducePlan::kElement) + first * stride);
      at += count;
    }
  }

  void Finish(const Place& place, Tile& tile) {
    for (int64_t o = 0; o < place.count; ++o) {
      Output& result = output_[place.output + o * Stride(ReducePlan::kOutput)];
      if (tile.Finish(o, plan_.group_size, result)) continue;
      const std::lock_guard lock(undecided_mutex_);
      undecided_.push_back(place.first + o);
    }
  }

  const ReducePlan& plan_;
  const Input* input_;
  const double* shift_;
  Output* output_;
  LoopNest<ReducePlan::kKeptOperands> tiles_;  // plan_.kept with its last loop counted in tiles
  std::mutex undecided_mutex_;
  std::vector<int64_t> undecided_;
};

}  // namespace dmlop
