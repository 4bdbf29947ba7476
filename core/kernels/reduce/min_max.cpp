// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/min_max.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/min_max.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <utility>

#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/reduce/ordered_keys-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// --- rows ----------------------------------------------------------------------------------------

template <class K>
typename K::Key BestOfRow(const typename K::Element* x, int64_t count, typename K::Key flipped) {
  using T = typename K::Element;
  const K keys(flipped);
  const int64_t lanes = K::Lanes();
  // Four chains hide the latency of Max.
  typename K::V a = K::Least(), b = a, c = a, e = a;
  int64_t i = ForEachBlock(x, count, 4 * lanes, [&](const T* from) HWY_ATTR {
    a = hn::Max(a, keys.Load(from));
    b = hn::Max(b, keys.Load(from + lanes));
    c = hn::Max(c, keys.Load(from + 2 * lanes));
    e = hn::Max(e, keys.Load(from + 3 * lanes));
  });
  if (count < lanes) {
    typename K::Key best = K::Order::kLeast;
    for (; i < count; ++i) best = HWY_MAX(keys.OfElement(x[i]), best);
    return best;
  }
  // The last vector overlaps others, as seeing an element again changes nothing.
  for (; i < count; i += lanes) a = hn::Max(a, keys.Load(x + HWY_MIN(i, count - lanes)));
  return K::BestLane(hn::Max(hn::Max(a, b), hn::Max(c, e)));
}

template <class K>
int64_t FirstInRow(const typename K::Element* x, int64_t count, typename K::Key flipped,
                   typename K::Key key) {
  const typename K::D d;
  const K keys(flipped);
  const int64_t lanes = K::Lanes();
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const int64_t lane = hn::FindFirstTrue(d, hn::Eq(keys.Load(x + i), hn::Set(d, key)));
    if (lane >= 0) return i + lane;
  }
  while (i < count && keys.OfElement(x[i]) != key) ++i;
  return i;
}

#if HWY_TARGET != HWY_SCALAR

// Reduces a row to one vector of lanes. Reads a whole vector even if the row is shorter.
template <class K>
HWY_INLINE typename K::V BestLanesOf(K keys, const typename K::Element* x, int64_t count) {
  const int64_t lanes = K::Lanes();
  const typename K::V first = keys.Load(x);
  if (count < lanes) {
    const auto inside = hn::FirstN(typename K::D(), static_cast<size_t>(count));
    return hn::IfThenElse(inside, first, K::Least());
  }
  typename K::V best = first;
  int64_t i = lanes;
  for (; i + lanes <= count; i += lanes) best = hn::Max(best, keys.Load(x + i));
  // The last vector overlaps others, as seeing an element again changes nothing.
  return i == count ? best : hn::Max(best, keys.Load(x + count - lanes));
}

// Raises the keys of as many rows as a vector has lanes. Each step halves what is left of every
// row, and joins what is left of two rows.
template <class K>
HWY_INLINE void BestOfLaneRows(K keys, const typename K::Element* x, int64_t count, int64_t pitch,
                               typename K::Key* best_keys) {
  const typename K::D d;
  typename K::V best[hn::MaxLanes(typename K::D())];
  const int64_t lanes = K::Lanes();
  for (int64_t row = 0; row < lanes; ++row) best[row] = BestLanesOf(keys, x + row * pitch, count);
  for (int64_t rows = lanes / 2; rows > 0; rows /= 2) {
    for (int64_t i = 0; i < rows; ++i) {
      const typename K::V a = best[2 * i], b = best[2 * i + 1];
      best[i] = hn::Max(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
    }
  }
  hn::StoreU(hn::Max(best[0], hn::LoadU(d, best_keys)), d, best_keys);
}

#endif  // HWY_TARGET != HWY_SCALAR

template <class K>
void BestOfRows(const typename K::Element* x, int64_t count, int64_t pitch, int64_t rows,
                typename K::Key flipped, typename K::Key* best) {
  int64_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  const K keys(flipped);
  const int64_t lanes = K::Lanes();
  // A vector must not reach beyond the last row.
  const int64_t last = (rows - 1) * pitch - (count < lanes ? lanes - count : 0);
  for (; row + lanes <= rows && (row + lanes - 1) * pitch <= last; row += lanes) {
    BestOfLaneRows(keys, x + row * pitch, count, pitch, best + row);
  }
#endif
  for (; row < rows; ++row) {
    best[row] = HWY_MAX(BestOfRow<K>(x + row * pitch, count, flipped), best[row]);
  }
}

// --- columns -------------------------------------------------------------------------------------

constexpr int64_t kVectorsAtATime = 4;

// Takes keys by value, so that they stay in registers while memory is written.
template <int64_t kVectors, class K, typename T>
HWY_INLINE void BestOfVectors(K keys, const FewRows<T>& rows, int64_t c, NextRows<T>& next,
                              typename K::Key* best_keys) {
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  typename K::V best[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) best[v] = hn::LoadU(d, best_keys + c + v * lanes);
  for (int64_t r = 0; r < rows.count; ++r) {
    next.Prefetch(kVectors * lanes / kFewRows);
    const T* x = rows.first + r * rows.stride + c;
    for (int64_t v = 0; v < kVectors; ++v) best[v] = hn::Max(best[v], keys.Load(x + v * lanes));
  }
  for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], d, best_keys + c + v * lanes);
}

template <int64_t kVectors, class K, typename T>
HWY_INLINE void IndexOfVectors(K keys, const FewRows<T>& rows, int64_t c, NextRows<T>& next,
                               typename K::Key* best_keys, typename K::Key* rows_of_keys) {
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  typename K::V best[kVectors];
  typename K::V best_row[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    best[v] = hn::LoadU(d, best_keys + c + v * lanes);
    best_row[v] = hn::LoadU(d, rows_of_keys + c + v * lanes);
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    next.Prefetch(kVectors * lanes / kFewRows);
    const T* x = rows.first + r * rows.stride + c;
    const typename K::V row = hn::Set(d, static_cast<typename K::Key>(rows.number + r));
    for (int64_t v = 0; v < kVectors; ++v) {
      const typename K::V key = keys.Load(x + v * lanes);
      best_row[v] = hn::IfThenElse(hn::Gt(key, best[v]), row, best_row[v]);
      best[v] = hn::Max(key, best[v]);
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) {
    hn::StoreU(best[v], d, best_keys + c + v * lanes);
    hn::StoreU(best_row[v], d, rows_of_keys + c + v * lanes);
  }
}

// Calls body.operator()<n>(keys, c) for n vectors of columns from c on: kVectors at a time, then
// one; with narrower vectors if there are too few columns for one. The last vector overlaps others,
// as seeing the same rows again changes nothing.
template <class K, int64_t kVectors, typename Body>
HWY_INLINE void ForAllColumns(int64_t columns, typename K::Key flipped, Body&& body) {
  const int64_t lanes = K::Lanes();
  if constexpr (hn::MaxLanes(typename K::D()) > 1) {
    if (columns < lanes) {
      return ForAllColumns<typename K::Narrower, 1>(columns, flipped, std::forward<Body>(body));
    }
  }
  const K keys(flipped);
  int64_t c = 0;
  if constexpr (kVectors > 1) {
    for (; c + kVectors * lanes <= columns; c += kVectors * lanes) {
      body.template operator()<kVectors>(keys, c);
    }
  }
  for (; c < columns; c += lanes) body.template operator()<1>(keys, HWY_MIN(c, columns - lanes));
}

template <class K>
void BestOfColumns(const typename K::Element* x, int64_t rows, int64_t row_stride, int64_t columns,
                   typename K::Key flipped, typename K::Key* best) {
  using T = typename K::Element;
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    ForAllColumns<K, kVectorsAtATime>(columns, flipped,
                                      [&]<int64_t kVectors>(const auto& keys, int64_t c) HWY_ATTR {
                                        BestOfVectors<kVectors>(keys, few, c, next, best);
                                      });
  });
}

template <class K>
void IndexOfColumns(const typename K::Element* x, int64_t rows, int64_t row_stride, int64_t columns,
                    int64_t first_row, typename K::Key flipped, typename K::Key* best,
                    typename K::Key* rows_of_keys) {
  using T = typename K::Element;
  // Rows come in order, so that of equal keys the first one counts.
  ForEachFewRows(x, rows, row_stride, [&](FewRows<T> few, BlockPart) HWY_ATTR {
    few.number += first_row;
    NextRows<T> next(few, columns);
    ForAllColumns<K, kVectorsAtATime>(
        columns, flipped, [&]<int64_t kVectors>(const auto& keys, int64_t c) HWY_ATTR {
          IndexOfVectors<kVectors>(keys, few, c, next, best, rows_of_keys);
        });
  });
}

template <typename T>
MinMaxKernels<T> MakeKernels() {
  using K = Keys<T, KeysFor::kValue>;
  return {BestOfRow<K>, BestOfRows<K>, BestOfColumns<K>};
}

template <typename T>
MinMaxIndexKernels<T> MakeIndexKernels() {
  using K = Keys<T, kKeysForIndex<T>>;
  return {BestOfRow<K>, BestOfRows<K>, FirstInRow<K>, IndexOfColumns<K>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
MinMaxKernels<T> MinMaxKernelsFor() {
  return DMLOP_CHOOSE(MakeKernels<T>)();
}

template <typename T>
MinMaxIndexKernels<T> MinMaxIndexKernelsFor() {
  return DMLOP_CHOOSE(MakeIndexKernels<T>)();
}

template MinMaxKernels<float> MinMaxKernelsFor();
template MinMaxIndexKernels<float> MinMaxIndexKernelsFor();
template MinMaxKernels<Half> MinMaxKernelsFor();
template MinMaxIndexKernels<Half> MinMaxIndexKernelsFor();
template MinMaxKernels<int64_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int64_t> MinMaxIndexKernelsFor();
template MinMaxKernels<int32_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int32_t> MinMaxIndexKernelsFor();
template MinMaxKernels<int16_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int16_t> MinMaxIndexKernelsFor();
template MinMaxKernels<int8_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int8_t> MinMaxIndexKernelsFor();

}  // namespace dmlop
#endif
