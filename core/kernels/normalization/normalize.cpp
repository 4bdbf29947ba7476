// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/normalization/normalize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/integers.h"
#include "core/kernels/normalization/blocks-inl.h"
#include "core/kernels/normalization/normalize.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Wide()));

// --- sums ----------------------------------------------------------------------------------------

// Sums that keep their rounding errors.
struct AccurateSums {
  BlockSums heads, tails;

  HWY_INLINE explicit AccurateSums(const BlockSums& sums) : heads(sums), tails(-0.0) {}
  HWY_INLINE void Add(size_t v, WideVec x) {
    const WideVec head = hn::Add(heads.parts[v], x);
    const WideVec x_part = hn::Sub(head, heads.parts[v]);
    const WideVec head_part = hn::Sub(head, x_part);
    const WideVec lost = hn::Add(hn::Sub(heads.parts[v], head_part), hn::Sub(x, x_part));
    heads.parts[v] = head;
    tails.parts[v] = hn::Add(tails.parts[v], lost);
  }

  HWY_INLINE HeadTail Total() const {
    HWY_ALIGN double head_lanes[kBlock];
    HWY_ALIGN double tail_lanes[kBlock];
    heads.Store(head_lanes);
    tails.Store(tail_lanes);
    HeadTail total{0, 0};
    double plain = 0;
    for (int64_t k = 0; k < kBlock; ++k) {
      const HeadTail next = TwoSum(total.head, head_lanes[k]);
      total = {next.head, total.tail + (next.tail + tail_lanes[k])};
      plain += head_lanes[k];
    }
    if (!std::isfinite(plain)) return {plain, 0};
    return FastTwoSum(total.head, total.tail);
  }
};

// The sum of a row at one position in blocks has less than two to this power of terms.
int BitsOfTerms(int64_t count) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(CeilDiv(count, kBlock))));
}

struct Shift {
  WideVec head, tail;

  HWY_INLINE explicit Shift(HeadTail mean)
      : head(hn::Set(Wide(), mean.head)), tail(hn::Set(Wide(), mean.tail)) {}
  HWY_INLINE WideVec Of(WideVec x) const { return hn::Sub(hn::Sub(x, head), tail); }
};

// Finds whether the sums of positions in blocks are exact: if all elements are multiples of a unit,
// and no sum can reach 2^53 of it. Few rows have such a range that they are not. In most, not even
// the sum of all can.
template <typename T>
class Range;

constexpr int kManyBits = 1 << 10;

template <>
class Range<float> {
  using Bits = hn::RebindToUnsigned<Floats>;

 public:
  HWY_INLINE Range() : greatest_(hn::Zero(Bits())), least_(hn::Set(Bits(), ~0u)) {}
  HWY_INLINE void Add(const float* block) {
    for (int64_t at = 0; at < kBlock; at += static_cast<int64_t>(hn::Lanes(Floats()))) {
      const auto bits = hn::BitCast(Bits(), hn::Abs(hn::LoadU(Floats(), block + at)));
      greatest_ = hn::Max(greatest_, bits);
      // A zero is a multiple of any unit; it becomes the greatest number here.
      least_ = hn::Min(least_, hn::Sub(bits, hn::Set(Bits(), 1)));
    }
  }
  // Returns how many bits the greatest element has as a multiple of the unit.
  HWY_INLINE int BitsOfElements() const {
    const uint32_t greatest = hn::GetLane(hn::MaxOfLanes(Bits(), greatest_));
    const uint32_t least = hn::GetLane(hn::MinOfLanes(Bits(), least_)) + 1;
    return greatest < 0x7F800000u ? ExponentOf(greatest) - ExponentOf(least) + 24 : kManyBits;
  }

 private:
  static int ExponentOf(uint32_t bits) { return std::max(1, static_cast<int>(bits >> 23)); }

  hn::Vec<Bits> greatest_, least_;
};

// FLOAT16 are multiples of 2^-24 below 2^16, unless they are infinite or NaN, as the sums then are.
template <>
class Range<Half> {
 public:
  HWY_INLINE void Add(const Half*) {}
  HWY_INLINE int BitsOfElements() const { return 40; }
};

template <typename T>
HWY_ATTR void Widen(const T* x, int64_t count, double* wide) {
  ForBlocks(x, count, T{}, [&](int64_t i, const T* block) HWY_ATTR {
    for (int64_t at = 0; at < kBlock; at += kLanes) {
      hn::StoreU(LoadWide(block + at), Wide(), wide + i + at);
    }
  });
}

template <typename T>
HWY_ATTR HeadTail SumOfRow(const T* x, int64_t count, double* wide) {
  BlockSums plain(-0.0);
  Range<T> range;
  ForBlocks(x, count, T{}, [&](int64_t i, const T* block) HWY_ATTR {
    PrefetchLine(x + count + i);
    range.Add(block);
    for (size_t v = 0; v < kBlockVectors; ++v) {
      const int64_t at = static_cast<int64_t>(v) * kLanes;
      const WideVec part = LoadWide(block + at);
      if (wide != nullptr) hn::StoreU(part, Wide(), wide + i + at);
      plain.parts[v] = hn::Add(plain.parts[v], part);
    }
  });
  const int bits = range.BitsOfElements();
  // Then the total is exact, too; a zero is positive.
  if (bits + BitsOfTerms(kBlock * count) <= 53) return {plain.Total() + 0.0, 0};
  AccurateSums sums(plain);
  if (bits + BitsOfTerms(count) > 53) {
    sums = AccurateSums(BlockSums(-0.0));
    ForBlocks(x, count, T{}, [&](int64_t, const T* block) HWY_ATTR {
      for (size_t v = 0; v < kBlockVectors; ++v) {
        sums.Add(v, LoadWide(block + static_cast<int64_t>(v) * kLanes));
      }
    });
  }
  return sums.Total();
}

template <typename T>
HWY_ATTR double SumOfMagnitudes(const T* x, int64_t count) {
  BlockSums sums(-0.0);
  ForBlocks(x, count, T{}, [&](int64_t, const T* block) HWY_ATTR {
    for (size_t v = 0; v < kBlockVectors; ++v) {
      const WideVec wide = LoadWide(block + static_cast<int64_t>(v) * kLanes);
      sums.parts[v] = hn::Add(sums.parts[v], hn::Abs(wide));
    }
  });
  return sums.Total();
}

// Zeroes the lanes beyond the end of the row, which lie in the padding of its last block.
HWY_INLINE WideVec OnlyFirst(int64_t count, int64_t i, size_t v, WideVec x) {
  if (HWY_LIKELY(i + kBlock <= count)) return x;
  const int64_t left = count - i - static_cast<int64_t>(v) * kLanes;
  const size_t lanes = static_cast<size_t>(std::clamp(left, int64_t{0}, kLanes));
  return hn::IfThenElseZero(hn::FirstN(Wide(), lanes), x);
}

template <typename T>
HWY_ATTR double SumOfSquares(const T* x, int64_t count, HeadTail mean) {
  const Shift shift(mean);
  BlockSums sums(-0.0);
  ForBlocks(x, count, T{}, [&](int64_t i, const T* block) HWY_ATTR {
    for (size_t v = 0; v < kBlockVectors; ++v) {
      const WideVec d = shift.Of(LoadWide(block + static_cast<int64_t>(v) * kLanes));
      sums.parts[v] = hn::Add(sums.parts[v], OnlyFirst(count, i, v, hn::Mul(d, d)));
    }
  });
  return sums.Total();
}

HWY_ATTR double TakeMean(double* wide, int64_t count, HeadTail mean, const std::byte* y,
                         int64_t width) {
  const Shift shift(mean);
  BlockSums sums(-0.0);
  ForPaddedBlocks(count, [&](int64_t i) HWY_ATTR {
    __builtin_prefetch(y + i * width, /*rw=*/1);
    for (size_t v = 0; v < kBlockVectors; ++v) {
      double* const to = wide + i + static_cast<int64_t>(v) * kLanes;
      const WideVec d = shift.Of(hn::LoadU(Wide(), to));
      hn::StoreU(d, Wide(), to);
      sums.parts[v] = hn::Add(sums.parts[v], OnlyFirst(count, i, v, hn::Mul(d, d)));
    }
  });
  return sums.Total();
}

template <typename T>
HWY_ATTR HeadTail SumOfProducts(const T* g, const T* x, int64_t count, HeadTail mean) {
  const Shift shift(mean);
  const BlockRow<T> row(x, count);
  AccurateSums sums(BlockSums(-0.0));
  ForBlocks(g, count, T{}, [&](int64_t i, const T* block) HWY_ATTR {
    const T* const other = row.At(i);
    for (size_t v = 0; v < kBlockVectors; ++v) {
      const int64_t at = static_cast<int64_t>(v) * kLanes;
      const WideVec product = hn::Mul(LoadWide(block + at), shift.Of(LoadWide(other + at)));
      sums.Add(v, OnlyFirst(count, i, v, product));
    }
  });
  return sums.Total();
}

// --- elements ------------------------------------------------------------------------------------

// One term for each element of a row, read by blocks.
template <typename T>
class TermRow {
 public:
  TermRow(RowTerm<T> term, int64_t count)
      : row_(term.varies ? term.elements : nullptr, count),
        one_(hn::Set(Wide(), term.elements != nullptr
                                 ? static_cast<double>(WidenElement(term.elements[0]))
                                 : 0.0)),
        is_there_(term.elements != nullptr),
        varies_(term.varies) {}

  bool is_there() const { return is_there_; }
  HWY_INLINE WideVec At(int64_t i, int64_t at) const {
    return varies_ ? LoadWide(row_.At(i) + at) : one_;
  }
  HWY_INLINE WideVec AddedTo(WideVec x, int64_t i, int64_t at) const {
    return is_there_ ? hn::Add(x, At(i, at)) : x;
  }

 private:
  BlockRow<T> row_;
  WideVec one_;
  bool is_there_;
  bool varies_;
};

template <typename T>
HWY_ATTR void Normalize(const T* x, int64_t count, HeadTail mean, double factor, RowTerm<T> scale,
                        RowTerm<T> bias, RowTerm<T> addend, T* y) {
  const Shift shift(mean);
  const WideVec plain_factor = hn::Set(Wide(), factor);
  const BlockRow<T> row(x, count);
  const TermRow<T> scales(scale, count);
  const TermRow<T> biases(bias, count);
  const TermRow<T> addends(addend, count);
  WriteBlocks(count, y, [&](int64_t i, T* block) HWY_ATTR {
    const T* const from = row.At(i);
    for (int64_t at = 0; at < kBlock; at += kLanes) {
      const WideVec own =
          scales.is_there() ? hn::Mul(scales.At(i, at), plain_factor) : plain_factor;
      const WideVec scaled = hn::Mul(shift.Of(LoadWide(from + at)), own);
      StoreRounded(addends.AddedTo(biases.AddedTo(scaled, i, at), i, at), block + at);
    }
  });
}

// A widened term, or as many copies of a number as a block has elements.
class WideTerm {
 public:
  // A term that is left out is `neutral`.
  WideTerm(RowTerm<double> term, double neutral)
      : row_(term.varies ? term.elements : copies_), step_(term.varies ? 1 : 0) {
    std::fill(std::begin(copies_), std::end(copies_),
              term.elements != nullptr ? *term.elements : neutral);
  }
  WideTerm(const WideTerm&) = delete;
  WideTerm& operator=(const WideTerm&) = delete;

  HWY_INLINE WideVec At(int64_t i, int64_t at) const {
    return hn::LoadU(Wide(), row_ + i * step_ + at);
  }

 private:
  double copies_[kBlock];
  const double* row_;
  int64_t step_;
};

template <typename T>
HWY_ATTR void EndWide(const double* wide, int64_t count, double factor, RowTerm<double> scale,
                      RowTerm<double> bias, T* y) {
  const WideVec factors = hn::Set(Wide(), factor);
  const WideTerm scales(scale, 1.0);
  const WideTerm biases(bias, -0.0);
  WriteBlocks(count, y, [&](int64_t i, T* block) HWY_ATTR {
    for (int64_t at = 0; at < kBlock; at += kLanes) {
      const WideVec own = hn::Mul(scales.At(i, at), factors);
      const WideVec scaled = hn::Mul(hn::LoadU(Wide(), wide + i + at), own);
      StoreRounded(hn::Add(scaled, biases.At(i, at)), block + at);
    }
  });
}

template <typename T>
HWY_ATTR void Scale(const T* x, int64_t count, RowTerm<T> mean, const double* factors,
                    RowTerm<T> bias, T* y) {
  const BlockRow<T> row(x, count);
  const BlockRow<double> factor_row(factors, count);
  const TermRow<T> means(mean, count);
  const TermRow<T> biases(bias, count);
  WriteBlocks(count, y, [&](int64_t i, T* block) HWY_ATTR {
    const T* const from = row.At(i);
    const double* const own = factor_row.At(i);
    for (int64_t at = 0; at < kBlock; at += kLanes) {
      const WideVec d = hn::Sub(LoadWide(from + at), means.At(i, at));
      const WideVec scaled = hn::Mul(d, hn::LoadU(Wide(), own + at));
      StoreRounded(biases.AddedTo(scaled, i, at), block + at);
    }
  });
}

template <typename T>
HWY_ATTR void TakeSlope(const T* g, const T* x, int64_t count, HeadTail g_mean, HeadTail x_mean,
                        double slope, double factor, T* y) {
  const Shift g_shift(g_mean);
  const Shift x_shift(x_mean);
  const BlockRow<T> g_row(g, count);
  const BlockRow<T> x_row(x, count);
  WriteBlocks(count, y, [&](int64_t i, T* block) HWY_ATTR {
    for (int64_t at = 0; at < kBlock; at += kLanes) {
      const WideVec along = hn::Mul(x_shift.Of(LoadWide(x_row.At(i) + at)), hn::Set(Wide(), slope));
      const WideVec rest = hn::Sub(g_shift.Of(LoadWide(g_row.At(i) + at)), along);
      StoreRounded(hn::Mul(rest, hn::Set(Wide(), factor)), block + at);
    }
  });
}

template <typename T>
const NormalizeKernels<T>& NormalizeTable() {
  static constexpr NormalizeKernels<T> kKernels = {
      Widen<T>,         SumOfRow<T>,  SumOfMagnitudes<T>, SumOfSquares<T>, TakeMean,
      SumOfProducts<T>, Normalize<T>, EndWide<T>,         Scale<T>,        TakeSlope<T>};
  return kKernels;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
const NormalizeKernels<T>& NormalizeKernelsFor() {
  static constexpr IsaForms<const NormalizeKernels<T>&()> kTables =
      DMLOP_ISA_FORMS(NormalizeTable<T>);
  return Choose(kTables)();
}

template const NormalizeKernels<float>& NormalizeKernelsFor<float>();
template const NormalizeKernels<Half>& NormalizeKernelsFor<Half>();

}  // namespace dmlop
#endif
