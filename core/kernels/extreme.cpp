#include "core/kernels/extreme.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/extreme.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, Extreme kExtreme, bool kForIndex>
struct Keys {
  using Order = KeyOrder<T, kExtreme>;
  using Key = typename Order::Key;
  using D = hn::ScalableTag<Key>;
  using V = hn::Vec<D>;

  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
  static HWY_INLINE V Worst() { return hn::Set(D(), Order::kWorst); }

  // KeyOrder::ToKey, or ToIndexKey, of a vector of elements.
  static HWY_INLINE V Load(const T* x) {
    const D d;
    const V bits = hn::LoadU(d, reinterpret_cast<const Key*>(x));
    if constexpr (std::is_integral_v<T>) {
      return bits;
    } else {
      const V magnitude_mask = hn::Set(d, std::numeric_limits<Key>::max());
      const V magnitude = hn::And(bits, magnitude_mask);
      V key = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), magnitude_mask));
      if constexpr (kForIndex) {
        key = hn::IfThenZeroElse(hn::Eq(key, hn::Set(d, Order::kNegativeZero)), key);
      }
      return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, KeyOfType<T>::kInfinity)), Worst(), key);
    }
  }

  template <class Vector>
  static HWY_INLINE Vector Better(Vector a, Vector b) {
    return kExtreme == Extreme::kMax ? hn::Max(a, b) : hn::Min(a, b);
  }
  static HWY_INLINE hn::Mask<D> Beats(V a, V b) {
    return kExtreme == Extreme::kMax ? hn::Gt(a, b) : hn::Lt(a, b);
  }

#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE Key BestLane(V keys) {
    return hn::GetLane(keys);
  }
#else
  // By halves down to a vector of 16 bytes, which every instruction set has.
  template <class Vector>
  static HWY_INLINE Key BestLane(Vector keys) {
    const hn::DFromV<Vector> d;
    constexpr size_t kLanes = hn::MaxLanes(d);
    if constexpr (kLanes * sizeof(Key) > 16) {
      const hn::Half<hn::DFromV<Vector> > half;
      return BestLane(Better(hn::LowerHalf(half, keys), hn::UpperHalf(half, keys)));
    } else {
      HWY_ALIGN Key lanes[kLanes];
      hn::Store(keys, d, lanes);
      Key best = lanes[0];
      for (size_t i = 1; i < kLanes; ++i) best = Better(lanes[i], best);
      return best;
    }
  }
#endif

  static HWY_INLINE Key Scalar(T x) {
    return kForIndex ? Order::ToIndexKey(x) : Order::ToKey(x);
  }
  static HWY_INLINE Key Better(Key a, Key b) {
    return Order::Beats(a, b) ? a : b;
  }
};

template <typename T, Extreme kExtreme, bool kForIndex>
typename KeyOfType<T>::Key BestOfRow(const T* x, int64_t count) {
  using K = Keys<T, kExtreme, kForIndex>;
  using Key = typename K::Key;
  const int64_t lanes = K::Lanes();
  // Four at a time: each Max waits for the one before.
  typename K::V a = K::Worst(), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = K::Better(a, K::Load(x + i));
    b = K::Better(b, K::Load(x + i + lanes));
    c = K::Better(c, K::Load(x + i + 2 * lanes));
    e = K::Better(e, K::Load(x + i + 3 * lanes));
  }
  if (count < lanes) {
    Key best = K::Order::kWorst;
    for (; i < count; ++i) best = K::Better(K::Scalar(x[i]), best);
    return best;
  }
  // The last vector overlaps others: to see an element again changes nothing.
  for (; i < count; i += lanes) a = K::Better(a, K::Load(x + HWY_MIN(i, count - lanes)));
  return K::BestLane(K::Better(K::Better(a, b), K::Better(c, e)));
}

template <typename T, Extreme kExtreme>
int64_t FirstInRow(const T* x, int64_t count, typename KeyOfType<T>::Key key) {
  using K = Keys<T, kExtreme, true>;
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const int64_t lane = hn::FindFirstTrue(d, hn::Eq(K::Load(x + i), hn::Set(d, key)));
    if (lane >= 0) return i + lane;
  }
  while (i < count && K::Scalar(x[i]) != key) ++i;
  return i;
}

// All columns of a few rows at a time, so that the rows are read as streams: few enough for the
// cache to hold a line of each, and of the next ones, where the stride is a power of two.
constexpr int64_t kRowsAtATime = 4;
constexpr int64_t kVectorsAtATime = 4;

template <typename T>
struct Rows {
  const T* first;
  int64_t count;  // at most kRowsAtATime
  int64_t stride;
  bool more;  // as many follow
};

// Asks memory for these columns of the rows after these.
template <typename T>
HWY_INLINE void PrefetchNext(const Rows<T>& rows, int64_t row, int64_t c, int64_t columns) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const T* next = rows.first + (row + kRowsAtATime) * rows.stride + c;
  for (int64_t i = 0; i < columns; i += kLine) hwy::Prefetch(next + i);
}

template <typename T, Extreme kExtreme, int64_t kVectors>
HWY_INLINE void BestOfVectors(const Rows<T>& rows, int64_t c, typename KeyOfType<T>::Key* keys) {
  using K = Keys<T, kExtreme, false>;
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  typename K::V best[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) best[v] = hn::LoadU(d, keys + c + v * lanes);
  for (int64_t r = 0; r < rows.count; ++r) {
    const T* x = rows.first + r * rows.stride + c;
    if (rows.more) PrefetchNext(rows, r, c, kVectors * lanes);
    for (int64_t v = 0; v < kVectors; ++v) best[v] = K::Better(best[v], K::Load(x + v * lanes));
  }
  for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], d, keys + c + v * lanes);
}

template <typename T, Extreme kExtreme, int64_t kVectors>
HWY_INLINE void IndexOfVectors(const Rows<T>& rows, int64_t first_row, int64_t c,
                               typename KeyOfType<T>::Key* keys,
                               typename KeyOfType<T>::Key* rows_of_keys) {
  using K = Keys<T, kExtreme, true>;
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  typename K::V best[kVectors];
  typename K::V best_row[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    best[v] = hn::LoadU(d, keys + c + v * lanes);
    best_row[v] = hn::LoadU(d, rows_of_keys + c + v * lanes);
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    const T* x = rows.first + r * rows.stride + c;
    if (rows.more) PrefetchNext(rows, r, c, kVectors * lanes);
    const typename K::V row = hn::Set(d, static_cast<typename K::Key>(first_row + r));
    for (int64_t v = 0; v < kVectors; ++v) {
      const typename K::V key = K::Load(x + v * lanes);
      const auto beats = K::Beats(key, best[v]);
      best[v] = hn::IfThenElse(beats, key, best[v]);
      best_row[v] = hn::IfThenElse(beats, row, best_row[v]);
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) {
    hn::StoreU(best[v], d, keys + c + v * lanes);
    hn::StoreU(best_row[v], d, rows_of_keys + c + v * lanes);
  }
}

// Calls many(c) for kVectorsAtATime vectors of columns from c on, one(c) for a vector, and, where
// there is not even one vector, single(c) for a column. The last vector overlaps others: to see the
// same rows again changes nothing.
template <typename Many, typename One, typename Single>
HWY_INLINE void ForAllColumns(int64_t columns, int64_t lanes, Many&& many, One&& one,
                              Single&& single) {
  int64_t c = 0;
  for (; c + kVectorsAtATime * lanes <= columns; c += kVectorsAtATime * lanes) many(c);
  if (columns < lanes) {
    for (; c < columns; ++c) single(c);
    return;
  }
  for (; c < columns; c += lanes) one(HWY_MIN(c, columns - lanes));
}

// Calls body(rows, number of the first) for a few rows at a time.
template <typename T, typename Body>
HWY_INLINE void ForAllRows(const T* x, int64_t count, int64_t stride, Body&& body) {
  for (int64_t row = 0; row < count; row += kRowsAtATime) {
    body(Rows<T>{x + row * stride, HWY_MIN(kRowsAtATime, count - row), stride,
                 row + 2 * kRowsAtATime <= count},
         row);
  }
}

template <typename T, Extreme kExtreme>
void BestOfColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                   typename KeyOfType<T>::Key* keys) {
  using K = Keys<T, kExtreme, false>;
  ForAllRows(x, rows, row_stride, [&](const Rows<T>& few, int64_t) HWY_ATTR {
    ForAllColumns(
        columns, K::Lanes(),
        [&](int64_t c) HWY_ATTR { BestOfVectors<T, kExtreme, kVectorsAtATime>(few, c, keys); },
        [&](int64_t c) HWY_ATTR { BestOfVectors<T, kExtreme, 1>(few, c, keys); },
        [&](int64_t c) HWY_ATTR {
          for (int64_t r = 0; r < few.count; ++r) {
            keys[c] = K::Better(K::Scalar(few.first[r * few.stride + c]), keys[c]);
          }
        });
  });
}

template <typename T, Extreme kExtreme>
void IndexOfColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                    typename KeyOfType<T>::Key* keys, typename KeyOfType<T>::Key* rows_of_keys) {
  using K = Keys<T, kExtreme, true>;
  using Key = typename K::Key;
  ForAllRows(x, rows, row_stride, [&](const Rows<T>& few, int64_t row) HWY_ATTR {
    ForAllColumns(
        columns, K::Lanes(),
        [&](int64_t c) HWY_ATTR {
          IndexOfVectors<T, kExtreme, kVectorsAtATime>(few, row, c, keys, rows_of_keys);
        },
        [&](int64_t c)
            HWY_ATTR { IndexOfVectors<T, kExtreme, 1>(few, row, c, keys, rows_of_keys); },
        [&](int64_t c) HWY_ATTR {
          for (int64_t r = 0; r < few.count; ++r) {
            const Key key = K::Scalar(few.first[r * few.stride + c]);
            if (!K::Order::Beats(key, keys[c])) continue;
            keys[c] = key;
            rows_of_keys[c] = static_cast<Key>(row + r);
          }
        });
  });
}

template <typename T>
ExtremeKernels<T> MakeKernels() {
  return {{BestOfRow<T, Extreme::kMax, false>, BestOfColumns<T, Extreme::kMax>},
          {BestOfRow<T, Extreme::kMin, false>, BestOfColumns<T, Extreme::kMin>},
          {BestOfRow<T, Extreme::kMax, true>, FirstInRow<T, Extreme::kMax>,
           IndexOfColumns<T, Extreme::kMax>},
          {BestOfRow<T, Extreme::kMin, true>, FirstInRow<T, Extreme::kMin>,
           IndexOfColumns<T, Extreme::kMin>}};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
ExtremeKernels<T> ExtremeKernelsFor() {
  constexpr IsaForms<ExtremeKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)();
}

template ExtremeKernels<float> ExtremeKernelsFor();
template ExtremeKernels<Half> ExtremeKernelsFor();
template ExtremeKernels<int64_t> ExtremeKernelsFor();
template ExtremeKernels<uint64_t> ExtremeKernelsFor();
template ExtremeKernels<int32_t> ExtremeKernelsFor();
template ExtremeKernels<uint32_t> ExtremeKernelsFor();
template ExtremeKernels<int16_t> ExtremeKernelsFor();
template ExtremeKernels<uint16_t> ExtremeKernelsFor();
template ExtremeKernels<int8_t> ExtremeKernelsFor();
template ExtremeKernels<uint8_t> ExtremeKernelsFor();

}  // namespace dmlop

#endif  // HWY_ONCE
