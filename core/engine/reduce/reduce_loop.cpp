// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/reduce_loop.h"

#include <mutex>
#include <optional>
#include <utility>

#include "core/base/memory.h"
#include "core/base/parallel.h"

namespace dmlop {
namespace {

using namespace reduce;

using OuterLoops = LoopNest<ReducePlan::kOuterOperands>;
using OuterWalk = Walk<ReducePlan::kOuterOperands>;
using ColumnLoops = LoopNest<ReducePlan::kColumnOperands>;
using InnerNest = LoopNest<ReducePlan::kInnerOperands>;

constexpr int64_t kMergedOutputs = 512;  // least number that a thread merges

class ReduceLoop {
 public:
  ReduceLoop(const ReducePlan& plan, const ReduceOperands& operands, const AccumulatorMaker& make,
             const std::vector<int64_t>* chosen)
      : plan_(plan),
        input_(operands.input.data),
        input_width_(static_cast<int64_t>(ByteWidth(operands.input.type))),
        output_(operands.output.data),
        output_width_(static_cast<int64_t>(ByteWidth(operands.output.type))),
        shift_(operands.shift),
        make_(make),
        chosen_(chosen),
        batches_(plan, chosen),
        rows_of_inner_(plan.inner) {
    CutBatches();
    rows_of_inner_.sizes.back() = 1;
    Walk<ReducePlan::kFoldOperands> fold(plan.folded, 0);
    for (int64_t i = 0; i < fold_count(); ++i, fold.Next()) {
      folds_.push_back(
          {fold.offset(ReducePlan::kColumnAfter), fold.offset(ReducePlan::kNumberAfter)});
    }
  }

  std::vector<int64_t> Run() {
    if (plan_.block_count() == 1) {
      RunWholeGroups();
    } else {
      RunInBlocks();
    }
    std::sort(unresolved_.begin(), unresolved_.end());
    std::vector<int64_t> all;
    for (const auto& some : unresolved_) all.insert(all.end(), some.begin(), some.end());
    return all;
  }

 private:
  int64_t fold_count() const { return Product(plan_.folded.sizes); }

  // Sets the loops over batches, and those over the outputs of a full batch.
  void CutBatches() {
    const OuterLoops& outer = plan_.outer;
    const int64_t step = plan_.batch / (plan_.outputs_per_cut() / outer.sizes[plan_.cut]);
    for (size_t d = 0; d < plan_.cut; ++d) batch_loops_.Push(outer.sizes[d], outer.Step(d));
    auto batch_step = outer.Step(plan_.cut);
    for (int64_t& stride : batch_step) stride *= step;
    batch_loops_.Push(plan_.batches_per_cut(), batch_step);
    inside_.Push(step, outer.Step(plan_.cut));
    for (size_t d = plan_.cut + 1; d < outer.rank(); ++d)
      inside_.Push(outer.sizes[d], outer.Step(d));
    rows_inside_ = inside_;
    rows_inside_.sizes.back() = 1;
    const OutputAt next(1, inside_.Step(0));
    are_neighbours_ = inside_.rank() == 1 && next.column == 1 && next.output == 1;
  }

  Place PlaceOf(int64_t batch) const { return PlaceAt(OuterWalk(batch_loops_, batch), batch); }

  Place PlaceAt(const OuterWalk& walk, int64_t batch) const {
    const int64_t first = batch % plan_.batches_per_cut() * plan_.batch;
    return {std::min(plan_.batch, plan_.outputs_per_cut() - first),
            batch / plan_.batches_per_cut() * plan_.outputs_per_cut() + first,
            walk.offset(ReducePlan::kInput), walk.offset(ReducePlan::kOutput),
            walk.offset(ReducePlan::kShift)};
  }

  // Calls body(first, count, step) for rows of some outputs of a batch, `step` apart.
  template <typename Body>
  void ForEachRow(const Outputs& outputs, Body&& body) const {
    const int64_t row_size = inside_.sizes.back();
    const OutputAt step(1, inside_.Step(inside_.rank() - 1));
    OuterWalk row(rows_inside_, outputs.begin / row_size);
    for (int64_t o = outputs.begin; o < outputs.end; row.Next()) {
      const int64_t in_row = o % row_size;
      const int64_t count = std::min(outputs.end - o, row_size - in_row);
      body(OutputAt(o - in_row, row.offsets()).After(in_row, step), count, step);
      o += count;
    }
  }

  // Calls body(output) for each of some outputs of a batch.
  template <typename Body>
  void ForEachOutput(const Outputs& outputs, Body&& body) const {
    ForEachRow(outputs, [&](const OutputAt& first, int64_t count, const OutputAt& step) {
      for (int64_t i = 0; i < count; ++i) body(first.After(i, step));
    });
  }

  // Approximate size of the elements that these batches read.
  int64_t Bytes() const {
    const double elements = static_cast<double>(plan_.output_count * plan_.group_size);
    const double part =
        static_cast<double>(batches_.count()) / static_cast<double>(plan_.batch_count());
    return static_cast<int64_t>(elements * part) * input_width_;
  }

  std::unique_ptr<Accumulators> NewAccumulators() const { return make_(plan_.column_count()); }

  // Groups may lie far apart and be short, so that an element takes long: a thread that is awake
  // gets fewer than are worth waking one.
  int64_t GrainOfWholeGroups() const {
    const int64_t elements = plan_.batch * plan_.group_size;
    const bool is_little = batches_.count() * elements <= kParallelElements;
    return is_little ? batches_.count() : kParallelElements / 16 / elements + 1;
  }

  void RunWholeGroups() {
    const int64_t grain = GrainOfWholeGroups();
    ParallelFor(batches_.count(), grain, Bytes(), [&](int64_t begin, int64_t end) {
      const std::unique_ptr<Accumulators> accumulators = NewAccumulators();
      std::vector<int64_t> unresolved;
      std::optional<OuterWalk> walk;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t number = batches_[i];
        if (i > begin && number == batches_[i - 1] + 1) {
          walk->Next();
        } else {
          walk.emplace(batch_loops_, number);
        }
        const Place place = PlaceAt(*walk, number);
        Accumulate(place, 0, plan_.iterations(), *accumulators);
        Finish(place, {0, place.count}, *accumulators, unresolved);
      }
      Report(std::move(unresolved));
    });
  }

  // Long groups are shared by threads: every block has its own accumulators, merged in order.
  void RunInBlocks() {
    const int64_t blocks = plan_.block_count();
    const int64_t count = batches_.count();
    std::vector<std::unique_ptr<Accumulators>> parts(static_cast<size_t>(count * blocks));
    const int64_t elements = plan_.column_count() * plan_.block;
    const int64_t grain = kParallelElements / elements + 1;
    ParallelFor(count * blocks, grain, Bytes(), [&](int64_t begin, int64_t end) {
      for (int64_t work = begin; work < end; ++work) {
        const int64_t block = work % blocks;
        std::unique_ptr<Accumulators>& part = parts[static_cast<size_t>(work)];
        part = NewAccumulators();
        Accumulate(PlaceOf(batches_[work / blocks]), block * plan_.block,
                   std::min(plan_.iterations(), (block + 1) * plan_.block), *part);
      }
    });
    MergeBlocks(parts);
  }

  void MergeBlocks(const std::vector<std::unique_ptr<Accumulators>>& parts) {
    const int64_t blocks = plan_.block_count();
    const int64_t pieces = (plan_.batch + kMergedOutputs - 1) / kMergedOutputs;
    const int64_t merged = std::min(plan_.batch, kMergedOutputs) * blocks;
    const int64_t grain = kParallelElements / merged + 1;
    ParallelFor(batches_.count() * pieces, grain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> unresolved;
      for (int64_t work = begin; work < end; ++work) {
        const Place place = PlaceOf(batches_[work / pieces]);
        const int64_t first = work % pieces * kMergedOutputs;
        const Outputs outputs{first, std::min(first + kMergedOutputs, place.count)};
        const auto of_batch = parts.begin() + work / pieces * blocks;
        for (int64_t b = 1; b < blocks; ++b) Merge(outputs, **of_batch, *of_batch[b], {0, 0});
        Finish(place, outputs, **of_batch, unresolved);
      }
      Report(std::move(unresolved));
    });
  }

  void Merge(const Outputs& outputs, Accumulators& to, Accumulators& from, const Fold& fold) const {
    ForEachRow(outputs, [&](const OutputAt& first, int64_t count, const OutputAt& step) {
      to.Merge({first.column, count, step.column}, from, fold.column, fold.number);
    });
  }

  // Feeds iterations [begin, end) of the inner loops to the accumulators.
  void Accumulate(const Place& place, int64_t begin, int64_t end, Accumulators& to) const {
    to.Start(place.count * fold_count());
    const bool is_place_known = are_neighbours_ && chosen_ == nullptr;
    to.SetPlace(is_place_known ? output_ + place.output * output_width_ : nullptr);
    if (shift_ != nullptr) SetShifts(place, to);
    if (plan_.by_columns) return AccumulateColumns(place, begin, end, to);
    ForEachOutput({0, place.count}, [&](const OutputAt& at) {
      ForEachRun(begin, end, [&](Accumulators::Run run, int64_t offset) {
        run.first = InputAt(place.input + at.input + offset);
        to.AddRow(at.column, run);
      });
    });
  }

  const std::byte* InputAt(int64_t offset) const { return input_ + offset * input_width_; }

  void SetShifts(const Place& place, Accumulators& to) const {
    ForEachOutput({0, place.count}, [&](const OutputAt& at) {
      const double shift = shift_[place.shift + at.shift];
      for (const Fold& fold : folds_) to.SetShift(at.column + fold.column, shift);
    });
  }

  // The columns of a part of a batch, in the ratio count / whole.
  ColumnLoops Shortened(int64_t count, int64_t whole) const {
    ColumnLoops columns = plan_.columns;
    columns.sizes[0] = columns.sizes[0] * count / whole;
    return columns;
  }

  // Calls body(columns) with the columns of a batch.
  template <typename Body>
  void WithColumns(const Place& place, Body&& body) const {
    if (place.count == plan_.batch) return body(AsRun(plan_.columns));
    body(AsRun(Shortened(place.count, plan_.batch)));
  }

  static ColumnRun AsRun(const ColumnLoops& columns) {
    const bool is_regular = columns.rank() == 1;
    return {Product(columns.sizes), is_regular ? columns.strides[ReducePlan::kInMemory][0] : 0,
            is_regular ? nullptr : &columns};
  }

  void AccumulateColumns(const Place& place, int64_t begin, int64_t end, Accumulators& to) const {
    WithColumns(place, [&](const ColumnRun& columns) {
      if (plan_.last_fold) return AccumulateCutFold(place, begin, end, columns, to);
      ForEachRun(begin, end, [&](Accumulators::Run run, int64_t offset) {
        run.first = InputAt(place.input + offset);
        to.AddColumns(columns, run);
      });
    });
    to.EndColumns();
    for (size_t i = 1; i < folds_.size(); ++i) Merge({0, place.count}, to, to, folds_[i]);
  }

  // Used if the last iteration of the innermost loop has fewer columns.
  void AccumulateCutFold(const Place& place, int64_t begin, int64_t end, const ColumnRun& columns,
                         Accumulators& to) const {
    const ColumnLoops fewer = Shortened(*plan_.last_fold, plan_.folded.sizes.back());
    const int64_t row_size = plan_.inner.sizes.back();
    int64_t in_row = begin % row_size;
    ForEachRun(begin, end, [&](Accumulators::Run run, int64_t offset) {
      run.first = InputAt(place.input + offset);
      in_row += run.count;
      const bool has_last = in_row == row_size;
      in_row %= row_size;
      run.count -= has_last ? 1 : 0;
      to.AddColumns(columns, run);
      if (!has_last) return;
      run = {run.first + run.count * run.stride * input_width_, 1, run.stride,
             run.number + run.count * run.number_step, run.number_step};
      to.AddColumns(AsRun(fewer), run);
    });
  }

  // Calls body(run, offset) for the pieces of the innermost loop in [begin, end).
  template <typename Body>
  void ForEachRun(int64_t begin, int64_t end, Body&& body) const {
    const int64_t row_size = plan_.inner.sizes.back();
    const int64_t stride = plan_.inner.strides[ReducePlan::kElement].back();
    const int64_t number_step = plan_.inner.strides[ReducePlan::kNumber].back();
    if (rows_of_inner_.rank() == 1) {
      return body(Accumulators::Run{nullptr, end - begin, stride, begin * number_step, number_step},
                  begin * stride);
    }
    Walk<ReducePlan::kInnerOperands> row(rows_of_inner_, begin / row_size);
    int64_t first = begin % row_size;
    for (int64_t at = begin; at < end; row.Next(), first = 0) {
      const int64_t count = std::min(row_size - first, end - at);
      body(Accumulators::Run{nullptr, count, stride,
                             row.offset(ReducePlan::kNumber) + first * number_step, number_step},
           row.offset(ReducePlan::kElement) + first * stride);
      at += count;
    }
  }

  void FinalizeGroups(const Outputs& outputs, Accumulators& accumulators) const {
    ForEachRow(outputs, [&](const OutputAt& first, int64_t count, const OutputAt& step) {
      accumulators.FinalizeGroups({first.column, count, step.column}, plan_.group_size);
    });
  }

  void Finish(const Place& place, const Outputs& outputs, Accumulators& accumulators,
              std::vector<int64_t>& unresolved) const {
    FinalizeGroups(outputs, accumulators);
    const auto finish = [&](const OutputAt& first, int64_t count, const OutputAt& step) {
      accumulators.Finish({first.column, count, step.column}, plan_.group_size,
                          output_ + (place.output + first.output) * output_width_, step.output,
                          place.first + first.number, unresolved);
    };
    if (chosen_ == nullptr) return ForEachRow(outputs, finish);
    auto chosen = std::lower_bound(chosen_->begin(), chosen_->end(), place.first + outputs.begin);
    ForEachOutput(outputs, [&](const OutputAt& at) {
      if (chosen == chosen_->end() || *chosen != place.first + at.number) return;
      finish(at, 1, at);
      ++chosen;
    });
  }

  // Takes increasing numbers of outputs, between which no other call has any.
  void Report(std::vector<int64_t> unresolved) {
    if (unresolved.empty()) return;
    const std::lock_guard lock(unresolved_mutex_);
    unresolved_.push_back(std::move(unresolved));
  }

  const ReducePlan& plan_;
  const std::byte* input_;
  int64_t input_width_;  // size of an element in bytes
  std::byte* output_;
  int64_t output_width_;
  const double* shift_;
  const AccumulatorMaker& make_;
  const std::vector<int64_t>* chosen_;  // outputs; null for all
  Batches batches_;
  OuterLoops batch_loops_;   // plan_.outer over batches
  OuterLoops inside_;        // plan_.outer over the outputs of a full batch
  OuterLoops rows_inside_;   // inside_ with its innermost loop as one iteration
  bool are_neighbours_;      // results of a batch are adjacent
  InnerNest rows_of_inner_;  // plan_.inner with its innermost loop as one iteration
  std::vector<Fold> folds_;  // columns of a group, relative to its first one
  std::mutex unresolved_mutex_;
  std::vector<std::vector<int64_t>> unresolved_;
};

}  // namespace

std::vector<int64_t> RunReduction(const ReducePlan& plan, const ReduceOperands& operands,
                                  const AccumulatorMaker& make,
                                  const std::vector<int64_t>* chosen) {
  return ReduceLoop(plan, operands, make, chosen).Run();
}

}  // namespace dmlop
