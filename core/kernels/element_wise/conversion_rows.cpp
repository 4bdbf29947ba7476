// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/conversion_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/element_wise/convert.h"

#include <limits>

#include "core/kernels/element_wise/odd-inl.h"
#include "core/kernels/element_wise/stored-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// Applies F()(tag of the result, vector) with as many lanes as a vector of the wider type has.
template <class F, typename From, typename To>
HWY_ATTR void ConvertRow(const ElementParameters&, int64_t count, std::byte* to,
                         const std::byte* const* from) {
  using Wider = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;
  const hn::ScalableTag<Wider> d;
  const hn::Rebind<From, decltype(d)> d_from;
  const hn::Rebind<To, decltype(d)> d_to;
  const From* elements = reinterpret_cast<const From*>(from[0]);
  To* results = reinterpret_cast<To*>(to);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    StoreElements(F()(d_to, hn::LoadU(d_from, elements + i)),
                  reinterpret_cast<std::byte*>(results + i));
  }
}

struct Promotion {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    return hn::PromoteTo(d, x);
  }
};

struct Truncation {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    return hn::TruncateTo(d, x);
  }
};

struct Clamping {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    // When demoting to 8 bits, Highway takes values above the range of int16_t for negative ones.
    constexpr int32_t kMax = std::numeric_limits<hn::TFromD<D>>::max();
    return hn::DemoteTo(d, hn::Min(x, hn::Set(hn::DFromV<V>(), kMax)));
  }
};

struct SmallToFloats {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    return hn::ConvertTo(d, x);
  }
};

// Splits 64-bit integers into two halves, exact in FLOAT64. Each is placed in the low bits of a
// number whose last place has the weight of that half.
template <bool kSigned, class D>
HWY_INLINE Sum<hn::Vec<D>> HalvesOf(D d, hn::Vec<hn::RebindToUnsigned<D>> x) {
  const hn::RebindToUnsigned<D> du;
  const auto low = hn::Or(hn::And(x, hn::Set(du, 0xFFFFFFFF)), hn::Set(du, 0x4330ull << 48));
  const auto flipped = hn::Xor(hn::ShiftRight<32>(x), hn::Set(du, kSigned ? 1u << 31 : 0));
  const auto high = hn::Or(flipped, hn::Set(du, 0x4530ull << 48));
  return {hn::Sub(hn::BitCast(d, high), hn::Set(d, kSigned ? 0x1.000008p84 : 0x1p84)),
          hn::Sub(hn::BitCast(d, low), hn::Set(d, 0x1p52))};
}

template <bool kSigned>
struct Integers64ToDoubles {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    const auto halves = HalvesOf<kSigned>(d, x);
    return hn::Add(halves.head, halves.tail);
  }
};

template <bool kSigned>
struct Integers64ToOddDoubles {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    const auto halves = HalvesOf<kSigned>(d, x);
    return ToOdd(d, ExactSumOf(halves.head, halves.tail));
  }
};

struct DoublesToFloats {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D, V x) const {
    return ToFloats(hn::Rebind<double, D>(), x);
  }
};

// Elements of FLOAT16 are moved as their bits.
HWY_ATTR void HalfToFloatRow(const ElementParameters&, int64_t count, std::byte* to,
                             const std::byte* const* from) {
  const hn::ScalableTag<float> d;
  const Half* halves = reinterpret_cast<const Half*>(from[0]);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    StoreElements(LoadFloats(d, halves + i), to + i * 4);
  }
}

// Truncates. Highway's portable targets take fractions just above -2^31 for less than that.
template <class D, class V>
HWY_INLINE hn::Vec<D> DoublesInsideInt32(D d, V x) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::DemoteTo(d, hn::Trunc(x));
#else
  return hn::DemoteTo(d, x);
#endif
}

// Converts from floats at least as wide as the integers.
struct ClampedIntegers {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    const hn::DFromV<V> df;
    const V number = hn::IfThenElseZero(hn::Eq(x, x), x);
    const V inside = hn::Max(number, hn::Set(df, -0x1p31f));
    if constexpr (sizeof(hn::TFromD<decltype(df)>) == 8) {
      return DoublesInsideInt32(d, hn::Min(inside, hn::Set(df, 2147483647.0)));
    } else {
      const auto is_large = hn::Ge(inside, hn::Set(df, 0x1p31f));
      const auto integer = hn::ConvertTo(d, hn::IfThenZeroElse(is_large, inside));
      return hn::IfThenElse(hn::RebindMask(d, is_large), hn::Set(d, INT32_MAX), integer);
    }
  }
};

struct ClampedUnsigned32 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    const hn::Rebind<double, D> dd;
    const hn::Rebind<int32_t, D> d32;
    const V number = hn::IfThenElseZero(hn::Eq(x, x), x);
    const V inside = hn::Min(hn::Max(number, hn::Zero(dd)), hn::Set(dd, 4294967295.0));
    const auto less = DoublesInsideInt32(d32, hn::Sub(hn::Trunc(inside), hn::Set(dd, 0x1p31)));
    return hn::BitCast(d, hn::Xor(less, hn::Set(d32, INT32_MIN)));
  }
};

template <typename T>
HWY_ATTR void DoubleToInteger64Row(const ElementParameters&, int64_t count, std::byte* to,
                                   const std::byte* const* from) {
  using Limits = std::numeric_limits<T>;
  constexpr double kAbove = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
  const double* x = reinterpret_cast<const double*>(from[0]);
  T* results = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const double y = x[i];
    if (y >= kAbove) {
      results[i] = Limits::max();
    } else if (y > static_cast<double>(Limits::min())) {
      results[i] = static_cast<T>(y);
    } else {
      results[i] = y == y ? Limits::min() : T{0};
    }
  }
}

RowFunction* const* ConversionTable() {
  static constexpr RowFunction* kRows[] = {
      ConvertRow<Promotion, uint8_t, uint16_t>,
      ConvertRow<Promotion, uint8_t, uint32_t>,
      ConvertRow<Promotion, uint16_t, uint32_t>,
      ConvertRow<Promotion, uint32_t, uint64_t>,
      ConvertRow<Promotion, int8_t, int16_t>,
      ConvertRow<Promotion, int8_t, int32_t>,
      ConvertRow<Promotion, int16_t, int32_t>,
      ConvertRow<Promotion, int32_t, int64_t>,
      ConvertRow<Truncation, uint16_t, uint8_t>,
      ConvertRow<Truncation, uint32_t, uint8_t>,
      ConvertRow<Truncation, uint32_t, uint16_t>,
      ConvertRow<Truncation, uint64_t, uint32_t>,
      ConvertRow<Clamping, int32_t, int8_t>,
      ConvertRow<Clamping, int32_t, uint8_t>,
      ConvertRow<Clamping, int32_t, int16_t>,
      ConvertRow<Clamping, int32_t, uint16_t>,
      ConvertRow<SmallToFloats, int32_t, float>,
      ConvertRow<Promotion, int32_t, double>,
      ConvertRow<Unsigned32ToDoubles, uint32_t, double>,
      ConvertRow<Integers64ToDoubles<true>, uint64_t, double>,
      ConvertRow<Integers64ToDoubles<false>, uint64_t, double>,
      ConvertRow<Integers64ToOddDoubles<true>, uint64_t, double>,
      ConvertRow<Integers64ToOddDoubles<false>, uint64_t, double>,
      HalfToFloatRow,
      ConvertRow<Promotion, float, double>,
      ConvertRow<FloatsToHalves, float, uint16_t>,
      ConvertRow<DoublesToFloats, double, float>,
      ConvertRow<DoublesToOddFloats, double, float>,
      ConvertRow<ClampedIntegers, float, int32_t>,
      ConvertRow<ClampedIntegers, double, int32_t>,
      ConvertRow<ClampedUnsigned32, double, uint32_t>,
      DoubleToInteger64Row<int64_t>,
      DoubleToInteger64Row<uint64_t>,
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

RowFunction* ConversionRowFor(ConversionRow row) {
  return DMLOP_CHOOSE(ConversionTable)()[static_cast<size_t>(row)];
}

}  // namespace dmlop
#endif
