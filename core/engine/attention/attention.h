// Attention: means of values, weighted by what queries make of their keys.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/integers.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// With B batches, s queries, T keys, N heads of queries, and M heads of keys and values, M a
// divisor of N: head n of the queries goes with head n / (N / M). Floats have the output's type,
// FLOAT32 or FLOAT16.
struct Attention {
  ConstTensorView query;          // {B, N, s, H}
  ConstTensorView key, value;     // {B, M, T, H} and {B, M, T, V}
  ConstTensorView position_bias;  // {B, N, s, T}, or without data
  ConstTensorView mask;           // INT32 {B, N, s, T}, or without data; masked where it is 0
  std::vector<Range> kept;    // keys of each batch: others are masked. Or none, where all are kept
  std::vector<int64_t> past;  // of each batch: query i has no keys behind past + i. Or none
  double scale;
  double mask_value;  // is added to scores that are masked
};

// Output {B, N, s, V}.
void Attend(const Attention& attention, const TensorView& output);

}  // namespace dmlop
