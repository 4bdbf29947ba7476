#include "core/exact/exact_product.h"

#include <algorithm>
#include <cmath>

#include "core/exact/rounding.h"
#include "core/tensor/half.h"

namespace dmlop {

void ScaledProduct::Merge(const ScaledProduct& other) {
  ScaledProduct factor = other;
  factor.Normalize();
  Normalize();
  const double product = head_ * factor.head_;
  const double error = std::fma(head_, factor.head_, -product);  // exact in software too
  tail_ = (head_ * factor.tail_ + tail_ * factor.head_) + error;
  head_ = product;
  exponent_ += factor.exponent_;
  Normalize();
}

template <typename T>
T ScaledProduct::Round() const {
  ScaledProduct product = *this;
  product.Normalize();
  // Past these ends every T is infinite or zero; between them the scaling is exact.
  const int64_t exponent = std::clamp<int64_t>(product.exponent_, -400, 400);
  const double scale = std::bit_cast<double>(static_cast<uint64_t>(1023 + exponent) << 52);
  return RoundOnce<T>(product.head_ * scale, product.tail_ * scale);
}

template Half ScaledProduct::Round<Half>() const;
template float ScaledProduct::Round<float>() const;

}  // namespace dmlop
