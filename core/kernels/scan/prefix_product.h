// Running products of floats, of sequences side by side.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/approximate_product.h"

namespace dmlop {

// Multiplies `products` by `rows` rows of `columns` elements, a multiple of kLanes, one after
// another. In place of each element is then the product of those up to it, or of those before it,
// rounded once from about 106 bits. The same bits on every instruction set.
template <typename T>
using PrefixProductKernel = void(T* x, int64_t rows, int64_t columns, bool is_exclusive,
                                 const ApproximateProducts& products);

// T is float or Half.
template <typename T>
PrefixProductKernel<T>* PrefixProductKernelFor();

}  // namespace dmlop
