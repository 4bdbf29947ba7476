// The loop of a reduction: shows each group's elements to a tile, which has the states of a few
// neighbouring outputs.
//
//   Tile(capacity)                    states of up to `capacity` outputs
//   Start(count)                      begins `count` groups
//   SetPlace(results)                 next, if the tile takes groups as a whole and can use it:
//                                     where the results of all groups go, side by side, and may be
//                                     written before Finish; null where they do not lie so
//   SetShift(o, shift)                next, if there are shifts: that of group o
//   AddRow(o, row)                    elements of group o
//   AddColumns(columns, rows)         elements of all groups: `columns` leads from group to group
//   EndColumns()                      ends what AddColumns has begun, if there is such a thing
//   Merge(o, other, p, number)        what another part of group o has seen: state p of the same or
//                                     another tile, whose elements' numbers count from `number`;
//                                     not for tiles that take groups as a whole (kElements)
//   EndGroups(o, count, n)            next, where some groups of n elements lie side by side, if
//                                     they are better ended together
//   FinishGroups(o, count, results)   the results of some groups, if that is quicker than one by
//                                     one; false: not all are decided
//   Finish(o, n, result)              the result of group o of n elements; false: not decided
#pragma once

#include <algorithm>
#include <array>
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
  int64_t stride;  // elements, if they are at regular distances
  const LoopNest<ReducePlan::kColumnOperands>* loops = nullptr;  // where they are, if not
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
        rows_(plan.reduced) {
    CutTiles();
    rows_.sizes.back() = 1;
    for (Walk<ReducePlan::kFoldOperands> fold(plan.folded, 0); std::ssize(folds_) < fold_count();
         fold.Next()) {
      folds_.push_back(
          {fold.offset(ReducePlan::kColumnAfter), fold.offset(ReducePlan::kNumberAfter)});
    }
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
    const int64_t per_cut = plan_.outputs_per_cut();
    int64_t end = 0;  // of the last tile's outputs
    for (const int64_t output : outputs) {
      if (output < end) continue;
      const int64_t cut = output / per_cut;
      const int64_t tile_of_cut = output % per_cut / plan_.tile;
      tiles.push_back(cut * plan_.tiles_per_cut() + tile_of_cut);
      end = cut * per_cut + std::min((tile_of_cut + 1) * plan_.tile, per_cut);
    }
    return RunTiles(static_cast<int64_t>(tiles.size()),
                    [&](int64_t i) { return tiles[static_cast<size_t>(i)]; });
  }

 private:
  static constexpr bool kMerges = kElementsOf<Tile> == 0;

  static constexpr int64_t kParallelElements = 1 << 17;  // fewer are done before threads wake

  static constexpr int64_t kMergedOutputs = 512;  // by one thread, at least

  using KeptLoops = LoopNest<ReducePlan::kKeptOperands>;
  using KeptWalk = Walk<ReducePlan::kKeptOperands>;
  using ColumnLoops = LoopNest<ReducePlan::kColumnOperands>;

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

  // One of a tile's: its number, its first column, and its offsets from those of the first.
  struct OutputAt {
    int64_t number, column, input, output, shift;

    OutputAt After(int64_t steps, const OutputAt& step) const {
      return {number + steps * step.number, column + steps * step.column,
              input + steps * step.input, output + steps * step.output, shift + steps * step.shift};
    }
  };

  static OutputAt AtOffsets(int64_t number,
                            const std::array<int64_t, ReducePlan::kKeptOperands>& at) {
    return {number, at[ReducePlan::kColumn], at[ReducePlan::kInput], at[ReducePlan::kOutput],
            at[ReducePlan::kShift]};
  }

  // A column of a group, from its first one, and where its elements' numbers begin.
  struct Fold {
    int64_t column, number;
  };

  int64_t fold_count() const { return Product(plan_.folded.sizes); }

  // The loops over tiles, and those over the outputs of a whole one.
  void CutTiles() {
    const KeptLoops& kept = plan_.kept;
    const int64_t step = plan_.tile / (plan_.outputs_per_cut() / kept.sizes[plan_.cut]);
    for (size_t d = 0; d < plan_.cut; ++d) tiles_.Push(kept.sizes[d], kept.Step(d));
    auto tile_step = kept.Step(plan_.cut);
    for (int64_t& stride : tile_step) stride *= step;
    tiles_.Push(plan_.tiles_per_cut(), tile_step);
    inside_.Push(step, kept.Step(plan_.cut));
    for (size_t d = plan_.cut + 1; d < kept.rank(); ++d) inside_.Push(kept.sizes[d], kept.Step(d));
    inside_rows_ = inside_;
    inside_rows_.sizes.back() = 1;
    const OutputAt next = AtOffsets(1, inside_.Step(0));
    one_behind_the_other_ = inside_.rank() == 1 && next.column == 1 && next.output == 1;
  }

  Place PlaceOf(int64_t tile) const { return PlaceAt(KeptWalk(tiles_, tile), tile); }

  Place PlaceAt(const KeptWalk& walk, int64_t tile) const {
    const int64_t first = tile % plan_.tiles_per_cut() * plan_.tile;
    return {std::min(plan_.tile, plan_.outputs_per_cut() - first),
            tile / plan_.tiles_per_cut() * plan_.outputs_per_cut() + first,
            walk.offset(ReducePlan::kInput), walk.offset(ReducePlan::kOutput),
            walk.offset(ReducePlan::kShift)};
  }

  // Calls body(first, count, step) for rows of some outputs of a tile; `step` leads from one to the
  // next.
  template <typename Body>
  void ForEachRow(const Outputs& outputs, Body&& body) const {
    const int64_t row_size = inside_.sizes.back();
    const OutputAt step = AtOffsets(1, inside_.Step(inside_.rank() - 1));
    KeptWalk row(inside_rows_, outputs.begin / row_size);
    for (int64_t o = outputs.begin; o < outputs.end; row.Next()) {
      const int64_t in_row = o % row_size;
      const int64_t count = std::min(outputs.end - o, row_size - in_row);
      body(AtOffsets(o - in_row, row.offsets()).After(in_row, step), count, step);
      o += count;
    }
  }

  // Calls body(output) for some outputs of a tile.
  template <typename Body>
  void ForEachOutput(const Outputs& outputs, Body&& body) const {
    ForEachRow(outputs, [&](const OutputAt& first, int64_t count, const OutputAt& step) {
      for (int64_t i = 0; i < count; ++i) body(first.After(i, step));
    });
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

  Tile NewTile() const { return Tile(plan_.column_count()); }

  void RunWholeGroups(int64_t count, const TileAt& tile_at) {
    const int64_t elements = plan_.tile * plan_.group_size;
    const int64_t grain = kParallelElements / elements + 1;
    ParallelFor(count, grain, BytesOf(count), [&](int64_t begin, int64_t end) {
      Tile tile = NewTile();
      std::vector<int64_t> undecided;
      std::optional<KeptWalk> walk;
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
    const int64_t elements = plan_.column_count() * plan_.block;
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
    ForEachOutput(outputs, [&](const OutputAt& at) { to.Merge(at.column, from, at.column, 0); });
  }

  // Shows the turns [begin, end) of the reduced loops to a tile.
  void Accumulate(const Place& place, int64_t begin, int64_t end, Tile& tile) const {
    tile.Start(place.count * fold_count());
    if constexpr (requires { tile.SetPlace(output_); }) {
      const bool is_known = one_behind_the_other_ && chosen_ == nullptr;
      tile.SetPlace(is_known ? output_ + place.output : nullptr);
    }
    if constexpr (requires { tile.SetShift(0, 0.0); }) SetShifts(place, tile);
    if (plan_.by_columns) return AccumulateColumns(place, begin, end, tile);
    ForEachOutput({0, place.count}, [&](const OutputAt& at) {
      ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
        run.first = input_ + place.input + at.input + offset;
        tile.AddRow(at.column, run);
      });
    });
  }

  void SetShifts(const Place& place, Tile& tile) const {
    ForEachOutput({0, place.count}, [&](const OutputAt& at) {
      const double shift = shift_[place.shift + at.shift];
      for (const Fold& fold : folds_) tile.SetShift(at.column + fold.column, shift);
    });
  }

  // The columns of a part of a tile: `count` of `whole`.
  ColumnLoops Shortened(int64_t count, int64_t whole) const {
    ColumnLoops columns = plan_.columns;
    columns.sizes[0] = columns.sizes[0] * count / whole;
    return columns;
  }

  // Calls body(columns) with those of a tile.
  template <typename Body>
  void WithColumns(const Place& place, Body&& body) const {
    if (place.count == plan_.tile) return body(AsRun(plan_.columns));
    body(AsRun(Shortened(place.count, plan_.tile)));
  }

  static ColumnRun AsRun(const ColumnLoops& columns) {
    const bool is_regular = columns.rank() == 1;
    return {Product(columns.sizes), is_regular ? columns.strides[ReducePlan::kInMemory][0] : 0,
            is_regular ? nullptr : &columns};
  }

  void AccumulateColumns(const Place& place, int64_t begin, int64_t end, Tile& tile) const {
    WithColumns(place, [&](const ColumnRun& columns) {
      if (plan_.last_fold) return AccumulateCutFold(place, begin, end, columns, tile);
      ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
        run.first = input_ + place.input + offset;
        tile.AddColumns(columns, run);
      });
    });
    if constexpr (requires { tile.EndColumns(); }) tile.EndColumns();
    if constexpr (kMerges) {
      if (folds_.size() > 1) MergeFolds(place, tile);
    }
  }

  // The last turn of the innermost loop has fewer columns.
  void AccumulateCutFold(const Place& place, int64_t begin, int64_t end, const ColumnRun& columns,
                         Tile& tile) const {
    const ColumnLoops fewer = Shortened(*plan_.last_fold, plan_.folded.sizes.back());
    const int64_t turns = plan_.reduced.sizes.back();
    int64_t turn = begin % turns;
    ForEachRun(begin, end, [&](ElementRun<Input> run, int64_t offset) {
      run.first = input_ + place.input + offset;
      turn += run.count;
      const bool has_last_turn = turn == turns;
      turn %= turns;
      run.count -= has_last_turn ? 1 : 0;
      tile.AddColumns(columns, run);
      if (!has_last_turn) return;
      run = {run.first + run.count * run.stride, 1, run.stride,
             run.number + run.count * run.number_step, run.number_step};
      tile.AddColumns(AsRun(fewer), run);
    });
  }

  void MergeFolds(const Place& place, Tile& tile) const {
    ForEachOutput({0, place.count}, [&](const OutputAt& at) {
      for (size_t i = 1; i < folds_.size(); ++i) {
        tile.Merge(at.column, tile, at.column + folds_[i].column, folds_[i].number);
      }
    });
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

  void EndGroups(const Outputs& outputs, Tile& tile) const {
    if constexpr (requires { tile.EndGroups(0, 0, 0); }) {
      ForEachRow(outputs, [&](const OutputAt& first, int64_t count, const OutputAt& step) {
        if (step.column == 1) tile.EndGroups(first.column, count, plan_.group_size);
      });
    }
  }

  void Finish(const Place& place, const Outputs& outputs, Tile& tile,
              std::vector<int64_t>& undecided) {
    EndGroups(outputs, tile);
    Output* to = output_ + place.output;
    const auto finish = [&, to, size = plan_.group_size](const OutputAt& at) {
      if (!tile.Finish(at.column, size, to[at.output])) {
        undecided.push_back(place.first + at.number);
      }
    };
    if (chosen_ == nullptr) {
      return ForEachRow(outputs, [&](const OutputAt& first, int64_t count, const OutputAt& step) {
        if constexpr (requires { tile.FinishGroups(0, 0, to); }) {
          const bool are_neighbours = step.column == 1 && step.output == 1;
          if (are_neighbours && tile.FinishGroups(first.column, count, to + first.output)) return;
        }
        for (int64_t i = 0; i < count; ++i) finish(first.After(i, step));
      });
    }
    auto chosen = std::lower_bound(chosen_->begin(), chosen_->end(), place.first + outputs.begin);
    ForEachOutput(outputs, [&](const OutputAt& at) {
      if (chosen == chosen_->end() || *chosen != place.first + at.number) return;
      finish(at);
      ++chosen;
    });
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
  KeptLoops tiles_;                               // plan_.kept over tiles
  KeptLoops inside_;                              // the same over the outputs of a whole tile
  KeptLoops inside_rows_;                         // with its last loop as one turn
  bool one_behind_the_other_;                     // the results of a tile's groups
  LoopNest<ReducePlan::kReducedOperands> rows_;   // plan_.reduced with its last loop as one turn
  std::vector<Fold> folds_;                       // the columns of a group, from the first one
  const std::vector<int64_t>* chosen_ = nullptr;  // outputs; null: all
  std::mutex undecided_mutex_;
  std::vector<std::vector<int64_t>> undecided_;
};

}  // namespace dmlop
