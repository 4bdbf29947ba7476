// Extremes of rows, for kernel sources: included once for each instruction set, hence the
// unusual guard.
#if defined(DMLOP_KERNELS_EXTREME_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_EXTREME_ROWS_INL_H_
#undef DMLOP_KERNELS_EXTREME_ROWS_INL_H_
#else
#define DMLOP_KERNELS_EXTREME_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/extreme_keys-inl.h"
#include "core/kernels/row_streams-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, Extreme kExtreme, bool kForIndex>
typename KeyOfType<T>::Key BestOfRow(const T* x, int64_t count) {
  using K = Keys<T, kExtreme, kForIndex>;
  using Key = typename K::Key;
  const int64_t lanes = K::Lanes();
  // Four at a time: each Max waits for the one before.
  typename K::V a = K::Worst(), b = a, c = a, e = a;
  int64_t i = ForEachBlock(x, count, 4 * lanes, [&](const T* from) HWY_ATTR {
    a = K::Better(a, K::Load(from));
    b = K::Better(b, K::Load(from + lanes));
    c = K::Better(c, K::Load(from + 2 * lanes));
    e = K::Better(e, K::Load(from + 3 * lanes));
  });
  if (count < lanes) {
    Key best = K::Order::kWorst;
    for (; i < count; ++i) best = K::Better(K::Scalar(x[i]), best);
    return best;
  }
  // The last vector overlaps others: to see an element again changes nothing.
  for (; i < count; i += lanes) a = K::Better(a, K::Load(x + HWY_MIN(i, count - lanes)));
  return K::BestLane(K::Better(K::Better(a, b), K::Better(c, e)));
}

#if HWY_TARGET != HWY_SCALAR

// The best keys of a row in as many lanes. Reads a whole vector where the row is shorter.
template <class K, typename T>
HWY_INLINE typename K::V BestLanesOf(const T* x, int64_t count) {
  const int64_t lanes = K::Lanes();
  const typename K::V first = K::Load(x);
  if (count < lanes) {
    const auto inside = hn::FirstN(typename K::D(), static_cast<size_t>(count));
    return hn::IfThenElse(inside, first, K::Worst());
  }
  typename K::V best = first;
  int64_t i = lanes;
  for (; i + lanes <= count; i += lanes) best = K::Better(best, K::Load(x + i));
  // The last vector overlaps others: to see an element again changes nothing.
  return i == count ? best : K::Better(best, K::Load(x + count - lanes));
}

// Improves the keys of as many rows as a vector has lanes. Each step halves what is left of a row,
// and puts what is left of two rows side by side.
template <class K, typename T>
HWY_INLINE void BestOfLaneRows(const T* x, int64_t count, int64_t pitch, typename K::Key* keys) {
  const typename K::D d;
  typename K::V best[hn::MaxLanes(typename K::D())];
  const int64_t lanes = K::Lanes();
  for (int64_t row = 0; row < lanes; ++row) best[row] = BestLanesOf<K>(x + row * pitch, count);
  for (int64_t rows = lanes / 2; rows > 0; rows /= 2) {
    for (int64_t i = 0; i < rows; ++i) {
      const typename K::V a = best[2 * i], b = best[2 * i + 1];
      best[i] = K::Better(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
    }
  }
  hn::StoreU(K::Better(best[0], hn::LoadU(d, keys)), d, keys);
}

#endif  // HWY_TARGET != HWY_SCALAR

template <typename T, Extreme kExtreme, bool kForIndex>
void BestOfRows(const T* x, int64_t count, int64_t pitch, int64_t rows,
                typename KeyOfType<T>::Key* keys) {
  using K = Keys<T, kExtreme, kForIndex>;
  int64_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  const int64_t lanes = K::Lanes();
  // A vector must not lead beyond the last row.
  const int64_t last = (rows - 1) * pitch - (count < lanes ? lanes - count : 0);
  for (; row + lanes <= rows && (row + lanes - 1) * pitch <= last; row += lanes) {
    BestOfLaneRows<K>(x + row * pitch, count, pitch, keys + row);
  }
#endif
  for (; row < rows; ++row) {
    keys[row] = K::Better(BestOfRow<T, kExtreme, kForIndex>(x + row * pitch, count), keys[row]);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
