// A tile: a box of elements, and the loops that move it.
#pragma once

#include "core/kernels/copy.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

enum Operand : size_t { kTo, kFrom };

// The two loops of a kernel and those around them.
struct TileMove {
  CopyTile tile;
  LoopNest<2> around;
};

// What a tile needs that lines of the source and lines of the destination do not share: it is
// composed in a buffer, without gaps, so that each line of either is touched once.
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
