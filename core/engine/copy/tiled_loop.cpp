// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/copy_views.h"

#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/engine/copy/tiled_move.h"
#include "core/kernels/copy/stream.h"

namespace dmlop {
namespace {

void RunTiles(const ConstTensorView& from, const TensorView& to, const RowWork* row) {
  const int64_t bytes = to.element_bytes();
  const TiledMove move(from, to, bytes, row);
  if (move.tiles() == 1) return move.Run(0, 1, 0, 0);
  ParallelFor(move.tiles(), kParallelBytes / move.tile_bytes() + 1, bytes,
              [&](int64_t begin, int64_t end) {
                move.Run(begin, end, 0, 0);
                if (move.streams()) FlushStreams();
              });
}

}  // namespace

void CopyView(const ConstTensorView& from, const TensorView& to) {
  RunTiles(from, to, nullptr);
}

void ComputeView(const ConstTensorView& from, const TensorView& to, const RowWork& row) {
  RunTiles(from, to, &row);
}

}  // namespace dmlop
