// SPDX-License-Identifier: Apache-2.0
// Finds the greatest elements in the bins of regions.
#pragma once

#include "core/base/integers.h"
#include "core/engine/index/stray_indices.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The height and width that regions are pooled to.
struct PooledSizes {
  int64_t height, width;
};

// Regions are rows {batch, x1, y1, x2, y2} of a tensor {1, 1, R, 5}. Their corners, both of which
// belong to the region, are scaled and rounded to elements of the input. Computes the part of the
// output {R, C, height, width} that begins at an index; an empty bin gives 0. All tensors have the
// same type, FLOAT32 or FLOAT16.
void PoolRegions(float scale, const PooledSizes& pooled, const ConstTensorView& input,
                 const ConstTensorView& regions, const Dims& begin, const TensorView& output);

// The box of a region, scaled and rounded, and the elements that one of its outputs is the greatest
// of.
struct RegionBin {
  int64_t item;  // of the batch
  int64_t top, left, bottom, right;
  Range rows, columns;
};
RegionBin BinOf(float scale, const PooledSizes& pooled, const Dims& input_sizes,
                const ConstTensorView& regions, const Dims& output);

// Finds batches that, truncated, are not in [0, count - 1].
StrayIndices FindStrayBatches(const ConstTensorView& regions, int64_t count);

// The batches of such regions as a view {1, 1, R, 1}.
ConstTensorView BatchesOf(const ConstTensorView& regions);

}  // namespace dmlop
