// SPDX-License-Identifier: Apache-2.0
// The batches of a reduction's outputs, and what the loop needs to know about the outputs of one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/engine/reduce/reduce_plan.h"

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
