// The best keys of columns, for kernel sources: included once for each instruction set, hence the
// unusual guard.
#if defined(DMLOP_KERNELS_MIN_MAX_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_MIN_MAX_COLUMNS_INL_H_
#undef DMLOP_KERNELS_MIN_MAX_COLUMNS_INL_H_
#else
#define DMLOP_KERNELS_MIN_MAX_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "core/kernels/columns-inl.h"
#include "core/kernels/ordered_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kVectorsAtATime = 4;

// Called for each row r of a few while some columns are worked on. Prefetches are spread over the
// rows, as what is read waits for many that come at once.
template <typename T>
HWY_INLINE void PrefetchBetweenRows(NextRows<T>& next, int64_t r, int64_t columns) {
  constexpr int64_t kRows = kFewRows / kVectorsAtATime;
  if (r % kRows == 0) next.Prefetch(columns / kVectorsAtATime);
}

template <int64_t kVectors, class K, typename T>
HWY_INLINE void BestOfVectors(const K& keys, const FewRows<T>& rows, int64_t c, NextRows<T>& next,
                              typename K::Key* best_keys) {
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  typename K::V best[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) best[v] = hn::LoadU(d, best_keys + c + v * lanes);
  for (int64_t r = 0; r < rows.count; ++r) {
    PrefetchBetweenRows(next, r, kVectors * lanes);
    const T* x = rows.first + r * rows.stride + c;
    for (int64_t v = 0; v < kVectors; ++v) best[v] = hn::Max(best[v], keys.Load(x + v * lanes));
  }
  for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], d, best_keys + c + v * lanes);
}

template <int64_t kVectors, class K, typename T>
HWY_INLINE void IndexOfVectors(const K& keys, const FewRows<T>& rows, int64_t c, NextRows<T>& next,
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
    PrefetchBetweenRows(next, r, kVectors * lanes);
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

// Calls body.operator()<n>(keys, c) for n vectors of columns from c on: for kVectors, for one, or
// for a narrower one where there are not even columns for that. The last vector overlaps others:
// to see the same rows again changes nothing.
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
  // Of equal keys the first one counts, as rows come in order.
  ForEachFewRows(x, rows, row_stride, [&](FewRows<T> few, BlockPart) HWY_ATTR {
    few.number += first_row;
    NextRows<T> next(few, columns);
    ForAllColumns<K, kVectorsAtATime>(
        columns, flipped, [&]<int64_t kVectors>(const auto& keys, int64_t c) HWY_ATTR {
          IndexOfVectors<kVectors>(keys, few, c, next, best, rows_of_keys);
        });
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
