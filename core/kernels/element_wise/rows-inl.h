// SPDX-License-Identifier: Apache-2.0
// Rows of a function, for kernel sources.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>
#include <type_traits>
#include <utility>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/stored-inl.h"
#include "core/tensor/visit_data_type.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using enum DataType;
using enum ElementWiseFunction;

constexpr DataTypeSet kFloats = {kFloat32, kFloat16};
constexpr DataTypeSet k8 = {kInt8, kUint8};
constexpr DataTypeSet k16 = {kInt16, kUint16};
constexpr DataTypeSet k32 = {kInt32, kUint32};
constexpr DataTypeSet k64 = {kInt64, kUint64};

// Selects `yes` where the mask is set and `no` elsewhere, bit by bit: with a mask of AVX-512, the
// load of an operand would wait for it.
template <class M, class V>
HWY_INLINE V Either(M mask, V yes, V no) {
  return hn::IfVecThenElse(hn::VecFromMask(hn::DFromV<V>(), mask), yes, no);
}

// A function is F()(d, parameters, vectors of T...), which returns a vector with as many lanes of
// the same width. `Stored` are the stored types of the inputs, `Out` is that of the output.
template <class F, typename T, bool kStreams, typename Out, typename... Stored, size_t... kInput>
HWY_INLINE void ComputeVectors(std::index_sequence<kInput...>, const ElementParameters& parameters,
                               int64_t count, std::byte* to, const std::byte* const* from) {
  const hn::ScalableTag<T> d;
  const ElementParameters own = parameters;  // a copy that no store can alias
  const std::byte* const own_from[] = {from[kInput]...};
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto y =
        F()(d, own,
            LoadStored<Stored>(d, own_from[kInput] + i * static_cast<int64_t>(sizeof(Stored)))...);
    std::byte* const target = to + i * static_cast<int64_t>(sizeof(Out));
    if constexpr (sizeof(Out) == sizeof(T)) {
      StoreElements<kStreams>(y, target);
    } else {
      StoreNarrow<Out>(y, target);
    }
  }
}

template <class F, typename T, bool kStreams, typename Out, typename... Stored>
HWY_ATTR void ComputeStored(const ElementParameters& parameters, int64_t count, std::byte* to,
                            const std::byte* const* from) {
  ComputeVectors<F, T, kStreams, Out, Stored...>(std::index_sequence_for<Stored...>(), parameters,
                                                 count, to, from);
}

// Computes a function that has no vector form: F()(elements of T...) of the same type.
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

// A row that computes with T, takes `Stored`, and returns `Out`. Its `types` default to that of the
// first input. Results narrower than T are too short to be streamed vector by vector, and those of
// FLOAT64 are always converted.
template <class F, typename T, typename Out, typename... Stored>
constexpr ElementWiseRow RowOf(ElementWiseFunction function, DataTypeSet types = {}) {
  ElementWiseRow row{function,
                     types,
                     {kDataTypeOf<Stored>...},
                     kDataTypeOf<Out>,
                     ComputeStored<F, T, false, Out, Stored...>};
  if (types.empty()) row.types = {row.in[0]};
  if constexpr (sizeof(Out) == sizeof(T) && !std::is_same_v<T, double>) {
    row.stream = ComputeStored<F, T, true, Out, Stored...>;
  }
  return row;
}

// Does the same for inputs that are all stored as `Stored`.
template <class F, typename T, size_t kInputs, typename Out = T, typename Stored = T>
constexpr ElementWiseRow Row(ElementWiseFunction function, DataTypeSet types = {}) {
  if constexpr (kInputs == 1) return RowOf<F, T, Out, Stored>(function, types);
  if constexpr (kInputs == 2) return RowOf<F, T, Out, Stored, Stored>(function, types);
  if constexpr (kInputs == 3) return RowOf<F, T, Out, Stored, Stored, Stored>(function, types);
}

// Computes FLOAT16 in FLOAT32, for functions that commute with rounding, or whose results may be
// rounded to FLOAT32 first.
template <class F, size_t kInputs>
constexpr ElementWiseRow HalfRow(ElementWiseFunction function) {
  return Row<F, float, kInputs, Half, Half>(function);
}

// A row that returns truth values as UINT8.
template <class F, typename T, size_t kInputs, typename Stored = T>
constexpr ElementWiseRow TruthRow(ElementWiseFunction function, DataTypeSet types = {}) {
  return Row<F, T, kInputs, uint8_t, Stored>(function, types);
}

// A function of floats that is approximated in FLOAT64, within F::kRelativeError of the real result
// or so that FLOAT32 and FLOAT16 round both alike.
template <class F, size_t kInputs = 1>
constexpr ElementWiseRow Approximated(ElementWiseFunction function) {
  using enum DataType;
  ElementWiseRow row = Row<F, double, kInputs>(function, {kFloat32, kFloat16});
  row.relative_error = F::kRelativeError;
  return row;
}

// Converts a mask to a vector of ones and zeros.
template <class D, class M>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> OneOrZero(D, M mask) {
  const hn::RebindToUnsigned<D> du;
  return hn::IfThenElseZero(hn::RebindMask(du, mask), hn::Set(du, 1));
}

// Returns a >= b, which Highway lacks for integers.
template <class V>
HWY_INLINE auto IsAtLeast(V a, V b) {
  if constexpr (std::is_integral_v<hn::TFromV<V>>) {
    return hn::Not(hn::Lt(a, b));
  } else {
    return hn::Ge(a, b);
  }
}

// The larger and the smaller operand. A number wins against NaN, and -0 is less than +0.
template <class D, class V>
HWY_INLINE V MaxOf(D, V a, V b) {
  if constexpr (std::is_integral_v<hn::TFromD<D>>) {
    return hn::Max(a, b);
  } else {
    // Zeros of different sign are equal; the bits that they share are those of +0.
    const V larger =
        hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::IfThenElse(hn::Gt(a, b), a, b));
    return hn::IfThenElse(hn::IsNaN(b), a, larger);
  }
}
template <class D, class V>
HWY_INLINE V MinOf(D, V a, V b) {
  if constexpr (std::is_integral_v<hn::TFromD<D>>) {
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
