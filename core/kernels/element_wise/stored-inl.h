// SPDX-License-Identifier: Apache-2.0
// Loads vectors from stored elements, and stores them, for kernel sources.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_STORED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_STORED_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_STORED_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_STORED_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <type_traits>

#include "core/kernels/element_wise/narrow-inl.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct Unsigned32ToDoubles {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    const hn::Rebind<int32_t, D> d32;
    const auto less = hn::Xor(hn::BitCast(d32, x), hn::Set(d32, INT32_MIN));  // x - 2^31
    return hn::Add(hn::PromoteTo(d, less), hn::Set(d, 0x1p31));
  }
};

// Loads stored elements: those of T, narrower floats or unsigned integers, or, if T is a float,
// integers that it holds exactly.
template <typename Stored, class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const std::byte* from) {
  using T = hn::TFromD<D>;
  constexpr bool kIsDouble = std::is_same_v<T, double>;
  if constexpr (std::is_same_v<Stored, Half> && kIsDouble) {
    return hn::PromoteTo(d, LoadStored<Stored>(hn::Rebind<float, D>(), from));
  } else if constexpr (std::is_same_v<Stored, Half>) {
    return LoadFloats(d, reinterpret_cast<const Half*>(from));
  } else {
    const auto elements = hn::LoadU(hn::Rebind<Stored, D>(), reinterpret_cast<const Stored*>(from));
    if constexpr (std::is_same_v<Stored, T>) {
      return elements;
    } else if constexpr (std::is_same_v<T, float>) {
      return hn::ConvertTo(d, hn::PromoteTo(hn::Rebind<int32_t, D>(), elements));
    } else if constexpr (kIsDouble && std::is_same_v<Stored, uint32_t>) {
      return Unsigned32ToDoubles()(d, elements);
    } else if constexpr (kIsDouble && sizeof(Stored) < 4) {
      return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<int32_t, D>(), elements));
    } else if constexpr (sizeof(T) == 8 && sizeof(Stored) < 4) {
      return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<uint32_t, D>(), elements));
    } else {
      return hn::PromoteTo(d, elements);
    }
  }
}

// Stores a vector, past the caches if kStreams; any NaN becomes the default one.
template <bool kStreams = false, class V>
HWY_INLINE void StoreElements(V v, std::byte* to) {
  const hn::DFromV<V> d;
  using T = hn::TFromD<decltype(d)>;
  if constexpr (std::is_floating_point_v<T>) {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto nan = hn::BitCast(d, hn::ShiftLeft < sizeof(T) == 4
                                        ? 22
                                        : 51 > (hn::Set(du, sizeof(T) == 4 ? 0x1FF : 0xFFF)));
    v = hn::IfThenElse(hn::IsNaN(v), nan, v);
  }
  if constexpr (kStreams) {
    hn::Stream(v, d, reinterpret_cast<T*>(to));
  } else {
    hn::StoreU(v, d, reinterpret_cast<T*>(to));
  }
}

// Stores a vector as narrower elements: floats are rounded, integers lose their high bits.
template <typename Stored, class V>
HWY_INLINE void StoreNarrow(V v, std::byte* to) {
  const hn::DFromV<V> d;
  using T = hn::TFromD<decltype(d)>;
  if constexpr (std::is_same_v<Stored, Half> && std::is_same_v<T, float>) {
    StoreElements(FloatsToHalves()(hn::Rebind<uint16_t, decltype(d)>(), v), to);
  } else if constexpr (std::is_floating_point_v<T>) {
    StoreElements(RoundedTo(Stored(), v), to);
  } else {
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Rebind<std::make_unsigned_t<Stored>, decltype(d)> narrow;
    StoreElements(hn::TruncateTo(narrow, hn::BitCast(du, v)), to);
  }
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
