// The best keys of rows, for kernel sources: included once for each instruction set, hence the
// unusual guard.
#if defined(DMLOP_KERNELS_MIN_MAX_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_MIN_MAX_ROWS_INL_H_
#undef DMLOP_KERNELS_MIN_MAX_ROWS_INL_H_
#else
#define DMLOP_KERNELS_MIN_MAX_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/ordered_keys-inl.h"
#include "core/kernels/row_streams-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class K>
typename K::Key BestOfRow(const typename K::Element* x, int64_t count, typename K::Key flipped) {
  using T = typename K::Element;
  const K keys(flipped);
  const int64_t lanes = K::Lanes();
  // Four at a time: each Max waits for the one before.
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
  // The last vector overlaps others: to see an element again changes nothing.
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

// The best keys of a row in as many lanes. Reads a whole vector where the row is shorter.
template <class K>
HWY_INLINE typename K::V BestLanesOf(const K& keys, const typename K::Element* x, int64_t count) {
  const int64_t lanes = K::Lanes();
  const typename K::V first = keys.Load(x);
  if (count < lanes) {
    const auto inside = hn::FirstN(typename K::D(), static_cast<size_t>(count));
    return hn::IfThenElse(inside, first, K::Least());
  }
  typename K::V best = first;
  int64_t i = lanes;
  for (; i + lanes <= count; i += lanes) best = hn::Max(best, keys.Load(x + i));
  // The last vector overlaps others: to see an element again changes nothing.
  return i == count ? best : hn::Max(best, keys.Load(x + count - lanes));
}

// Raises the keys of as many rows as a vector has lanes. Each step halves what is left of a row,
// and puts what is left of two rows side by side.
template <class K>
HWY_INLINE void BestOfLaneRows(const K& keys, const typename K::Element* x, int64_t count,
                               int64_t pitch, typename K::Key* best_keys) {
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
  // A vector must not lead beyond the last row.
  const int64_t last = (rows - 1) * pitch - (count < lanes ? lanes - count : 0);
  for (; row + lanes <= rows && (row + lanes - 1) * pitch <= last; row += lanes) {
    BestOfLaneRows(keys, x + row * pitch, count, pitch, best + row);
  }
#endif
  for (; row < rows; ++row) {
    best[row] = HWY_MAX(BestOfRow<K>(x + row * pitch, count, flipped), best[row]);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
