// SPDX-License-Identifier: Apache-2.0
// A tile is a box of elements together with the loops that move it.
#pragma once

#include "core/kernels/copy/copy.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

enum Operand : size_t { kTo, kFrom };

// The two loops of a kernel, and the loops around them.
struct TileMove {
  CopyTile tile;
  LoopNest<2> around;
};

// The kernel takes the last loop and the one along the source's lines, or else the largest. If
// these are too short to repay a call, it takes the two largest loops.
TileMove MoveOf(const LoopNest<2>& loops);

// Calls body(tile, to, from) with the offsets, in elements, of each tile of the kernel.
template <typename Body>
void ForEachTile(const TileMove& move, Body&& body) {
  Walk<2> place(move.around, 0);
  for (int64_t i = Product(move.around.sizes); i > 0; --i, place.Next()) {
    body(move.tile, place.offset(kTo), place.offset(kFrom));
  }
}

// If the lines of the source and of the destination differ, the tile is packed into a buffer
// without gaps, so that each line of either is touched once.
struct TileShape {
  int64_t elements;
  TileMove in;   // from the source to the buffer, or to the destination
  TileMove out;  // from the buffer
};

// Number of elements of a box that lie side by side in the destination, from the first one on. The
// loops are in the destination's order.
int64_t RunOf(const LoopNest<2>& box);

TileShape DirectShape(const LoopNest<2>& box);
TileShape BufferedShape(const LoopNest<2>& box);

}  // namespace dmlop
