// The loop of a reduction: shows each group's elements to a tile, which has the states of a few
// neighbouring outputs.
//
//   Tile(capacity)                    states of up to `capacity` outputs
//   Start(count)                      begins `count` groups
//   SetShift(o, shift)                next, if there are shifts: that of group o
//   AddRow(o, row)                    elements of group o
//   AddColumns(columns, rows)         elements of all groups: `columns` leads from group to group
//   Merge(o, other, p, number)        what another part of group o has seen: state p of the same or
//                                     another tile, whose elements' numbers count from `number`;
//                                     not for tiles that take groups as a whole (kElements)
//   Finish(o, n, result)              the result of group o of n elements; false: not decided
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
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

// A tile that takes groups as a whole says how many of their elements it takes together.
template <typename Tile>
inline constexpr int64_t kElementsOf = 0;
template <typename Tile>
requires(Tile::kElements > 0) inline constexpr int64_t kElementsOf<Tile> = Tile::kElements;

// How a tile wants its elements.
template <typename Tile>
constexpr ReduceTraits TraitsOf(bool any_order) {
  ReduceTraits traits{any_order, Tile::kByVectors, Tile::kColumns, kElementsOf<Tile>};
  if constexpr (requires { Tile::kShortRow; }) traits.short_row = Tile::kShortRow;
  if constexpr (requires { Tile::kBlock; }) traits.block = Tile::kBlock;
  return traits;
}

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

  // `shift` is null, or has a value for each output.
  ReduceLoop(const ReducePlan& plan, const ConstTensorView& input, const double* shift,
             const TensorView& output)
      : plan_(plan),
        input_(input.elements<Input>()),
        shift_(shift),
        output_(output.elements<Output>()),
        tiles_(plan.kept),
        rows_(plan.reduced) {
    tiles_.sizes.back() = plan.tiles_per_row();
    for (Dims& strides : tiles_.strides) strides.back() *= plan.tile;
    rows_.sizes.back() = 1;
  }

  // Computes every output. Returns the numbers of those that the tile could not decide, in rising
  // order.
  std::vector<int64_t> Run() {
    chosen_ = nullptr;
    return RunTiles(plan_.tile_count(), [](int64_t i) { return i; });
  }

  // The same for these outputs only, in rising order.
  std::vector<int64_t> RunOutputs(const std::vector<int64_t>& outputs) {
    chosen_ = &outputs;
    std::vector<int64_t> tiles;
    for (const int64_t output : outputs) {
      const int64_t row = output / plan_.kept.sizes.back();
      const int64_t column = output % plan_.kept.sizes.back();
      const int64_t tile = row * plan_.tiles_per_row() + column / plan_.tile;
      if (tiles.empty() || tiles.back() != tile) tiles.push_back(tile);
    }
    return RunTiles(static_cast<int64_t>(tiles.size()),
                    [&](int64_t i) { return tiles[static_cast<size_t>(i)]; });
  }

 private:
  static constexpr bool kMerges = kElementsOf<Tile> == 0;

  static constexpr int64_t kParallelElements = 1 << 17;  // fewer are done before threads wake

  static constexpr int64_t kMergedOutputs = 512;  // by one thread, at least

  // Where a tile's outputs are.
  struct Place {
    int64_t count;                 // outputs
    int64_t first;                 // number of the first
    int64_t input, output, shift;  // offsets of the first
  };

  // Some of a tile's.
  struct Outputs {
    int64_t begin, end;
  };

  int64_t Stride(ReducePlan::KeptOperand operand) const {
    return plan_.kept.strides[operand].back();
  }

  using TileWalk = Walk<ReducePlan::kKeptOperands>;

  Place PlaceOf(int64_t tile) const { return PlaceAt(TileWalk(tiles_, tile), tile); }

  Place PlaceAt(const TileWalk& walk, int64_t tile) const {
    const int64_t column = tile % tiles_.sizes.back() * plan_.tile;
    return {std::min(plan_.tile, plan_.kept.sizes.back() - column),
            tile / tiles_.sizes.back() * plan_.kept.sizes.back() + column,
            walk.offset(ReducePlan::kInput), walk.offset(ReducePlan::kOutput),
            walk.offset(ReducePlan::kShift)};
  }

  // Numbers the tiles to run.
  using TileAt = std::function<int64_t(int64_t)>;

  std::vector<int64_t> RunTiles(int64_t count, const TileAt& tile_at) {
    undecided_.clear();
    if (plan_.block_count() == 1) {
      RunWholeGroups(count, tile_at);
    } else if constexpr (kMerges) {
      RunInBlocks(count, tile_at);
    }
    std::sort(undecided_.begin(), undecided_.end());
    std::vector<int64_t> all;
    for (const auto& some : undecided_) all.insert(all.end(), some.begin(), some.end());
    return all;
  }

  // Of the elements that go into so many tiles, about.
  int64_t BytesOf(int64_t tiles) const {
    const double elements = static_cast<double>(plan_.output_count * plan_.group_size);
    const double part = static_cast<double>(tiles) / static_cast<double>(plan_.tile_count());
    return static_cast<int64_t>(elements * part) * static_cast<int64_t>(sizeof(Input));
  }

  Tile NewTile() const { return Tile(plan_.tile * plan_.fold.count); }

  void RunWholeGroups(int64_t count, const TileAt& tile_at) {
    const int64_t elements = plan_.tile * plan_.group_size;
    const int64_t grain = kParallelElements / elements + 1;
    ParallelFor(count, grain, BytesOf(count), [&](int64_t begin, int64_t end) {
      Tile tile = NewTile();
      std::vector<int64_t> undecided;
      std::optional<TileWalk> walk;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t number = tile_at(i);
        if (i > begin && number == tile_at(i - 1) + 1) {
          walk->Next();
        } else {
          walk.emplace(tiles_, number);
        }
        const Place place = PlaceAt(*walk, number);
        Accumulate(place, 0, plan_.turns(), tile);
        Finish(place, {0, place.count}, tile, undecided);
      }
      Report(std::move(undecided));
    });
  }

  // Groups that are long enough to share: every block has states of its own, merged in order.
  void RunInBlocks(int64_t count, const TileAt& tile_at) {
    const int64_t blocks = plan_.block_count();
    std::vector<std::optional<Tile>> states(static_cast<size_t>(count * blocks));
    const int64_t elements = plan_.tile * plan_.fold.count * plan_.block;
    const int64_t grain = kParallelElements / elements + 1;
    ParallelFor(count * blocks, grain, BytesOf(count), [&](int64_t begin, int64_t end) {
      for (int64_t work = begin; work < end; ++work) {
        const int64_t block = work % blocks;
        Tile& tile = states[static_cast<size_t>(work)].emplace(NewTile());
        Accumulate(PlaceOf(tile_at(work / blocks)), block * plan_.block,
                   std::min(plan_.turns(), (block + 1) * plan_.block), tile);
      }
    });
    const int64_t parts = (plan_.tile + kMergedOutputs - 1) / kMergedOutputs;
    const int64_t merged = std::min(plan_.tile, kMergedOutputs) * blocks;
    ParallelFor(count * parts, kParallelElements / merged + 1, /*bytes=*/0,
                [&](int64_t begin, int64_t end) {
                  std::vector<int64_t> undecided;
                  for (int64_t work = begin; work < end; ++work) {
                    const Place place = PlaceOf(tile_at(work / parts));
                    const int64_t first = work % parts * kMergedOutputs;
                    const Outputs outputs{first, std::min(first + kMergedOutputs, place.count)};
                    const auto of_tile = states.begin() + work / parts * blocks;
                    for (int64_t b = 1; b < blocks; ++b) MergeTile(outputs, *of_tile[b], **of_tile);
                    Finish(place, outputs, **of_tile, undecided);
                  }
                  Report(std::move(undecided));
                });
  }

  void MergeTile(const Outputs& outputs, Tile& from, Tile& to) const {
    for (int64_t o = outputs.begin; o < outputs.end; ++o) {
      const int64_t state = o * plan_.fold.output_step;
      to.Merge(state, from, state, 0);
    }
  }

  // Shows the turns [begin, end) of the reduced loops to a tile.
  void Accumulate(const Place& place, int64_t begin, int64_t end, Tile& tile) const {
    tile.Start(place.count * plan_.fold.count);
    if constexpr (requires { tile.SetShift(0, 0.0); }) SetShifts(place, tile);
    const Input* first = input_ + place.input;
    const int64_t column_stride = Stride(ReducePlan::kInput);
    if constexpr (kMerges) {
      if (plan_.fold.count > 1) return AccumulateFold(place, begin, end, tile);
    }
    if (plan_.by_columns) {
      ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
        run.first = first + offset;
        tile.AddColumns(ColumnRun{place.count, column_stride}, run);
      });
    } else {
      for (int64_t o = 0; o < place.count; ++o) {
        ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
          run.first = first + o * column_stride + offset;
          tile.AddRow(o, run);
        });
      }
    }
  }

  void SetShifts(const Place& place, Tile& tile) const {
    const ReducePlan::Fold& fold = plan_.fold;
    for (int64_t o = 0; o < place.count; ++o) {
      const double shift = shift_[place.shift + o * Stride(ReducePlan::kShift)];
      for (int64_t j = 0; j < fold.count; ++j) {
        tile.SetShift(o * fold.output_step + j * fold.step, shift);
      }
    }
  }

  void AccumulateFold(const Place& place, int64_t begin, int64_t end, Tile& tile) const {
    const ReducePlan::Fold& fold = plan_.fold;
    const int64_t turns = plan_.reduced.sizes.back();
    int64_t turn = begin % turns;
    ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
      run.first = input_ + place.input + offset;
      turn += run.count;
      const bool has_short_turn = turn == turns && fold.last_count < fold.count;
      turn %= turns;
      run.count -= has_short_turn ? 1 : 0;
      tile.AddColumns(ColumnRun{place.count * fold.count, 1}, run);
      if (!has_short_turn) return;
      run = {run.first + run.count * run.stride, 1, run.stride,
             run.number + run.count * run.number_step, run.number_step};
      tile.AddColumns(ColumnRun{place.count * fold.last_count, 1}, run);
    });
    for (int64_t o = 0; o < place.count; ++o) {
      const int64_t state = o * fold.output_step;
      for (int64_t j = 1; j < fold.count; ++j) {
        tile.Merge(state, tile, state + j * fold.step, j * fold.number_step);
      }
    }
  }

  // Calls body(run, offset) for the pieces of the innermost reduced loop in [begin, end).
  template <typename Body>
  void ForEachRun(int64_t begin, int64_t end, Body&& body) const {
    const int64_t row_size = plan_.reduced.sizes.back();
    const int64_t stride = plan_.reduced.strides[ReducePlan::kElement].back();
    const int64_t number_step = plan_.reduced.strides[ReducePlan::kNumber].back();
    if (rows_.rank() == 1) {
      return body(ElementRun<Input>{nullptr, end - begin, stride, begin * number_step, number_step},
                  begin * stride);
    }
    Walk<ReducePlan::kReducedOperands> row(rows_, begin / row_size);
    int64_t first = begin % row_size;
    for (int64_t at = begin; at < end; row.Next(), first = 0) {
      const int64_t count = std::min(row_size - first, end - at);
      body(ElementRun<Input>{nullptr, count, stride,
                             row.offset(ReducePlan::kNumber) + first * number_step, number_step},
           row.offset(ReducePlan::kElement) + first * stride);
      at += count;
    }
  }

  void Finish(const Place& place, const Outputs& outputs, Tile& tile,
              std::vector<int64_t>& undecided) {
    Output* to = output_ + place.output;
    const auto finish = [&, to, stride = Stride(ReducePlan::kOutput), step = plan_.fold.output_step,
                         size = plan_.group_size](int64_t o) {
      if (!tile.Finish(o * step, size, to[o * stride])) undecided.push_back(place.first + o);
    };
    if (chosen_ == nullptr) {
      for (int64_t o = outputs.begin; o < outputs.end; ++o) finish(o);
      return;
    }
    auto chosen = std::lower_bound(chosen_->begin(), chosen_->end(), place.first + outputs.begin);
    for (; chosen != chosen_->end() && *chosen < place.first + outputs.end; ++chosen) {
      finish(*chosen - place.first);
    }
  }

  // Takes rising numbers of outputs that no other call has between them.
  void Report(std::vector<int64_t> undecided) {
    if (undecided.empty()) return;
    const std::lock_guard lock(undecided_mutex_);
    undecided_.push_back(std::move(undecided));
  }

  const ReducePlan& plan_;
  const Input* input_;
  const double* shift_;
  Output* output_;
  LoopNest<ReducePlan::kKeptOperands> tiles_;     // plan_.kept with its last loop counted in tiles
  LoopNest<ReducePlan::kReducedOperands> rows_;   // plan_.reduced with its last loop as one turn
  const std::vector<int64_t>* chosen_ = nullptr;  // outputs; null: all
  std::mutex undecided_mutex_;
  std::vector<std::vector<int64_t>> undecided_;
};

}  // namespace dmlop
