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
  // Loops over the output elements; never empty. The last is cut into tiles.
  enum KeptOperand : size_t { kInput, kOutput, kShift, kKeptOperands };
  LoopNest<kKeptOperands> kept;

  // Loops over the elements of a group, but for those of a fold; never empty. They run in row-major
  // order, or in the order of memory where the function does not mind. The second operand is the
  // element's number in its group.
  enum ReducedOperand : size_t { kElement, kNumber, kReducedOperands };
  LoopNest<kReducedOperands> reduced;

  // Short rows of columns become long ones: `count` elements of every group of a tile lie side by
  // side and get states of their own, which are merged in the end. Element j of group o of the tile
  // is in column o * output_step + j * step.
  struct Fold {
    int64_t count = 1;
    int64_t output_step = 1;
    int64_t step = 0;
    int64_t number_step = 0;  // from element to element
    int64_t last_count = 1;   // in the last turn of the innermost reduced loop
  };
  Fold fold;

  int64_t group_size;  // N
  int64_t output_count;
  bool by_columns;  // neighbours in a row of elements belong to different groups
  int64_t tile;     // outputs that are worked on together
  int64_t block;    // turns of the reduced loops in one piece of work; fixed, so that no result
                    // depends on the number of threads

  int64_t turns() const { return Product(reduced.sizes); }
  int64_t block_count() const { return (turns() + block - 1) / block; }
  int64_t tiles_per_row() const { return (kept.sizes.back() + tile - 1) / tile; }
  int64_t tile_count() const { return output_count / kept.sizes.back() * tiles_per_row(); }
};

// How a function wants its elements.
struct ReduceTraits {
  bool any_order;           // within a group
  bool by_vectors;          // neighbours in memory are cheaper than elements that lie apart
  int64_t tile_of_columns;  // outputs whose states are worked on together
  // Where all elements of a group are wanted at once: elements that are gathered together, unless
  // neighbours in memory are.
  int64_t tile_of_elements = 0;
  int64_t short_row = 64;   // elements, beyond which a row is as cheap alone as in columns
  int64_t block = 1 << 16;  // elements of a group that are worked on as one, at most
};

// How far apart the elements of a group lie, if at regular distances; 0 for a single one.
std::optional<int64_t> RunStride(const Layout& input, const std::vector<uint32_t>& axes);

// `shift` is a packed tensor of the output's sizes, which runs beside the output.
ReducePlan PlanReduce(const Layout& input, const Layout& output, const Layout& shift,
                      const std::vector<uint32_t>& axes, const ReduceTraits& traits);

}  // namespace dmlop
