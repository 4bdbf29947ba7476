// SPDX-License-Identifier: Apache-2.0
// Vectors of the keys by which MIN and MAX compare, for kernel sources.
#if defined(DMLOP_KERNELS_ORDERED_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ORDERED_KEYS_INL_H_
#undef DMLOP_KERNELS_ORDERED_KEYS_INL_H_
#else
#define DMLOP_KERNELS_ORDERED_KEYS_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>

#include "core/kernels/reduce/min_max.h"
#include "core/kernels/reduce/sum_finalizers.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, KeysFor kFor, class Tag = hn::ScalableTag<KeyOf<T>>>
class Keys {
 public:
  using Element = T;
  using Order = KeyOrder<T, kFor>;
  using Key = typename Order::Key;
  using D = Tag;
  using V = hn::Vec<D>;
  // The next narrower vectors, for what does not fill these: 16 bytes, and then single lanes.
  static constexpr size_t kNarrowerLanes = hn::MaxLanes(D()) * sizeof(Key) > 16 ? 16 / sizeof(Key)
                                                                                : 1;
  using Narrower = Keys<T, kFor, hn::CappedTag<Key, kNarrowerLanes>>;

  HWY_INLINE explicit Keys(Key flipped)
      : flipped_(flipped), flipped_lanes_(hn::Set(D(), flipped)) {}

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
  static HWY_INLINE V Least() { return hn::Set(D(), Order::kLeast); }

  // Loads a vector of elements as keys, like KeyOrder::ToKey, except that a NaN has the least key
  // or a lesser one.
  HWY_INLINE V Load(const T* x) const {
    return OfElements(hn::LoadU(D(), reinterpret_cast<const Key*>(x)));
  }

  HWY_INLINE V OfElements(V elements) const {
    const D d;
    const V bits = hn::Xor(elements, flipped_lanes_);
    if constexpr (std::is_integral_v<T>) {
      return bits;
    } else {
      const V sign = hn::BroadcastSignBit(bits);
      V key = hn::Xor(bits, hn::And(sign, hn::Set(d, Order::kMagnitude)));
      if constexpr (kFor == KeysFor::kIndex) key = hn::Sub(key, sign);
      return hn::Add(key, hn::Set(d, Order::Shift()));
    }
  }

  // Returns the bits of the elements with these keys, of which none is less than the least, which
  // stands for NaN.
  HWY_INLINE V ToElements(V keys) const {
    static_assert(kFor == KeysFor::kValue);
    if constexpr (std::is_integral_v<T>) {
      return hn::Xor(keys, flipped_lanes_);
    } else {
      const D d;
      const V shifted = hn::Sub(keys, hn::Set(d, Order::Shift()));
      const V sign = hn::BroadcastSignBit(shifted);
      const V bits = hn::Xor(shifted, hn::And(sign, hn::Set(d, Order::kMagnitude)));
      const V nan = hn::Set(d, std::bit_cast<Key>(reduce::CanonicalNan<T>()));
      return hn::IfThenElse(hn::Eq(keys, Least()), nan, hn::Xor(bits, flipped_lanes_));
    }
  }

  HWY_INLINE Key OfElement(T x) const { return Order::ToKey(x, flipped_); }

#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE Key BestLane(V keys) {
    return hn::GetLane(keys);
  }
#else
  // Halves the vector down to 16 bytes, which every instruction set has.
  template <class Vector>
  static HWY_INLINE Key BestLane(Vector keys) {
    const hn::DFromV<Vector> d;
    constexpr size_t kLanes = hn::MaxLanes(d);
    if constexpr (kLanes * sizeof(Key) > 16) {
      const hn::Half<hn::DFromV<Vector>> half;
      return BestLane(hn::Max(hn::LowerHalf(half, keys), hn::UpperHalf(half, keys)));
    } else {
      HWY_ALIGN Key lanes[kLanes];
      hn::Store(keys, d, lanes);
      Key best = lanes[0];
      for (size_t i = 1; i < kLanes; ++i) best = HWY_MAX(lanes[i], best);
      return best;
    }
  }
#endif

 private:
  Key flipped_;
  V flipped_lanes_;
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
