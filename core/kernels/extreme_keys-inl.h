// Vectors of the keys by which extremes are found, for kernel sources: included once for each
// instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_EXTREME_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_EXTREME_KEYS_INL_H_
#undef DMLOP_KERNELS_EXTREME_KEYS_INL_H_
#else
#define DMLOP_KERNELS_EXTREME_KEYS_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/extreme.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of 16 bytes, for what is too narrow for longer ones.
template <typename Key>
using ShortTag = hn::CappedTag<Key, 16 / sizeof(Key)>;

template <typename T, Extreme kExtreme, bool kForIndex,
          class Tag = hn::ScalableTag<typename KeyOfType<T>::Key>>
struct Keys {
  using Order = KeyOrder<T, kExtreme>;
  using Key = typename Order::Key;
  using D = Tag;
  using V = hn::Vec<D>;

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
  static HWY_INLINE V Worst() { return hn::Set(D(), Order::kWorst); }

  // KeyOrder::ToKey, or ToIndexKey, of a vector of elements.
  static HWY_INLINE V Load(const T* x) {
    const D d;
    const V bits = hn::LoadU(d, reinterpret_cast<const Key*>(x));
    if constexpr (std::is_integral_v<T>) {
      return bits;
    } else {
      const V magnitude_mask = hn::Set(d, std::numeric_limits<Key>::max());
      const V magnitude = hn::And(bits, magnitude_mask);
      V key = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), magnitude_mask));
      if constexpr (kForIndex) {
        key = hn::IfThenZeroElse(hn::Eq(key, hn::Set(d, Order::kNegativeZero)), key);
      }
      return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, KeyOfType<T>::kInfinity)), Worst(), key);
    }
  }

  template <class Vector>
  static HWY_INLINE Vector Better(Vector a, Vector b) {
    return kExtreme == Extreme::kMax ? hn::Max(a, b) : hn::Min(a, b);
  }
  static HWY_INLINE hn::Mask<D> Beats(V a, V b) {
    return kExtreme == Extreme::kMax ? hn::Gt(a, b) : hn::Lt(a, b);
  }

#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE Key BestLane(V keys) {
    return hn::GetLane(keys);
  }
#else
  // By halves down to a vector of 16 bytes, which every instruction set has.
  template <class Vector>
  static HWY_INLINE Key BestLane(Vector keys) {
    const hn::DFromV<Vector> d;
    constexpr size_t kLanes = hn::MaxLanes(d);
    if constexpr (kLanes * sizeof(Key) > 16) {
      const hn::Half<hn::DFromV<Vector> > half;
      return BestLane(Better(hn::LowerHalf(half, keys), hn::UpperHalf(half, keys)));
    } else {
      HWY_ALIGN Key lanes[kLanes];
      hn::Store(keys, d, lanes);
      Key best = lanes[0];
      for (size_t i = 1; i < kLanes; ++i) best = Better(lanes[i], best);
      return best;
    }
  }
#endif

  static HWY_INLINE Key Scalar(T x) {
    return kForIndex ? Order::ToIndexKey(x) : Order::ToKey(x);
  }
  static HWY_INLINE Key Better(Key a, Key b) {
    return Order::Beats(a, b) ? a : b;
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
