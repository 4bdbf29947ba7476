// Rows of a function, for kernel sources: included once for each instruction set, hence the unusual
// guard.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "core/kernels/element_wise/halves-inl.h"
#include "core/kernels/element_wise/row.h"
#include "core/kernels/simd/widen-inl.h"
#include "core/tensor/visit_data_type.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Stores a vector, past the caches if that is asked for; any NaN becomes the default one.
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

// Elements as they are stored: of T, narrower unsigned integers, or, where T is a float, integers
// of at most 16 bits.
template <typename Stored, class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const std::byte* from) {
  using T = hn::TFromD<D>;
  const auto elements = hn::LoadU(hn::Rebind<Stored, D>(), reinterpret_cast<const Stored*>(from));
  if constexpr (std::is_same_v<Stored, T>) {
    return elements;
  } else if constexpr (std::is_same_v<T, float>) {
    return hn::ConvertTo(d, hn::PromoteTo(hn::Rebind<int32_t, D>(), elements));
  } else if constexpr (std::is_same_v<T, double>) {
    return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<int32_t, D>(), elements));
  } else if constexpr (sizeof(T) == 8) {
    return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<uint32_t, D>(), elements));
  } else {
    return hn::PromoteTo(d, elements);
  }
}

// A function is F()(d, parameters, vectors of T...), which returns a vector with as many lanes, as
// wide. `Stored` are the types of the inputs as they are stored.
template <class F, typename T, bool kStreams, typename... Stored, size_t... kInput>
HWY_INLINE void ComputeVectors(std::index_sequence<kInput...>, const ElementParameters& parameters,
                               int64_t count, std::byte* to, const std::byte* const* from) {
  const hn::ScalableTag<T> d;
  const ElementParameters own = parameters;  // which nothing that is stored can change
  const std::byte* const own_from[] = {from[kInput]...};
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    StoreElements<kStreams>(
        F()(d, own,
            LoadStored<Stored>(d, own_from[kInput] + i * static_cast<int64_t>(sizeof(Stored)))...),
        to + i * static_cast<int64_t>(sizeof(T)));
  }
}

template <class F, typename T, bool kStreams, typename... Stored>
HWY_ATTR void ComputeStored(const ElementParameters& parameters, int64_t count, std::byte* to,
                            const std::byte* const* from) {
  ComputeVectors<F, T, kStreams, Stored...>(std::index_sequence_for<Stored...>(), parameters, count,
                                            to, from);
}

// A function of FLOAT32 that is computed with FLOAT16, without a buffer between.
template <class F, size_t... kInput>
HWY_INLINE void ComputeHalves(std::index_sequence<kInput...>, const ElementParameters& parameters,
                              int64_t count, std::byte* to, const std::byte* const* from) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d_half;
  const ElementParameters own = parameters;
  const Half* const own_from[] = {reinterpret_cast<const Half*>(from[kInput])...};
  uint16_t* const results = reinterpret_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto y = F()(d, own, LoadFloats(d, own_from[kInput] + i)...);
    hn::StoreU(FloatsToHalves()(d_half, y), d_half, results + i);
  }
}

template <class F, size_t kInputs>
HWY_ATTR void ComputeHalfRow(const ElementParameters& parameters, int64_t count, std::byte* to,
                             const std::byte* const* from) {
  ComputeHalves<F>(std::make_index_sequence<kInputs>(), parameters, count, to, from);
}

// A function of elements for which there are no vectors: F()(elements of T...) of the same type.
template <class F, typename T>
HWY_ATTR void ComputeElementRow(const ElementParameters&, int64_t count, std::byte* to,
                                const std::byte* const* from) {
  const T* a = reinterpret_cast<const T*>(from[0]);
  const T* b = reinterpret_cast<const T*>(from[1]);
  T* result = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const T y = F()(a[i], b[i]);
    result[i] = y == y ? y : std::numeric_limits<T>::quiet_NaN();
  }
}

// A row that computes with T and takes `Stored`; results are bits or numbers of type `out`. Those
// of FLOAT64 are always converted.
template <class F, typename T, typename... Stored>
constexpr ElementWiseRow RowOf(ElementWiseFunction function, DataTypeSet types, DataType out) {
  ElementWiseRow row{
      function, types, {kDataTypeOf<Stored>...}, out, ComputeStored<F, T, false, Stored...>};
  if constexpr (!std::is_same_v<T, double>) row.stream = ComputeStored<F, T, true, Stored...>;
  return row;
}

// A row that computes with T and takes and returns T; `types` are T where they are not given.
template <class F, typename T, size_t kInputs>
constexpr ElementWiseRow Row(ElementWiseFunction function, DataTypeSet types = {kDataTypeOf<T>},
                             DataType out = kDataTypeOf<T>) {
  if constexpr (kInputs == 1) return RowOf<F, T, T>(function, types, out);
  if constexpr (kInputs == 2) return RowOf<F, T, T, T>(function, types, out);
  if constexpr (kInputs == 3) return RowOf<F, T, T, T, T>(function, types, out);
}

// For functions that commute with rounding, or are computed before anything else is.
template <class F, size_t kInputs>
constexpr ElementWiseRow HalfRow(ElementWiseFunction function) {
  constexpr DataType kHalf = DataType::kFloat16;
  return {function, {kHalf}, {kHalf, kHalf}, kHalf, ComputeHalfRow<F, kInputs>};
}

// A function of floats that is approximated in FLOAT64, within F::kRelativeError of the real result
// or where FLOAT32 and FLOAT16 round both alike.
template <class F, size_t kInputs = 1>
constexpr ElementWiseRow Approximated(ElementWiseFunction function) {
  using enum DataType;
  ElementWiseRow row = Row<F, double, kInputs>(function, {kFloat32, kFloat16});
  row.relative_error = F::kRelativeError;
  return row;
}

// A vector of ones and zeros.
template <class D, class M>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D> > OneOrZero(D, M mask) {
  const hn::RebindToUnsigned<D> du;
  return hn::IfThenElseZero(hn::RebindMask(du, mask), hn::Set(du, 1));
}

// a >= b. Highway has none for integers.
template <class V>
HWY_INLINE auto IsAtLeast(V a, V b) {
  if constexpr (std::is_integral_v<hn::TFromV<V> >) {
    return hn::Not(hn::Lt(a, b));
  } else {
    return hn::Ge(a, b);
  }
}

// The larger and the smaller one: a NaN loses, -0 is less than +0.
template <class D, class V>
HWY_INLINE V MaxOf(D, V a, V b) {
  if constexpr (std::is_integral_v<hn::TFromD<D> >) {
    return hn::Max(a, b);
  } else {
    // Zeros of both signs are equal, and +0 has none of their bits.
    const V larger =
        hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::IfThenElse(hn::Gt(a, b), a, b));
    return hn::IfThenElse(hn::IsNaN(b), a, larger);
  }
}
template <class D, class V>
HWY_INLINE V MinOf(D, V a, V b) {
  if constexpr (std::is_integral_v<hn::TFromD<D> >) {
    return hn::Min(a, b);
  } else {
    const V smaller =
        hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), hn::IfThenElse(hn::Lt(a, b), a, b));
    return hn::IfThenElse(hn::IsNaN(b), a, smaller);
  }
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
