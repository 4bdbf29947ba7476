// SPDX-License-Identifier: Apache-2.0
// The largest and the smallest magnitudes of floats, for kernel sources.
#if defined(DMLOP_KERNELS_MAGNITUDES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_MAGNITUDES_INL_H_
#undef DMLOP_KERNELS_MAGNITUDES_INL_H_
#else
#define DMLOP_KERNELS_MAGNITUDES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The range of magnitudes of elements x, for adjacent groups or for parts of one group; D is a tag
// of float.
template <class D>
struct Magnitudes {
  using Bits = hn::RebindToUnsigned<D>;

  hn::Vec<Bits> most;   // the largest |x|
  hn::Vec<Bits> least;  // the smallest nonzero |x|, less one unit in the last place

  // Starts empty. Implicit constructors would not be compiled for the instruction set.
  HWY_INLINE Magnitudes() : most(hn::Zero(Bits())), least(hn::Set(Bits(), 0x7F7FFFFFu)) {}

  HWY_INLINE Magnitudes(hn::Vec<Bits> most_bits, hn::Vec<Bits> least_bits)
      : most(most_bits), least(least_bits) {}

  HWY_INLINE void Take(hn::Vec<D> x) {
    const auto magnitude = hn::BitCast(Bits(), hn::Abs(x));
    most = hn::Max(most, magnitude);
    least = hn::Min(least, hn::Sub(magnitude, hn::Set(Bits(), 1u)));
  }

  HWY_INLINE hn::Vec<D> Most() const { return hn::BitCast(D(), most); }

  // Returns the maximum over all lanes, or NaN if one is: its bits are larger than those of any
  // number.
  HWY_INLINE hn::Vec<D> MostOfLanes() const {
    return hn::BitCast(D(), hn::MaxOfLanes(Bits(), most));
  }

  // All x are multiples of 2^-23 times this power of two, which is 0 if the least is subnormal.
  HWY_INLINE hn::Vec<D> LeastPower() const {
    const auto magnitude = hn::Add(least, hn::Set(Bits(), 1u));
    return hn::BitCast(D(), hn::And(magnitude, hn::Set(Bits(), 0x7F800000u)));
  }

  // Return the bits of the largest and of the smallest nonzero |x| over all lanes.
  HWY_INLINE uint32_t MostBits() const { return hn::GetLane(hn::MaxOfLanes(Bits(), most)); }
  HWY_INLINE uint32_t LeastBits() const { return hn::GetLane(hn::MinOfLanes(Bits(), least)) + 1; }
};

// The magnitudes of the elements in a vector of sums; D is a tag of double.
template <class D>
using Range = Magnitudes<hn::Rebind<float, D>>;

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
