// SPDX-License-Identifier: Apache-2.0
// A step of the Adam optimizer.
#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace dmlop {

struct AdamRates {
  double learning_rate, beta1, beta2, epsilon;
};

// FLOAT32 or FLOAT16 views of equal sizes. An output may be an input.
struct AdamTensors {
  ConstTensorView parameters, first_moment, second_moment, gradient;
  TensorView new_parameters, new_first_moment, new_second_moment;
};

// M' = beta1 * M + (1 - beta1) * G and V' = beta2 * V + (1 - beta2) * G^2, each rounded once. X' =
// X - learning_rate * alpha * M' / (sqrt(V') + epsilon) uses the exact moments; alpha is sqrt(1 -
// beta2^step) / (1 - beta1^step).
void StepAdam(const AdamRates& rates, uint32_t step, const AdamTensors& tensors);

}  // namespace dmlop
