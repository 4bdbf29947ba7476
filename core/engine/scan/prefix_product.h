// SPDX-License-Identifier: Apache-2.0
// Running products.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "core/engine/reduce/product_accumulators.h"
#include "core/kernels/scan/prefix_product.h"
#include "core/tensor/half.h"

namespace dmlop {

// Integers wrap modulo 2^width.
template <typename T>
class PrefixProduct {
  static_assert(std::unsigned_integral<T>);

 public:
  void Add(T x) { product_ *= x; }
  T Value() const { return product_; }

 private:
  T product_ = 1;
};

// Products of adjacent sequences, a tile of elements at a time. Each lane has at most one sequence.
template <typename T>
class PrefixFloatProducts {
 public:
  PrefixFloatProducts(int64_t sequences, int64_t rows)
      : lanes_((sequences + kLanes - 1) / kLanes * kLanes),
        tile_(static_cast<size_t>(rows * lanes_)),
        states_(lanes_) {
    states_.Start(lanes_);
  }

  int64_t lanes() const { return lanes_; }
  T* tile() { return tile_.data(); }

  // Replaces the elements in the tile's first rows by products.
  void Multiply(int64_t rows, bool is_exclusive) {
    multiply_(tile(), rows, lanes_, is_exclusive, states_.At(0));
  }

 private:
  static constexpr int64_t kLanes = ApproximateProducts::kLanes;

  PrefixProductKernel<T>* multiply_ = PrefixProductKernelFor<T>();
  int64_t lanes_;
  std::vector<T> tile_;
  ProductStates states_;
};
template <>
class PrefixProduct<float> : public PrefixFloatProducts<float> {
  using PrefixFloatProducts::PrefixFloatProducts;
};
template <>
class PrefixProduct<Half> : public PrefixFloatProducts<Half> {
  using PrefixFloatProducts::PrefixFloatProducts;
};

}  // namespace dmlop
