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

// --- sequences -----------------------------------------------------------------------------------

// Values that depend only on their place.

// Element number k is start + k * delta, rounded once, or modulo 2^width for integers; `start` and
// `delta` are numbers 0 and 1 of the parameters. The output's first element has the number `first`,
// and `steps` are the differences between the numbers of neighbours along each dimension. Numbers
// are less than 2^50.
void FillSequence(const ElementParameters& parameters, int64_t first, const Dims& steps,
                  const TensorView& output);

}  // namespace dmlop
