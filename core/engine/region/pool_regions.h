// The greatest elements in the bins of regions.
#pragma once

#include "core/base/integers.h"
#include "core/engine/index/stray_indices.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The height and width of what regions become.
struct PooledSizes {
  int64_t height, width;
};

// Regions are rows {batch, x1, y1, x2, y2} of a tensor {1, 1, R, 5}, whose corners are scaled and
// rounded to elements of the input; both belong to a region. Computes the part of the output
// {R, C, height, width} that begins at an index; a bin without elements gives 0. All tensors have
// one type, FLOAT32 or FLOAT16.
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

// Batches that are not in [0, count - 1] when they are truncated.
StrayIndices FindStrayBatches(const ConstTensorView& regions, int64_t count);

// The batches of such regions, as a view of {1, 1, R, 1}.
ConstTensorView BatchesOf(const ConstTensorView& regions);

}  // namespace dmlop
