#include "core/kernels/extreme.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/extreme.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
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

  static HWY_INLINE V Better(V a, V b) {
    return kExtreme == Extreme::kMax ? hn::Max(a, b) : hn::Min(a, b);
  }
  static HWY_INLINE hn::Mask<D> Beats(V a, V b) {
    return kExtreme == Extreme::kMax ? hn::Gt(a, b) : hn::Lt(a, b);
  }

  static HWY_INLINE Key Scalar(T x) { return kForIndex ? Order::ToIndexKey(x) : Order::ToKey(x); }
  static HWY_INLINE Key Better(Key a, Key b) { return Order::Beats(a, b) ? a : b; }
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
  for (; i + lanes <= count; i += lanes) a = K::Better(a, K::Load(x + i));
  HWY_ALIGN Key keys[hn::MaxLanes(typename K::D())];
  hn::Store(K::Better(K::Better(a, b), K::Better(c, e)), typename K::D(), keys);
  Key best = K::Order::kWorst;
  for (int64_t lane = 0; lane < lanes; ++lane) best = K::Better(keys[lane], best);
  for (; i < count; ++i) best = K::Better(K::Scalar(x[i]), best);
  return best;
}

// All columns of a few rows at a time, so that the rows are read as streams.
constexpr int64_t kRowsAtATime = 8;

template <typename T, Extreme kExtreme>
void BestOfColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                   typename KeyOfType<T>::Key* keys) {
  using K = Keys<T, kExtreme, false>;
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  for (int64_t row = 0; row < rows; row += kRowsAtATime) {
    const int64_t end = HWY_MIN(rows, row + kRowsAtATime);
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      typename K::V best = hn::LoadU(d, keys + c);
      for (int64_t r = row; r < end; ++r) best = K::Better(best, K::Load(x + r * row_stride + c));
      hn::StoreU(best, d, keys + c);
    }
    for (; c < columns; ++c) {
      for (int64_t r = row; r < end; ++r) {
        keys[c] = K::Better(K::Scalar(x[r * row_stride + c]), keys[c]);
      }
    }
  }
}

template <typename T, Extreme kExtreme>
void IndexOfColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                    typename KeyOfType<T>::Key* keys, typename KeyOfType<T>::Key* rows_of_keys) {
  using K = Keys<T, kExtreme, true>;
  using Key = typename K::Key;
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  for (int64_t row = 0; row < rows; row += kRowsAtATime) {
    const int64_t end = HWY_MIN(rows, row + kRowsAtATime);
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      typename K::V best = hn::LoadU(d, keys + c);
      typename K::V best_row = hn::LoadU(d, rows_of_keys + c);
      for (int64_t r = row; r < end; ++r) {
        const typename K::V key = K::Load(x + r * row_stride + c);
        const auto beats = K::Beats(key, best);
        best = hn::IfThenElse(beats, key, best);
        best_row = hn::IfThenElse(beats, hn::Set(d, static_cast<Key>(r)), best_row);
      }
      hn::StoreU(best, d, keys + c);
      hn::StoreU(best_row, d, rows_of_keys + c);
    }
    for (; c < columns; ++c) {
      for (int64_t r = row; r < end; ++r) {
        const Key key = K::Scalar(x[r * row_stride + c]);
        if (!K::Order::Beats(key, keys[c])) continue;
        keys[c] = key;
        rows_of_keys[c] = static_cast<Key>(r);
      }
    }
  }
}

template <typename T>
ExtremeKernels<T> MakeKernels() {
  return {{BestOfRow<T, Extreme::kMax, false>, BestOfColumns<T, Extreme::kMax>},
          {BestOfRow<T, Extreme::kMin, false>, BestOfColumns<T, Extreme::kMin>},
          {BestOfRow<T, Extreme::kMax, true>, IndexOfColumns<T, Extreme::kMax>},
          {BestOfRow<T, Extreme::kMin, true>, IndexOfColumns<T, Extreme::kMin>}};
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
