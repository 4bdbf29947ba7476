// SPDX-License-Identifier: Apache-2.0
// The states of recurrent cells, from the values of their gates.
#pragma once

#include <cstdint>

namespace dmlop {

// Products are exact, and so are their sums; each is rounded once to T.
template <typename T>
struct StateKernels {
  // Replaces each memory by forget * memory + input * added, and also each of `forget` by that.
  void (*mix)(int64_t count, float* forget, const float* input, const float* added, T* memory);
  // Sets products to a * b.
  void (*multiply)(int64_t count, const float* a, const float* b, T* products);
};

// T is float or Half.
template <typename T>
StateKernels<T> StateKernelsFor();

}  // namespace dmlop
