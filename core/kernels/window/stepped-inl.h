// SPDX-License-Identifier: Apache-2.0
// Loads vectors of elements some steps apart, and walks rows of windows by vectors, for kernel
// sources.
#if defined(DMLOP_KERNELS_STEPPED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_STEPPED_INL_H_
#undef DMLOP_KERNELS_STEPPED_INL_H_
#else
#define DMLOP_KERNELS_STEPPED_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/simd/widen-inl.h"
#include "core/kernels/window/pool_row.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Any step, known only at run time.
constexpr int64_t kAnyStep = 0;

// Calls body.operator()<kStep>(), with a constant for a small step.
template <typename Body>
HWY_INLINE void WithStep(int64_t step, Body&& body) {
  if (step == 1) return body.template operator()<1>();
  if (step == 2) return body.template operator()<2>();
  body.template operator()<kAnyStep>();
}

// Loads a vector of elements without reading past the last one.
template <int64_t kStep, class D>
HWY_INLINE hn::Vec<D> LoadStepped(D d, const hn::TFromD<D>* x, int64_t step) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kStep == 1) return hn::LoadU(d, x);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kStep == 2 && kLanes > 1) {
    const auto low = hn::LoadU(d, x);
    const auto high = hn::LoadU(d, x + kLanes - 1);
    return hn::ConcatUpperLower(d, hn::ConcatOdd(d, high, high), hn::ConcatEven(d, low, low));
  }
#endif
  HWY_ALIGN hn::TFromD<D> lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = x[static_cast<int64_t>(i) * step];
  return hn::Load(d, lanes);
}

// Loads a vector of elements as FLOAT32.
template <int64_t kStep, class D>
HWY_INLINE hn::Vec<D> LoadSteppedFloats(D d, const float* x, int64_t step) {
  return LoadStepped<kStep>(d, x, step);
}
template <int64_t kStep, class D>
HWY_INLINE hn::Vec<D> LoadSteppedFloats(D d, const Half* x, int64_t step) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kStep == 1) return LoadFloats(d, x);
  if constexpr (kStep == 2 && kLanes >= 4) {
    const hn::Rebind<uint16_t, D> bits;
    const auto loaded = LoadStepped<2>(bits, reinterpret_cast<const uint16_t*>(x), step);
    return FloatsOf(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), loaded));
  }
  HWY_ALIGN Half lanes[kLanes];
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = x[static_cast<int64_t>(i) * step];
  return LoadFloats(d, lanes);
}

// Calls visit(offset) for each tap of a window.
template <typename Visit>
HWY_INLINE void ForEachTap(const TapLoops& taps, Visit&& visit) {
  for (int64_t a = 0; a < taps.sizes[0]; ++a) {
    for (int64_t b = 0; b < taps.sizes[1]; ++b) {
      const int64_t first = a * taps.steps[0] + b * taps.steps[1];
      for (int64_t c = 0; c < taps.sizes[2]; ++c) visit(first + c * taps.steps[2]);
    }
  }
}

// Calls body(d, first) for vectors of windows that begin with number `first`; the last vector may
// overlap the one before it. If there are fewer windows than D has lanes, takes vectors that are
// kNarrowing times narrower, down to single lanes.
template <size_t kNarrowing = 64, class D, typename Body>
HWY_INLINE void ForEachWindowVector(D d, int64_t count, Body&& body) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (kLanes > 1) {
    const hn::CappedTag<hn::TFromD<D>, HWY_MAX(kLanes / kNarrowing, 1)> narrower;
    if (count < lanes) return ForEachWindowVector<kNarrowing>(narrower, count, body);
  }
  for (int64_t i = 0; i < count; i += lanes) body(d, HWY_MIN(i, count - lanes));
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
