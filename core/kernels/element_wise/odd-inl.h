// SPDX-License-Identifier: Apache-2.0
// Rounds exact results to odd in FLOAT64, for kernel sources.
//
// If a result is not representable, it becomes the one of its two FLOAT64 neighbors whose last bit
// is set. That lies on the same side of every rounding boundary of FLOAT32, FLOAT16 and integers as
// the exact result, so it can be rounded once more.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_ODD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_ODD_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_ODD_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_ODD_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// An exact sum, head + tail; the head is the sum rounded to nearest.
template <class V>
struct Sum {
  V head, tail;
};

// There is no multiplication here that an instruction set could fuse with an addition.
template <class V>
HWY_INLINE Sum<V> ExactSumOf(V a, V b) {
  const V head = hn::Add(a, b);
  const V b_part = hn::Sub(head, a);
  const V a_part = hn::Sub(head, b_part);
  return {head, hn::Add(hn::Sub(a, a_part), hn::Sub(b, b_part))};
}

// The tail of an infinity is NaN, and is ignored.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ToOdd(D d, Sum<V> sum) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, sum.head);
  const V zero = hn::Zero(d);
  const auto is_inexact =
      hn::RebindMask(di, hn::Or(hn::Lt(sum.tail, zero), hn::Gt(sum.tail, zero)));
  const auto is_even = hn::Eq(hn::And(bits, hn::Set(di, 1)), hn::Zero(di));
  const auto signs_differ = hn::Xor(bits, hn::BitCast(di, sum.tail));
  // If the signs differ, the step is toward zero.
  const auto step = hn::Or(hn::BroadcastSignBit(signs_differ), hn::Set(di, 1));
  return hn::BitCast(d, hn::Add(bits, hn::IfThenElseZero(hn::And(is_inexact, is_even), step)));
}

// Returns a + b + c, rounded to odd.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V OddSumOf(D d, V a, V b, V c) {
  const Sum<V> ab = ExactSumOf(a, b);
  const Sum<V> abc = ExactSumOf(ab.head, c);
  const Sum<V> tails = ExactSumOf(ab.tail, abc.tail);
  const Sum<V> sum = ExactSumOf(abc.head, tails.head);
  // The rest of the tails is less than the last place of their sum.
  const auto is_exact = hn::Eq(sum.tail, hn::Zero(d));
  const V odd = ToOdd(d, Sum<V>{sum.head, hn::IfThenElse(is_exact, tails.tail, sum.tail)});
  return hn::IfThenElse(hn::Eq(odd, hn::Zero(d)), abc.head, odd);  // a zero of the right sign
}

// Splits off the low `kBits` of the 53 bits of x; both parts are exact.
template <int kBits, class D, class V = hn::Vec<D>>
HWY_INLINE Sum<V> Halves(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const auto mask = hn::Set(du, ~uint64_t{0} << kBits);
  const V high = hn::BitCast(d, hn::And(hn::BitCast(du, x), mask));
  return {high, hn::Sub(x, high)};
}

// Returns `exact` unless `plain` is zero, infinite or NaN, which it is whenever the result is.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V UnlessSpecial(D d, V exact, V plain) {
  const auto is_special = hn::Or(hn::Eq(plain, hn::Zero(d)), hn::Not(hn::IsFinite(plain)));
  return hn::IfThenElse(is_special, plain, exact);
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
