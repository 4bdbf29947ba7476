// SPDX-License-Identifier: Apache-2.0
// Products in binary64 with their rounding errors and a separate exponent, for kernel sources.
#if defined(DMLOP_KERNELS_PRODUCT_PARTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_PRODUCT_PARTS_INL_H_
#undef DMLOP_KERNELS_PRODUCT_PARTS_INL_H_
#else
#define DMLOP_KERNELS_PRODUCT_PARTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

using WideBits = hn::RebindToUnsigned<Wide>;
using WideBitsVec = hn::Vec<WideBits>;

// Rounds x to its upper 26 bits.
HWY_INLINE WideVec UpperBits(WideVec x) {
  const WideBits bits;
  const WideBitsVec half = hn::Add(hn::BitCast(bits, x), hn::Set(bits, uint64_t{1} << 26));
  return hn::BitCast(Wide(), hn::AndNot(hn::Set(bits, (uint64_t{1} << 27) - 1), half));
}

// Returns exactly a * b - product, where `product` is a * b rounded.
HWY_INLINE WideVec ProductError(WideVec a, WideVec b, WideVec product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  // Dekker's product: both factors are split into halves of 26 bits, whose products are exact.
  const WideVec a_high = UpperBits(a);
  const WideVec a_low = hn::Sub(a, a_high);
  const WideVec b_high = UpperBits(b);
  const WideVec b_low = hn::Sub(b, b_high);
  WideVec error = hn::Sub(hn::Mul(a_high, b_high), product);
  error = hn::Add(error, hn::Mul(a_high, b_low));
  error = hn::Add(error, hn::Mul(a_low, b_high));
  return hn::Add(error, hn::Mul(a_low, b_low));
#endif
}

// Moves a power of two from a head to its exponent, to leave a magnitude in [1, 16): 2^(f - 1023),
// where f is the head's exponent field without the last two bits. Returns the factor for the head,
// the inverse of that power; both are normal numbers whatever the head is.
HWY_INLINE WideVec TakeOutPower(WideVec head, WideBitsVec& exponent) {
  const WideBits bits;
  const WideBitsVec field = hn::And(hn::BitCast(bits, head), hn::Set(bits, uint64_t{0x7FC} << 52));
  exponent = hn::Add(exponent, hn::Sub(hn::ShiftRight<52>(field), hn::Set(bits, 1023)));
  return hn::BitCast(Wide(), hn::Sub(hn::Set(bits, uint64_t{2046} << 52), field));
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
