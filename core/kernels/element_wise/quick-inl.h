// SPDX-License-Identifier: Apache-2.0
// Rows of FLOAT32 that a short approximation in FLOAT64 decides, for kernel sources. Included once
// for each instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/element_wise/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// All quick approximations are within this part of the real result.
constexpr double kQuickError = 0x1p-37;

// Returns true unless both ends of every lane's error interval round to the same FLOAT32. The low
// 29 bits of a FLOAT64 are what FLOAT32 cuts off; its midpoints have 2^28 there, and the error is
// at most kQuickError * 2^53 in the last place. Results less than the least normal FLOAT32 lose
// more bits; they always count as doubtful.
HWY_INLINE bool AreDoubtful(WideVec y) {
  const Wide d;
  const hn::RebindToSigned<Wide> di;
  constexpr int64_t kError = static_cast<int64_t>(kQuickError * 0x1p53);
  // The interval around the midpoint begins at the least signed number of 29 bits.
  const auto moved = hn::Add(hn::BitCast(di, y), hn::Set(di, kError - (int64_t{1} << 29)));
  const auto places = hn::ShiftLeft<35>(moved);
  const auto is_near =
      hn::Lt(places, hn::Set(di, (2 * kError + 1 - (int64_t{1} << 28)) * (int64_t{1} << 35)));
  const auto is_tiny = hn::Lt(hn::Abs(y), hn::Set(d, 0x1p-126));
  return !hn::AllFalse(d, hn::Or(hn::RebindMask(d, is_near), is_tiny));
}

// Lists the lanes whose error intervals have ends that round to different numbers.
struct UndecidedList {
  int64_t count = 0;
  int32_t* indices;
  double* arguments;

  HWY_NOINLINE void Append(int64_t begin, hn::VecArg<WideVec> x, hn::VecArg<WideVec> y) {
    const Wide d;
    const NarrowBits bits;
    HWY_ALIGN uint32_t ends[2][hn::MaxLanes(Wide())];
    HWY_ALIGN double from[hn::MaxLanes(Wide())];
    hn::StoreU(RoundedTo(float(), hn::Mul(y, hn::Set(d, 1.0 - kQuickError))), bits, ends[0]);
    hn::StoreU(RoundedTo(float(), hn::Mul(y, hn::Set(d, 1.0 + kQuickError))), bits, ends[1]);
    hn::Store(x, d, from);
    for (size_t lane = 0; lane < hn::Lanes(d); ++lane) {
      if (ends[0][lane] == ends[1][lane]) continue;
      indices[count] = static_cast<int32_t>(begin + static_cast<int64_t>(lane));
      arguments[count++] = from[lane];
    }
  }
};

template <class F>
HWY_ATTR int64_t ComputeQuickly(int64_t count, std::byte* to, const std::byte* from,
                                int32_t* undecided, double* arguments) {
  const Wide d;
  UndecidedList list{0, undecided, arguments};
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const WideVec x = LoadWide(reinterpret_cast<const float*>(from) + i);
    const WideVec y = F::Quick(d, x);
    StoreResults(d, y, reinterpret_cast<float*>(to) + i);
    if (HWY_UNLIKELY(AreDoubtful(y))) list.Append(i, x, y);
  }
  return list.count;
}

// An approximated function of one value that also has a quick form, F::Quick(d, x), within
// kQuickError of the real result.
template <class F>
constexpr ElementWiseRow Quick(ElementWiseFunction function) {
  ElementWiseRow row = Approximated<F>(function);
  row.quick = ComputeQuickly<F>;
  return row;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
