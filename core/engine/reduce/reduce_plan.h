// SPDX-License-Identifier: Apache-2.0
// The geometry of a reduction, fixed before its loop runs: which loops remain, which are reduced,
// which is innermost, and how the work is divided.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tensor/loop_nest.h"

namespace dmlop {

struct ReducePlan {
  // Loops over the output elements; never empty. Loop `cut` is divided into batches, and all loops
  // inside it belong to one batch. The last operand is an output's column in its batch.
  enum OuterOperand : size_t { kInput, kOutput, kShift, kColumn, kOuterOperands };
  LoopNest<kOuterOperands> outer;
  size_t cut;
  int64_t batch;  // outputs computed together

  // Loops over the elements of a group except folded ones; never empty. They run in row-major
  // order, or in memory order if the function allows any order. The second operand is the element's
  // number in its group.
  enum InnerOperand : size_t { kElement, kNumber, kInnerOperands };
  LoopNest<kInnerOperands> inner;

  bool by_columns;  // neighbours in a row of elements belong to different groups

  // The merged loops over a row of columns of a full batch; others have a shorter outermost one.
  enum ColumnOperand : size_t { kPlace, kInMemory, kColumnOperands };
  LoopNest<kColumnOperands> columns;

  // Short rows of columns are lengthened by inner loops, the folded ones. Every group then has
  // several columns, each with its own accumulators, which are merged at the end. The operands are
  // a column relative to the first one of its group, and the number of its first element.
  enum FoldOperand : size_t { kColumnAfter, kNumberAfter, kFoldOperands };
  LoopNest<kFoldOperands> folded;
  // Iterations of the outermost folded loop in the innermost inner loop's last one, if fewer.
  std::optional<int64_t> last_fold;

  int64_t group_size;  // N
  int64_t output_count;
  int64_t block;  // iterations of the inner loops in a piece of work; fixed, so that no result
                  // depends on the number of threads

  int64_t iterations() const { return Product(inner.sizes); }
  int64_t block_count() const { return (iterations() + block - 1) / block; }
  int64_t column_count() const { return batch * Product(folded.sizes); }
  // Number of consecutive outputs that loop `cut` covers.
  int64_t outputs_per_cut() const {
    int64_t count = 1;
    for (size_t d = cut; d < outer.rank(); ++d) count *= outer.sizes[d];
    return count;
  }
  int64_t batches_per_cut() const { return (outputs_per_cut() + batch - 1) / batch; }
  int64_t batch_count() const { return output_count / outputs_per_cut() * batches_per_cut(); }
};

// The form in which a function takes its elements.
struct ReduceTraits {
  bool any_order;            // elements of a group may come in any order
  bool by_vectors;           // neighbours in memory are cheaper than strided elements
  int64_t batch_of_columns;  // outputs whose accumulators are used together
  // Set by functions that need all elements of a group at once: the number of elements packed
  // together, unless neighbours in memory are.
  int64_t batch_of_elements = 0;
  int64_t short_row = 64;   // elements from which a row is as cheap alone as in columns
  int64_t block = 1 << 16;  // most elements of a group in one piece of work
};

// The stride between the elements of a group, if it is fixed; 0 for a single element.
std::optional<int64_t> RunStride(const Layout& input, const std::vector<uint32_t>& axes);

// `shift` is the layout of a packed tensor with the output's sizes.
ReducePlan PlanReduce(const Layout& input, const Layout& output, const Layout& shift,
                      const std::vector<uint32_t>& axes, const ReduceTraits& traits);

}  // namespace dmlop
