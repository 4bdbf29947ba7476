// SPDX-License-Identifier: Apache-2.0
// Attention: means of values, weighted by the softmax of the scores of queries and keys.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/integers.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// There are B batches, s queries, T keys, N heads of queries, and M heads of keys and values, where
// M divides N: head n of the queries uses head n / (N / M). Floats have the output's type, FLOAT32
// or FLOAT16.
struct Attention {
  ConstTensorView query;          // {B, N, s, H}
  ConstTensorView key, value;     // {B, M, T, H} and {B, M, T, V}
  ConstTensorView position_bias;  // {B, N, s, T}; no data if there is none
  ConstTensorView mask;           // INT32 {B, N, s, T}: 0 masks; no data if there is none
  std::vector<Range> kept;        // per batch, other keys are masked; empty if all are kept
  std::vector<int64_t> past;  // per batch, query i sees keys up to past + i; empty if it sees all
  double scale;
  double mask_value;  // added to masked scores
};

// The output is {B, N, s, V}.
void Attend(const Attention& attention, const TensorView& output);

}  // namespace dmlop
