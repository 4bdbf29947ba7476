// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/integer_fold.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/integer_fold.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, IntegerFold kFold>
struct Fold {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
  static HWY_INLINE V Start() { return hn::Set(D(), static_cast<T>(StartOf(kFold))); }

  // Loads a vector of elements as terms.
  static HWY_INLINE V Load(const T* x) {
    const V values = hn::LoadU(D(), x);
    if constexpr (kFold == IntegerFold::kSumOfSquares) return hn::Mul(values, values);
    if constexpr (kFold == IntegerFold::kSumOfMagnitudes) {
      return hn::BitCast(D(), hn::Abs(hn::BitCast(hn::RebindToSigned<D>(), values)));
    }
    return values;
  }
  static HWY_INLINE T TermOf(T x) {
    if constexpr (kFold == IntegerFold::kSumOfSquares) return x * x;
    if constexpr (kFold == IntegerFold::kSumOfMagnitudes) {
      return static_cast<std::make_signed_t<T>>(x) < 0 ? T{0} - x : x;
    }
    return x;
  }

  static HWY_INLINE V Combine(V a, V b) {
    return kFold == IntegerFold::kProduct ? hn::Mul(a, b) : hn::Add(a, b);
  }
  static HWY_INLINE void Add(T x, T* state) { *state = MergeFolds(kFold, *state, x); }
};

template <typename T, IntegerFold kFold>
void FoldRow(const T* x, int64_t count, T* state) {
  using F = Fold<T, kFold>;
  const int64_t lanes = F::Lanes();
  int64_t i = 0;
  if (count >= lanes) {
    // Four chains hide the latency of products.
    typename F::V a = F::Start(), b = a, c = a, e = a;
    i = ForEachBlock(x, count, 4 * lanes, [&](const T* from) HWY_ATTR {
      a = F::Combine(a, F::Load(from));
      b = F::Combine(b, F::Load(from + lanes));
      c = F::Combine(c, F::Load(from + 2 * lanes));
      e = F::Combine(e, F::Load(from + 3 * lanes));
    });
    for (; i + lanes <= count; i += lanes) a = F::Combine(a, F::Load(x + i));
    HWY_ALIGN T parts[hn::MaxLanes(typename F::D())];
    hn::Store(F::Combine(F::Combine(a, b), F::Combine(c, e)), typename F::D(), parts);
    for (int64_t lane = 0; lane < lanes; ++lane) F::Add(parts[lane], state);
  }
  for (; i < count; ++i) F::Add(F::TermOf(x[i]), state);
}

template <typename T, IntegerFold kFold>
void FoldColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* states) {
  using F = Fold<T, kFold>;
  const auto vector = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    typename F::V state = hn::LoadU(typename F::D(), states + c);
    for (int64_t row = 0; row < few.count; ++row) {
      state = F::Combine(state, F::Load(few.first + row * few.stride));
    }
    hn::StoreU(state, typename F::D(), states + c);
  };
  const auto single = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    for (int64_t row = 0; row < few.count; ++row) {
      F::Add(F::TermOf(few.first[row * few.stride]), states + c);
    }
  };
  ForEachColumns(x, rows, row_stride, columns, F::Lanes(), vector, single);
}

template <typename T, IntegerFold kFold>
constexpr IntegerFoldKernels<T> kKernels = {FoldRow<T, kFold>, FoldColumns<T, kFold>};

template <typename T>
IntegerFoldKernels<T> MakeKernels(IntegerFold fold) {
  switch (fold) {
    case IntegerFold::kSum:
      return kKernels<T, IntegerFold::kSum>;
    case IntegerFold::kSumOfMagnitudes:
      return kKernels<T, IntegerFold::kSumOfMagnitudes>;
    case IntegerFold::kSumOfSquares:
      return kKernels<T, IntegerFold::kSumOfSquares>;
    case IntegerFold::kProduct:
      return kKernels<T, IntegerFold::kProduct>;
  }
  return {};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
IntegerFoldKernels<T> IntegerFoldKernelsFor(IntegerFold fold) {
  return DMLOP_CHOOSE(MakeKernels<T>)(fold);
}

template IntegerFoldKernels<uint32_t> IntegerFoldKernelsFor(IntegerFold fold);
template IntegerFoldKernels<uint64_t> IntegerFoldKernelsFor(IntegerFold fold);

}  // namespace dmlop
#endif
