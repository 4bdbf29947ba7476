// SPDX-License-Identifier: Apache-2.0
// The arithmetic of ScaleBias for FLOAT16, for instruction sets with fused multiplication and
// addition. Included by kernel sources after foreach_target.h, once for each instruction set.

#if defined(DMLOP_HALF_SCALE_BIAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_HALF_SCALE_BIAS_INL_H_
#undef DMLOP_HALF_SCALE_BIAS_INL_H_
#else
#define DMLOP_HALF_SCALE_BIAS_INL_H_
#endif

#include <hwy/highway.h>

#include <cfenv>
#include <cstdint>

#include "core/kernels/element_wise/scale_bias.h"
#include "core/tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_NATIVE_FMA

// Computes x * Scale + Bias for FLOAT16 values in FLOAT32, rounded to odd: if the result is not
// representable, it becomes the one of its two FLOAT32 neighbors whose mantissa is odd. That is
// never halfway between two FLOAT16, and it is on the same side of every midpoint as the exact
// result, so it can be rounded once more.
//
// Whether a result is exact shows by rounding it both down and up. If only the processor's rounding
// mode can be set, it is set to round down, and rounding up is negating the negated result rounded
// down.
class OddScaleBias {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  explicit HWY_ATTR OddScaleBias(const ScaleBias& scale_bias)
      : scale_(hn::Set(D(), scale_bias.scale)), bias_(hn::Set(D(), scale_bias.bias)) {}

  // Computes one vector of adjacent elements, while the processor rounds down.
  HWY_INLINE V operator()(const Half* from) const {
    const D d;
    const hn::Rebind<hwy::float16_t, D> dh;
    const V x = hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from)));
    const V below = Below(x);
    const auto is_odd = hn::ShiftLeft<31>(hn::BitCast(hn::RebindToSigned<D>(), below));
    return hn::IfNegativeThenElse(hn::BitCast(d, is_odd), below, Above(x));
  }

 private:
#if HWY_TARGET <= HWY_AVX3
  HWY_INLINE V Below(V x) const {
    return V{_mm512_fmadd_round_ps(x.raw, scale_.raw, bias_.raw,
                                   _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
  }
  HWY_INLINE V Above(V x) const {
    return V{_mm512_fmadd_round_ps(x.raw, scale_.raw, bias_.raw,
                                   _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)};
  }
#else
  HWY_INLINE V Below(V x) const {
    return hn::MulAdd(x, scale_, bias_);
  }
  HWY_INLINE V Above(V x) const {
    // Not NegMulSub, which on NEON negates after rounding.
    return hn::Xor(hn::MulAdd(x, hn::Neg(scale_), hn::Neg(bias_)), hn::SignBit(D()));
  }
#endif

  V scale_;
  V bias_;
};

// While an object exists, the processor rounds down, unless operations carry their rounding mode.
class RoundsDown {
 public:
  RoundsDown(const RoundsDown&) = delete;

#if HWY_TARGET <= HWY_AVX3
  RoundsDown() {}
#elif HWY_ARCH_X86
  // <cfenv> would also set the x87 unit, which takes as long as a hundred elements.
  RoundsDown() : before_(_mm_getcsr()) {
    _mm_setcsr((before_ & ~static_cast<unsigned>(_MM_ROUND_MASK)) | _MM_ROUND_DOWN);
  }
  ~RoundsDown() {
    _mm_setcsr(before_);
  }

 private:
  unsigned before_;
#else
  RoundsDown() : before_(std::fegetround()) {
    std::fesetround(FE_DOWNWARD);
  }
  ~RoundsDown() {
    std::fesetround(before_);
  }

 private:
  int before_;
#endif
};

// Calls prefetch(x + i) and then body(i, y) for each vector of `count` elements, where y are its
// results. It must not be inlined: compilers may move arithmetic across a change of the rounding
// mode.
template <typename Prefetch, typename Body>
HWY_NOINLINE HWY_ATTR void ForEachRoundedDown(const ScaleBias& scale_bias, int64_t count,
                                              const Half* x, Prefetch prefetch, Body body) {
  const OddScaleBias compute(scale_bias);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(OddScaleBias::D()))) {
    prefetch(x + i);
    body(i, compute(x + i));
  }
}

// Does the same for all whole vectors, and allows body to round to FLOAT16. Returns how many
// elements these are.
template <typename Prefetch, typename Body>
HWY_INLINE int64_t ForEachOddScaleBias(const ScaleBias& scale_bias, int64_t count, const Half* x,
                                       Prefetch prefetch, Body body) {
  const OddScaleBias::D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = count / lanes * lanes;
#if HWY_ARCH_X86
  // The operations that round to FLOAT16 carry their own rounding mode.
  const RoundsDown rounds_down;
  ForEachRoundedDown(scale_bias, whole, x, prefetch, body);
#else
  constexpr int64_t kBlock = 1024;
  HWY_ALIGN float results[kBlock];
  for (int64_t begin = 0; begin < whole; begin += kBlock) {
    const int64_t size = HWY_MIN(kBlock, whole - begin);
    {
      const RoundsDown rounds_down;
      ForEachRoundedDown(scale_bias, size, x + begin, prefetch,
                         [&](int64_t i, OddScaleBias::V y)
                             HWY_ATTR { hn::Store(y, d, results + i); });
    }
    for (int64_t i = 0; i < size; i += lanes) body(begin + i, hn::Load(d, results + i));
  }
#endif
  return whole;
}

#endif  // HWY_NATIVE_FMA

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
