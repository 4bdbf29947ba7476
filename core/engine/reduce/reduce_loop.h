// SPDX-License-Identifier: Apache-2.0
// The loop of a reduction: it feeds the elements of a batch of neighbouring outputs to their
// accumulators and then stores the results.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/engine/reduce/reduce_plan.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Elements a fixed stride apart, numbered in their group from `number` in steps of `number_step`.
template <typename T>
struct ElementRun {
  const T* first;
  int64_t count;
  int64_t stride;
  int64_t number;
  int64_t number_step;
};

// The groups of a run of elements: each has one column.
struct ColumnRun {
  int64_t count;
  int64_t stride;                                                // in elements, if fixed
  const LoopNest<ReducePlan::kColumnOperands>* loops = nullptr;  // used if it is not
};

// Outputs of a batch in a row: the column of the first one, and the step to the next.
struct OutputRow {
  int64_t column, count, step;

  int64_t At(int64_t i) const { return column + i * step; }
};

// Accumulators of a batch of outputs, for any function and type. The loop is compiled once, so
// whatever is called for each element or group is behind these virtual calls.
class Accumulators {
 public:
  using Run = ElementRun<std::byte>;

  virtual ~Accumulators() = default;

  // Begins `count` groups.
  virtual void Start(int64_t count) = 0;
  // Called next: the place of the results of all groups, if they are adjacent, or else null. They
  // may be written before Finish.
  virtual void SetPlace(std::byte* results) = 0;
  // Called next, once for each group, if there are shifts.
  virtual void SetShift(int64_t column, double shift) = 0;
  // Adds elements of one group.
  virtual void AddRow(int64_t column, const Run& run) = 0;
  // Adds elements of all groups: `columns` leads from group to group.
  virtual void AddColumns(const ColumnRun& columns, const Run& run) = 0;
  // Completes what AddColumns began.
  virtual void EndColumns() = 0;
  // Adds what `from`, which may be these accumulators, has seen of the groups: its columns are
  // `distance` further on, and its elements are numbered from `number`.
  virtual void Merge(const OutputRow& row, Accumulators& from, int64_t distance,
                     int64_t number) = 0;
  // Finalizes groups of n elements, before Finish.
  virtual void FinalizeGroups(const OutputRow& row, int64_t n) = 0;
  // Stores results `step` apart, and appends the numbers of unresolved outputs, from `first` on.
  virtual void Finish(const OutputRow& row, int64_t n, std::byte* results, int64_t step,
                      int64_t first, std::vector<int64_t>& unresolved) = 0;
};

// Number of elements that accumulators of whole groups take together; 0 for others.
template <typename A>
inline constexpr int64_t kElementsOf = 0;
template <typename A>
requires(A::kElements > 0) inline constexpr int64_t kElementsOf<A> = A::kElements;

// The form in which accumulators take their elements.
template <typename A>
constexpr ReduceTraits TraitsOf(bool any_order = true) {
  ReduceTraits traits{any_order, A::kByVectors, A::kColumns, kElementsOf<A>};
  if constexpr (requires { A::kShortRow; }) traits.short_row = A::kShortRow;
  if constexpr (requires { A::kBlock; }) traits.block = A::kBlock;
  return traits;
}

// Accumulators of one function and type:
//
//  A(capacity, parameters...)        for up to `capacity` groups
//  Start, AddRow, AddColumns         as above, with elements of type Input
//  Finish(o, n, result)              the result of group o of n elements; false: unresolved
//  Merge(o, other, p, number)        adds what column p of `other` has seen to group o; not called
//                                    if whole groups are taken at once (kElements)
//
// and optionally SetPlace, SetShift, EndColumns, and
//
//  FinalizeGroups(o, count, n)       if adjacent groups are better finalized together
//  FinishGroups(o, count, results)   the results of some groups, if that is quicker than one by
//                                    one; false: not all are resolved
//
// or, instead of Finish, if there are several types of results,
//
//  FinishRow(row, n, results, step)  writes all results of a row; all are resolved
template <typename A>
class AccumulatorsOf final : public Accumulators {
 public:
  using Input = typename A::Input;
  using Output = typename A::Output;

  template <typename... Parameters>
  explicit AccumulatorsOf(int64_t capacity, Parameters... parameters)
      : accumulators_(capacity, parameters...) {}

  void Start(int64_t count) override { accumulators_.Start(count); }

  void SetPlace([[maybe_unused]] std::byte* results) override {
    if constexpr (requires(Output * to) { accumulators_.SetPlace(to); }) {
      accumulators_.SetPlace(reinterpret_cast<Output*>(results));
    }
  }

  void SetShift([[maybe_unused]] int64_t column, [[maybe_unused]] double shift) override {
    if constexpr (requires { accumulators_.SetShift(0, 0.0); }) {
      accumulators_.SetShift(column, shift);
    }
  }

  void AddRow(int64_t column, const Run& run) override { accumulators_.AddRow(column, Typed(run)); }

  void AddColumns(const ColumnRun& columns, const Run& run) override {
    accumulators_.AddColumns(columns, Typed(run));
  }

  void EndColumns() override {
    if constexpr (requires { accumulators_.EndColumns(); }) accumulators_.EndColumns();
  }

  void Merge([[maybe_unused]] const OutputRow& row, [[maybe_unused]] Accumulators& from,
             [[maybe_unused]] int64_t distance, [[maybe_unused]] int64_t number) override {
    if constexpr (kElementsOf<A> == 0) {
      A& other = static_cast<AccumulatorsOf&>(from).accumulators_;
      for (int64_t i = 0; i < row.count; ++i) {
        accumulators_.Merge(row.At(i), other, row.At(i) + distance, number);
      }
    }
  }

  void FinalizeGroups([[maybe_unused]] const OutputRow& row, [[maybe_unused]] int64_t n) override {
    if constexpr (requires { accumulators_.FinalizeGroups(0, 0, 0); }) {
      if (row.step == 1) accumulators_.FinalizeGroups(row.column, row.count, n);
    }
  }

  void Finish(const OutputRow& row, int64_t n, std::byte* results, int64_t step, int64_t first,
              std::vector<int64_t>& unresolved) override {
    if constexpr (requires { accumulators_.FinishRow(row, n, results, step); }) {
      accumulators_.FinishRow(row, n, results, step);
    } else {
      Output* to = reinterpret_cast<Output*>(results);
      if constexpr (requires { accumulators_.FinishGroups(0, 0, to); }) {
        const bool are_neighbours = row.step == 1 && step == 1;
        if (are_neighbours && accumulators_.FinishGroups(row.column, row.count, to)) return;
      }
      for (int64_t i = 0; i < row.count; ++i) {
        if (!accumulators_.Finish(row.At(i), n, to[i * step])) unresolved.push_back(first + i);
      }
    }
  }

 private:
  static ElementRun<Input> Typed(const Run& run) {
    return {reinterpret_cast<const Input*>(run.first), run.count, run.stride, run.number,
            run.number_step};
  }

  A accumulators_;
};

// Makes accumulators for up to `capacity` groups.
using AccumulatorMaker = std::function<std::unique_ptr<Accumulators>(int64_t capacity)>;

template <typename A, typename... Parameters>
AccumulatorMaker MakerOf(Parameters... parameters) {
  return [=](int64_t capacity) -> std::unique_ptr<Accumulators> {
    return std::make_unique<AccumulatorsOf<A>>(capacity, parameters...);
  };
}

// The input and the output of a reduction.
struct ReduceOperands {
  ConstTensorView input;
  TensorView output;
  const double* shift = nullptr;  // of each output, if there are shifts
};

// Computes every output or only the `chosen` ones, in increasing order. Returns the numbers of the
// unresolved outputs in increasing order.
std::vector<int64_t> RunReduction(const ReducePlan& plan, const ReduceOperands& operands,
                                  const AccumulatorMaker& make,
                                  const std::vector<int64_t>* chosen = nullptr);

}  // namespace dmlop

// The batches of a reduction's outputs, and what the loop needs to know about the outputs of one.

namespace dmlop::reduce {

// The outputs of a batch.
struct Place {
  int64_t count;                 // number of outputs
  int64_t first;                 // number of the first output
  int64_t input, output, shift;  // offsets of the first output
};

// A range of outputs of a batch.
struct Outputs {
  int64_t begin, end;
};

// An output of a batch: its number, its first column, and its offsets from the batch's.
struct OutputAt {
  int64_t number, column, input, output, shift;

  OutputAt(int64_t number_in_batch, const std::array<int64_t, ReducePlan::kOuterOperands>& at)
      : number(number_in_batch),
        column(at[ReducePlan::kColumn]),
        input(at[ReducePlan::kInput]),
        output(at[ReducePlan::kOutput]),
        shift(at[ReducePlan::kShift]) {}

  OutputAt After(int64_t steps, const OutputAt& step) const {
    OutputAt later = *this;
    later.number += steps * step.number;
    later.column += steps * step.column;
    later.input += steps * step.input;
    later.output += steps * step.output;
    later.shift += steps * step.shift;
    return later;
  }
};

// A column of a group relative to its first one, and the number at which its elements begin.
struct Fold {
  int64_t column, number;
};

// The numbers of the batches that run.
class Batches {
 public:
  Batches(const ReducePlan& plan, const std::vector<int64_t>* outputs)
      : is_all_(outputs == nullptr), count_(plan.batch_count()) {
    if (is_all_) return;
    const int64_t per_cut = plan.outputs_per_cut();
    int64_t end = 0;  // end of the last batch's outputs
    for (const int64_t output : *outputs) {
      if (output < end) continue;
      const int64_t cut = output / per_cut;
      const int64_t batch_of_cut = output % per_cut / plan.batch;
      chosen_.push_back(cut * plan.batches_per_cut() + batch_of_cut);
      end = cut * per_cut + std::min((batch_of_cut + 1) * plan.batch, per_cut);
    }
    count_ = std::ssize(chosen_);
  }

  int64_t count() const { return count_; }
  int64_t operator[](int64_t i) const { return is_all_ ? i : chosen_[static_cast<size_t>(i)]; }

 private:
  bool is_all_;
  int64_t count_;
  std::vector<int64_t> chosen_;
};

}  // namespace dmlop::reduce
