// SPDX-License-Identifier: Apache-2.0
// Gathers rows of elements from where the values of indices lead, or scatters them to there.
#pragma once

#include "core/engine/index/place_rule.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Fills the walked output with elements of the data. All places lie within the data.
void GatherRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& data,
                const Layout& index, const TensorView& output);

// Writes the walked updates to their places in the data; updates without a place are dropped. If
// several have the same place, the last one in row-major order wins, whatever the number of
// threads.
void ScatterRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& updates,
                 const Layout& index, const TensorView& data);

// Copies the input to the output, and writes the walked updates to the places in it that the
// indices choose, clamped to it (IDX-2). If several go to one place, the last in row-major order
// wins, whatever the threads.
void CopyAndScatter(const IndexLinks& links, const ConstTensorView& input,
                    const ConstTensorView& index, const ConstTensorView& updates,
                    const TensorView& output);

}  // namespace dmlop
