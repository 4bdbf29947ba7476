// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of views.
#pragma once

#include <optional>
#include <span>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/scale_bias.h"
#include "core/tensor/tensor.h"

namespace dmlop {

struct ElementWiseCall {
  ElementWiseFunction function = ElementWiseFunction::kCast;
  ElementParameters parameters = {};
  std::optional<ScaleBias> scale_bias = {};  // applied to the first input; not for 64-bit integers
};

// Computes each element of the output from the inputs' elements at the same place. There are at
// most kMaxElementInputs inputs. All views have equal sizes and any strides. The output may be an
// input with the same element width and the same layout.
void ComputeElements(const ElementWiseCall& call, std::span<const ConstTensorView> inputs,
                     const TensorView& output);

}  // namespace dmlop
