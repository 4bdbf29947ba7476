// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/element_wise/scale_bias.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/scale_bias.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cfenv>
#include <limits>

#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_NATIVE_FMA

// Computes x * Scale + Bias for FLOAT16 values in FLOAT32, rounded to odd: if the result is not
// representable, it becomes the one of its two FLOAT32 neighbors whose mantissa is odd. That is
// never halfway between two FLOAT16, and it is on the same side of every midpoint as the exact
// result, so it can be rounded once more.
//
// A result that is the same rounded down and up is exact. If only the processor's rounding mode can
// be set, it is set to round down, and rounding up is negating the negated result rounded down.
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

enum class Write { kStore, kStream };

// Computes as many whole vectors as there are, and returns how many elements these are. If the
// instruction set has no vectors for T, the scalar function gives the same bits. When streaming,
// `to` must be the beginning of a line.
template <Write kWrite, typename T>
int64_t ScaleBiasVectors(const ScaleBias&, int64_t, T*, const T*) {
  return 0;
}

#if HWY_TARGET != HWY_SCALAR

// Vectors shorter than 16 bytes cannot be streamed; their types take longer to compute than to
// write.
template <Write kWrite, class D>
HWY_INLINE void WriteVector(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  if constexpr (kWrite == Write::kStream && hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) >= 16) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

// The hardware prefetcher stops at the end of each page.
template <Write kWrite, typename T>
HWY_INLINE void PrefetchAfter(const T* from) {
  constexpr size_t kAhead = 512;  // bytes
  if constexpr (kWrite == Write::kStream) hwy::Prefetch(from + kAhead / sizeof(T));
}

#endif  // HWY_TARGET != HWY_SCALAR

#if HWY_NATIVE_FMA

template <class D>
HWY_INLINE hn::Vec<D> CanonicalNan(D d, hn::Vec<D> v) {
  const auto canonical = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7FC00000u));
  return hn::IfThenElse(hn::IsNaN(v), canonical, v);
}

template <Write kWrite>
HWY_ATTR int64_t ScaleBiasVectors(const ScaleBias& scale_bias, int64_t count, float* to,
                                  const float* from) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, scale_bias.scale);
  const auto bias = hn::Set(d, scale_bias.bias);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    PrefetchAfter<kWrite>(from + i);
    const auto y = hn::MulAdd(hn::LoadU(d, from + i), scale, bias);
    WriteVector<kWrite>(CanonicalNan(d, y), d, to + i);
  }
  return i;
}

template <Write kWrite>
HWY_ATTR int64_t ScaleBiasVectors(const ScaleBias& scale_bias, int64_t count, Half* to,
                                  const Half* from) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const auto prefetch = [](const Half* x) HWY_ATTR { PrefetchAfter<kWrite>(x); };
  const auto write = [=](int64_t i, hn::Vec<decltype(d)> y) HWY_ATTR {
    const auto halves = hn::DemoteTo(dh, CanonicalNan(d, y));
    WriteVector<kWrite>(halves, dh, reinterpret_cast<hwy::float16_t*>(to + i));
  };
  return ForEachOddScaleBias(scale_bias, count, from, prefetch, write);
}

#endif  // HWY_NATIVE_FMA

#if HWY_TARGET != HWY_SCALAR

template <typename T, class D>
HWY_INLINE hn::Vec<D> LoadDoubles(D d, const T* from) {
  const hn::Rebind<int32_t, D> d32;
  const auto x = hn::LoadU(hn::Rebind<T, D>(), from);
  if constexpr (std::is_same_v<T, uint32_t>) {
    const auto less = hn::Xor(hn::BitCast(d32, x), hn::Set(d32, INT32_MIN));  // x - 2^31
    return hn::Add(hn::PromoteTo(d, less), hn::Set(d, 0x1p31));
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return hn::PromoteTo(d, x);
  } else {
    return hn::PromoteTo(d, hn::PromoteTo(d32, x));
  }
}

// Truncates; y is inside the type's range.
template <Write kWrite, typename T, class D>
HWY_INLINE void WriteIntegers(D d, hn::Vec<D> y, T* to) {
  const hn::Rebind<int32_t, D> d32;
  const hn::Rebind<T, D> dt;
  if constexpr (std::is_same_v<T, uint32_t>) {
    const auto less = hn::DemoteTo(d32, hn::Sub(hn::Trunc(y), hn::Set(d, 0x1p31)));
    WriteVector<kWrite>(hn::BitCast(dt, hn::Xor(less, hn::Set(d32, INT32_MIN))), dt, to);
  } else if constexpr (std::is_same_v<T, int32_t>) {
    WriteVector<kWrite>(hn::DemoteTo(d32, y), dt, to);
  } else {
    WriteVector<kWrite>(hn::DemoteTo(dt, hn::DemoteTo(d32, y)), dt, to);
  }
}

template <Write kWrite, typename T>
requires std::is_integral_v<T> HWY_ATTR int64_t ScaleBiasVectors(const ScaleBias& scale_bias,
                                                                 int64_t count, T* to,
                                                                 const T* from) {
  const hn::ScalableTag<double> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, static_cast<double>(scale_bias.scale));
  const auto bias = hn::Set(d, static_cast<double>(scale_bias.bias));
  const auto low = hn::Set(d, static_cast<double>(std::numeric_limits<T>::min()));
  const auto high = hn::Set(d, static_cast<double>(std::numeric_limits<T>::max()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto y = hn::Add(hn::Mul(LoadDoubles(d, from + i), scale), bias);
    const auto number = hn::IfThenElseZero(hn::Eq(y, y), y);
    WriteIntegers<kWrite>(d, hn::Min(hn::Max(number, low), high), to + i);
  }
  return i;
}

#endif  // HWY_TARGET != HWY_SCALAR

// Number of elements in a cache line.
template <typename T>
inline constexpr int64_t kLine = 64 / sizeof(T);

// Computes the rest: less than a line, which is padded in a buffer, or types without vectors.
template <typename T>
HWY_ATTR void ScaleBiasRest(const ScaleBias& scale_bias, int64_t count, T* to, const T* from) {
  if (count < kLine<T>) {
    alignas(64) T line[kLine<T>] = {};
    std::copy_n(from, count, line);
    if (ScaleBiasVectors<Write::kStore>(scale_bias, kLine<T>, line, line) == kLine<T>) {
      std::copy_n(line, count, to);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = ScaleBiasElement(scale_bias, from[i]);
}

template <typename T>
HWY_ATTR void ScaleBiasRow(const ScaleBias& scale_bias, int64_t count, std::byte* to,
                           const std::byte* from, bool streams) {
  T* to_row = reinterpret_cast<T*>(to);
  const T* from_row = reinterpret_cast<const T*>(from);
  int64_t done = 0;
  if (streams) {
    const int64_t past_line = reinterpret_cast<uintptr_t>(to) % 64 / sizeof(T);
    done = std::min(count, (kLine<T> - past_line) % kLine<T>);
    ScaleBiasRest(scale_bias, done, to_row, from_row);
    done += ScaleBiasVectors<Write::kStream>(scale_bias, (count - done) / kLine<T> * kLine<T>,
                                             to_row + done, from_row + done);
  } else {
    done = ScaleBiasVectors<Write::kStore>(scale_bias, count, to_row, from_row);
  }
  ScaleBiasRest(scale_bias, count - done, to_row + done, from_row + done);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/tensor/visit_data_type.h"

namespace dmlop {

ScaleBiasFunction ScaleBiasFor(DataType type) {
  ScaleBiasFunction function = nullptr;
  VisitDataType(Join<Floats, Integers32, Integers16, Integers8>(), type,
                [&]<typename T>() { function = DMLOP_CHOOSE(ScaleBiasRow<T>); });
  return function;
}

}  // namespace dmlop
#endif
