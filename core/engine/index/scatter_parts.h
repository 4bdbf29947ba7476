// Updates written into a copy of the data.
#pragma once

#include "core/engine/index/index_links.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Copies the input to the output, and writes the walked updates to where the indices choose in it,
// clamped to it (IDX-2). Of several for one place, the last in row-major order wins, whatever the
// threads.
void CopyAndScatter(const IndexLinks& links, const ConstTensorView& input,
                    const ConstTensorView& index, const ConstTensorView& updates,
                    const TensorView& output);

}  // namespace dmlop
