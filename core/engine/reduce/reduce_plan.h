// The geometry of a reduction, decided before its loop: which loops stay, which go, which of them
// is innermost, and how the work is cut.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

struct ReducePlan {
  // Loops over the output elements; never empty. Loop `cut` is cut into batches, and what is inside
  // it belongs to one batch as a whole. The last operand is the column of a batch that an output
  // has.
  enum OuterOperand : size_t { kInput, kOutput, kShift, kColumn, kOuterOperands };
  LoopNest<kOuterOperands> outer;
  size_t cut;
  int64_t batch;  // outputs that are worked on together

  // Loops over the elements of a group, but for folded ones; never empty. They run in row-major
  // order, or in the order of memory where the function does not mind. The second operand is the
  // element's number in its group.
  enum InnerOperand : size_t { kElement, kNumber, kInnerOperands };
  LoopNest<kInnerOperands> inner;

  bool by_columns;  // neighbours in a row of elements belong to different groups

  // The loops through a row of columns of a whole batch, merged. Of a batch that is not whole only
  // the outermost loop is shorter.
  enum ColumnOperand : size_t { kPlace, kInMemory, kColumnOperands };
  LoopNest<kColumnOperands> columns;

  // Short rows of columns become long ones: they lead through inner loops too, the folded ones.
  // Every group so has several columns, with accumulators of their own, which are merged in the
  // end. Columns after the first one of a group, and the numbers of their elements after its
  // elements'.
  enum FoldOperand : size_t { kColumnAfter, kNumberAfter, kFoldOperands };
  LoopNest<kFoldOperands> folded;
  // Iterations of the outermost folded loop in the last iteration of the innermost inner one, if
  // these are fewer.
  std::optional<int64_t> last_fold;

  int64_t group_size;  // N
  int64_t output_count;
  int64_t block;  // iterations of the inner loops in one piece of work; fixed, so that no result
                  // depends on the number of threads

  int64_t iterations() const { return Product(inner.sizes); }
  int64_t block_count() const { return (iterations() + block - 1) / block; }
  int64_t column_count() const { return batch * Product(folded.sizes); }
  // Of outputs that follow each other, as far as loop `cut` leads.
  int64_t outputs_per_cut() const {
    int64_t count = 1;
    for (size_t d = cut; d < outer.rank(); ++d) count *= outer.sizes[d];
    return count;
  }
  int64_t batches_per_cut() const { return (outputs_per_cut() + batch - 1) / batch; }
  int64_t batch_count() const { return output_count / outputs_per_cut() * batches_per_cut(); }
};

// How a function wants its elements.
struct ReduceTraits {
  bool any_order;            // within a group
  bool by_vectors;           // neighbours in memory are cheaper than elements that lie apart
  int64_t batch_of_columns;  // outputs whose accumulators are worked on together
  // Where all elements of a group are wanted at once: elements that are packed together, unless
  // neighbours in memory are.
  int64_t batch_of_elements = 0;
  int64_t short_row = 64;   // elements, beyond which a row is as cheap alone as in columns
  int64_t block = 1 << 16;  // elements of a group that are worked on as one, at most
};

// How far apart the elements of a group lie, if at regular distances; 0 for a single one.
std::optional<int64_t> RunStride(const Layout& input, const std::vector<uint32_t>& axes);

// `shift` is a packed tensor of the output's sizes, which runs beside the output.
ReducePlan PlanReduce(const Layout& input, const Layout& output, const Layout& shift,
                      const std::vector<uint32_t>& axes, const ReduceTraits& traits);

}  // namespace dmlop
