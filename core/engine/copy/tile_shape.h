// A tile: a box of elements, and the loops that move it.
#pragma once

#include "core/kernels/copy/copy.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

enum Operand : size_t { kTo, kFrom };

// The two loops of a kernel and those around them.
struct TileMove {
  CopyTile tile;
  LoopNest<2> around;
};

// The kernel takes the last loop and the one along the source's lines, or else the largest; where
// these are too short to be worth a call, the two largest.
TileMove MoveOf(const LoopNest<2>& loops);

// Calls body(tile, to, from) with the offsets of each tile of the kernel, in elements.
template <typename Body>
void ForEachTile(const TileMove& move, Body&& body) {
  Walk<2> place(move.around, 0);
  for (int64_t i = Product(move.around.sizes); i > 0; --i, place.Next()) {
    body(move.tile, place.offset(kTo), place.offset(kFrom));
  }
}

// What a tile needs that lines of the source and lines of the destination do not share: it is
// packed into a buffer, without gaps, so that each line of either is touched once.
struct TileShape {
  int64_t elements;
  TileMove in;   // from the source, into the buffer or else to the destination
  TileMove out;  // from the buffer
};

// Elements of a box that lie side by side in the destination, from the first one on. Loops in the
// order in which the destination is walked.
int64_t RunOf(const LoopNest<2>& box);

TileShape DirectShape(const LoopNest<2>& box);
TileShape BufferedShape(const LoopNest<2>& box);

}  // namespace dmlop
