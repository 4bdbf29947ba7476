// Products of many binary32 factors that neither overflow nor underflow on the way.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#include "core/exact/error_free.h"

namespace dmlop {

// The running product (head + tail) * 2^exponent of nonzero finite FLOAT32 or FLOAT16 values.
//
// A multiplication adds at most 2^-98 to the relative error, so 2^32 factors stay below 2^-66. The
// bits depend on how the factors are grouped by Merge; callers keep to one grouping.
class ScaledProduct {
 public:
  // `factor` is a nonzero finite binary32 value, subnormals included.
  void Multiply(double factor);

  void Merge(const ScaledProduct& other);

  // Rounds once, within 0.5001 ULP; overflow gives infinity, underflow a subnormal or a signed
  // zero. T is float or Half.
  template <typename T>
  T Round() const;

 private:
  static constexpr int kFactorsPerBlock = 64;
  static constexpr uint64_t kExponentField = uint64_t{0x7FF} << 52;

  // Brings |head| back to [1, 2) and |tail| below half a unit in the last place of head.
  void Normalize();

  // Between two calls of Normalize the head grows to at most 2^65 and the tail is left to collect.
  double head_ = 1.0;
  double tail_ = 0.0;
  int64_t exponent_ = 0;
  int pending_ = 0;  // factors since the last Normalize
};

// Inline, so that a loop of Multiply can keep the product in registers.
inline void ScaledProduct::Normalize() {
  const auto [head, tail] = FastTwoSum(head_, tail_);
  const uint64_t head_bits = std::bit_cast<uint64_t>(head);
  const int64_t shift = static_cast<int64_t>((head_bits & kExponentField) >> 52) - 1023;
  const double scale = std::bit_cast<double>(static_cast<uint64_t>(1023 - shift) << 52);
  head_ = head * scale;
  tail_ = tail * scale;
  exponent_ += shift;
  pending_ = 0;
}

inline void ScaledProduct::Multiply(double factor) {
  const uint64_t factor_bits = std::bit_cast<uint64_t>(factor);
  assert((factor_bits & kExponentField) != 0 && (factor_bits & kExponentField) != kExponentField);
  exponent_ += static_cast<int64_t>((factor_bits & kExponentField) >> 52) - 1023;
  const double mantissa =
      std::bit_cast<double>((factor_bits & ~kExponentField) | (uint64_t{1023} << 52));

  // The mantissa has 24 bits. Cut into 26 and 27 bits, the head has exact products with it; that
  // gives the rounding error of the whole product without a fused multiply-add.
  const uint64_t low_27_bits = (uint64_t{1} << 27) - 1;
  const double head_high = std::bit_cast<double>(std::bit_cast<uint64_t>(head_) & ~low_27_bits);
  const double head_low = head_ - head_high;
  const double product = head_ * mantissa;
  const double error = (head_high * mantissa - product) + head_low * mantissa;
  tail_ = tail_ * mantissa + error;
  head_ = product;
  if (++pending_ == kFactorsPerBlock) Normalize();
}

}  // namespace dmlop
