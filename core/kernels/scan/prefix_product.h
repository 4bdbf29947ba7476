// SPDX-License-Identifier: Apache-2.0
// Running products of floats along adjacent sequences.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/approximate_product.h"

namespace dmlop {

// Multiplies `products` by `rows` rows of `columns` elements, a multiple of kLanes, one after
// another. Replaces each element by the product of those up to it, or of those before it, rounded
// once from about 106 bits. All instruction sets give the same bits.
template <typename T>
using PrefixProductKernel = void(T* x, int64_t rows, int64_t columns, bool is_exclusive,
                                 const ApproximateProducts& products);

// T is float or Half.
template <typename T>
PrefixProductKernel<T>* PrefixProductKernelFor();

}  // namespace dmlop
