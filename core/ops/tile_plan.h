// How element-wise work between two layouts is cut into tiles.
#pragma once

#include "core/kernels/copy.h"
#include "core/kernels/stream.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Blocks, each of which one thread works on, are cut into tiles, for each of which work is called
// once.
struct TilePlan {
  enum Operand : size_t { kTo, kFrom };

  LoopNest<2> blocks;  // over the first elements of blocks
  int64_t inside;      // how many turns the loops inside those that cut `whole` have
  CopyTile whole;      // the innermost two loops, not yet cut
  CopyTile block;      // the largest block
  CopyTile tile;       // the largest tile of a block
  bool streams;        // past the caches, tile by tile; then a tile fits into a StreamBuffer

  // The block with that number.
  CopyTile Block(int64_t number) const;
};

TilePlan PlanTiles(const ConstTensorView& from, const TensorView& to);

}  // namespace dmlop
