// Extremes of columns, for kernel sources: included once for each instruction set, hence the
// unusual guard.
#if defined(DMLOP_KERNELS_EXTREME_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_EXTREME_COLUMNS_INL_H_
#undef DMLOP_KERNELS_EXTREME_COLUMNS_INL_H_
#else
#define DMLOP_KERNELS_EXTREME_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/columns-inl.h"
#include "core/kernels/extreme_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kVectorsAtATime = 4;

// Called for each row r of a few while some columns are worked on. The asking is spread over the
// rows, as what is read waits for much that is asked for at once.
template <typename T>
HWY_INLINE void AskBetweenRows(NextRows<T>& next, int64_t r, int64_t columns) {
  constexpr int64_t kRows = kFewRows / kVectorsAtATime;
  if (r % kRows == 0) next.Ask(columns / kVectorsAtATime);
}

template <class K, int64_t kVectors, typename T>
HWY_INLINE void BestOfVectors(const FewRows<T>& rows, int64_t c, NextRows<T>& next,
                              typename K::Key* keys) {
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  typename K::V best[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) best[v] = hn::LoadU(d, keys + c + v * lanes);
  for (int64_t r = 0; r < rows.count; ++r) {
    AskBetweenRows(next, r, kVectors * lanes);
    const T* x = rows.first + r * rows.stride + c;
    for (int64_t v = 0; v < kVectors; ++v) best[v] = K::Better(best[v], K::Load(x + v * lanes));
  }
  for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], d, keys + c + v * lanes);
}

template <class K, int64_t kVectors, typename T>
HWY_INLINE void IndexOfVectors(const FewRows<T>& rows, int64_t c, NextRows<T>& next,
                               typename K::Key* keys, typename K::Key* rows_of_keys) {
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  typename K::V best[kVectors];
  typename K::V best_row[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    best[v] = hn::LoadU(d, keys + c + v * lanes);
    best_row[v] = hn::LoadU(d, rows_of_keys + c + v * lanes);
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    AskBetweenRows(next, r, kVectors * lanes);
    const T* x = rows.first + r * rows.stride + c;
    const typename K::V row = hn::Set(d, static_cast<typename K::Key>(rows.number + r));
    for (int64_t v = 0; v < kVectors; ++v) {
      const typename K::V key = K::Load(x + v * lanes);
      best_row[v] = hn::IfThenElse(K::Beats(key, best[v]), row, best_row[v]);
      best[v] = K::Better(key, best[v]);
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) {
    hn::StoreU(best[v], d, keys + c + v * lanes);
    hn::StoreU(best_row[v], d, rows_of_keys + c + v * lanes);
  }
}

// Calls many(c) for kVectorsAtATime vectors of K and one(c) for one, from column c on; where there
// is not even that, few(c) for one of Short, or else single(c) for a column. The last vector
// overlaps others: to see the same rows again changes nothing.
template <class K, class Short, typename Many, typename One, typename Few, typename Single>
HWY_INLINE void ForAllColumns(int64_t columns, Many&& many, One&& one, Few&& few, Single&& single) {
  const int64_t lanes = K::Lanes();
  const int64_t short_lanes = Short::Lanes();
  int64_t c = 0;
  for (; c + kVectorsAtATime * lanes <= columns; c += kVectorsAtATime * lanes) many(c);
  if (columns >= lanes) {
    for (; c < columns; c += lanes) one(HWY_MIN(c, columns - lanes));
  } else if (columns >= short_lanes) {
    for (; c < columns; c += short_lanes) few(HWY_MIN(c, columns - short_lanes));
  } else {
    for (; c < columns; ++c) single(c);
  }
}

template <typename T, Extreme kExtreme>
void BestOfColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                   typename KeyOfType<T>::Key* keys) {
  using K = Keys<T, kExtreme, false>;
  using Short = Keys<T, kExtreme, false, ShortTag<typename K::Key>>;
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    ForAllColumns<K, Short>(
        columns, [&](int64_t c) HWY_ATTR { BestOfVectors<K, kVectorsAtATime>(few, c, next, keys); },
        [&](int64_t c) HWY_ATTR { BestOfVectors<K, 1>(few, c, next, keys); },
        [&](int64_t c) HWY_ATTR { BestOfVectors<Short, 1>(few, c, next, keys); },
        [&](int64_t c) HWY_ATTR {
          for (int64_t r = 0; r < few.count; ++r) {
            keys[c] = K::Better(K::Scalar(few.first[r * few.stride + c]), keys[c]);
          }
        });
  });
}

template <typename T, Extreme kExtreme>
void IndexOfColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                    int64_t first_row, typename KeyOfType<T>::Key* keys,
                    typename KeyOfType<T>::Key* rows_of_keys) {
  using K = Keys<T, kExtreme, true>;
  using Key = typename K::Key;
  using Short = Keys<T, kExtreme, true, ShortTag<Key>>;
  constexpr RowOrder kOrder = RowOrder::kAscending;  // of equal keys the first one counts
  ForEachFewRows<kOrder>(x, rows, row_stride, [&](FewRows<T> few, BlockPart) HWY_ATTR {
    few.number += first_row;
    NextRows<T> next(few, columns);
    ForAllColumns<K, Short>(
        columns,
        [&](int64_t c)
            HWY_ATTR { IndexOfVectors<K, kVectorsAtATime>(few, c, next, keys, rows_of_keys); },
        [&](int64_t c) HWY_ATTR { IndexOfVectors<K, 1>(few, c, next, keys, rows_of_keys); },
        [&](int64_t c) HWY_ATTR { IndexOfVectors<Short, 1>(few, c, next, keys, rows_of_keys); },
        [&](int64_t c) HWY_ATTR {
          for (int64_t r = 0; r < few.count; ++r) {
            const Key key = K::Scalar(few.first[r * few.stride + c]);
            if (!K::Order::Beats(key, keys[c])) continue;
            keys[c] = key;
            rows_of_keys[c] = static_cast<Key>(few.number + r);
          }
        });
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
