// Vectors of elements some steps apart, and rows of windows by vectors, for kernel sources:
// included once for each instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_STEPPED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_STEPPED_INL_H_
#undef DMLOP_KERNELS_STEPPED_INL_H_
#else
#define DMLOP_KERNELS_STEPPED_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Any distance between elements.
constexpr int64_t kAnyStep = 0;

// Calls body.operator()<kStep>() for a step.
template <typename Body>
HWY_INLINE void WithStep(int64_t step, Body&& body) {
  if (step == 1) return body.template operator()<1>();
  if (step == 2) return body.template operator()<2>();
  body.template operator()<kAnyStep>();
}

// A vector of elements; nothing behind the last one is read.
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

// Calls body(d, first) for vectors of windows from number `first` on, of which the last may overlap
// the one before it; for one window at a time where there are fewer than D has lanes.
template <class D, typename Body>
HWY_INLINE void ForEachWindowVector(D d, int64_t count, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) body(hn::CappedTag<hn::TFromD<D>, 1>(), i);
    return;
  }
  for (int64_t i = 0; i < count; i += lanes) body(d, HWY_MIN(i, count - lanes));
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
