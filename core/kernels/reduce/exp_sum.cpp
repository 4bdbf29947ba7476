// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/exp_sum.h"

#include <cmath>

#include "core/exact/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/exp_sum.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <iterator>

#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/reduce/powers_of_two.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// AddExp(x, sum) is sum + e^x / ExpUnit for x <= ExpSums::kHeadroom. The exponential is nearly 0
// for x far below 0, -infinity included, and NaN for NaN. In binary64 it is within 2^-37 of the
// result; in binary32 within 2^-20.7, besides the rounding of the sum, unless it is too small to
// affect sums of 1 and more. For a larger x, it is only known to exceed kMostOfTerms, or to be
// infinite or NaN.

// If a sum of terms does not exceed this, no x was too large. It is less than e^kHeadroom.
constexpr double kMostOfTerms = 0x1p23;

#if HWY_TARGET <= HWY_AVX3

constexpr double ExpUnit(Wide) {
  return 1;
}
constexpr double ExpUnit(Floats) {
  return 1;
}

// e^x is 2^k * e^r, where k is x / ln 2 rounded to 16ths: the fraction of k selects one of 16
// powers of 2, and its integer part is an exponent. e^r is 1 + r * p(r), where p interpolates (e^r
// - 1) / r at Chebyshev nodes for |r| <= ln 2 / 32, within 2^-38.5 in binary64 and 2^-21.1 in
// binary32.
HWY_INLINE WideVec AddExp(WideVec x, WideVec sum) {
  const Wide d;
  constexpr double kCoefficients[] = {0x1.55570aa7f019ep-5, 0x1.5557e551b58ccp-3,
                                      0x1.fffffffe5bc5fp-2, 0x1.fffffffb1350ap-1, 1.0};
  // If either operand is NaN, the result is the second one.
  const WideVec clamped{_mm512_max_pd(hn::Set(d, -700.0).raw, x.raw)};
  // Adding this leaves the fraction of k in the lowest bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p48);
  const WideVec shifted = hn::MulAdd(clamped, hn::Set(d, 0x1.71547652b82fep0), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  const WideVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), clamped);
  const __m512d fraction =
      _mm512_permutex2var_pd(_mm512_load_pd(kPowersOfTwo.data()), _mm512_castpd_si512(shifted.raw),
                             _mm512_load_pd(kPowersOfTwo.data() + 8));
  const WideVec power{_mm512_scalef_pd(fraction, k.raw)};
  WideVec rest = hn::Set(d, kCoefficients[0]);
  for (size_t i = 1; i < std::size(kCoefficients); ++i) {
    rest = hn::MulAdd(rest, r, hn::Set(d, kCoefficients[i]));
  }
  return hn::MulAdd(power, rest, sum);
}

HWY_INLINE FloatVec AddExp(FloatVec x, FloatVec sum) {
  const Floats d;
  alignas(64) static constexpr float kPowers[] = {
      0x1.000000p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
      0x1.306fe0p+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
      0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
      0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
  const FloatVec clamped{_mm512_max_ps(hn::Set(d, -87.0f).raw, x.raw)};
  const FloatVec shifter = hn::Set(d, 0x1.8p19f);
  const FloatVec shifted = hn::MulAdd(clamped, hn::Set(d, 0x1.715476p0f), shifter);
  const FloatVec k = hn::Sub(shifted, shifter);
  const FloatVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e43p-1f), clamped);  // within 2^-24
  const __m512 fraction =
      _mm512_permutexvar_ps(_mm512_castps_si512(shifted.raw), _mm512_load_ps(kPowers));
  const FloatVec power{_mm512_scalef_ps(fraction, k.raw)};
  const FloatVec rest = hn::MulAdd(
      hn::MulAdd(hn::Set(d, 0x1.0001ecp-1f), r, hn::Set(d, 0x1.0003d8p+0f)), r, hn::Set(d, 1.0f));
  return hn::MulAdd(power, rest, sum);
}

#else

// Clamps x to [least, most]; NaN stays NaN.
template <typename V>
HWY_INLINE V Limit(V x, V least, V most) {
#if HWY_TARGET == HWY_AVX2
  // If either operand is NaN, the result is the second one.
  return hn::Min(most, hn::Max(least, x));
#else
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
  return hn::IfThenElse(hn::Gt(x, most), most, x);
#endif
}

// e^x is 2^k * e^r, where k is x / ln 2 rounded. The polynomial that interpolates e^r at Chebyshev
// nodes for |r| <= ln 2 / 2 is the product of its leading coefficient, which is ExpUnit, and of
// monic factors that are evaluated in parallel.

// The degree is 8: four factors with two conjugate zeros each, within 2^-39.7.
constexpr double ExpUnit(Wide) {
  return 0x1.a15a600528a0fp-16;
}

HWY_INLINE WideVec AddExp(WideVec x, WideVec sum) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> bits;
  x = Limit(x, hn::Set(d, -700.0), hn::Set(d, 40.0));
  // Adding 1.5 * 2^52 leaves k in the low bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p52);
  const WideVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep0), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  const WideVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), x);  // within 2^-42
  const auto factor = [&](double slope, double constant) HWY_ATTR {
    return hn::MulAdd(hn::Add(r, hn::Set(d, slope)), r, hn::Set(d, constant));
  };
  const WideVec left = hn::Mul(factor(0x1.7c4ac8a39e32dp+2, 0x1.2f44d8a91c095p+3),
                               factor(-0x1.05c755baa5184p+2, 0x1.a65bbd34a2cabp+4));
  const WideVec right = hn::Mul(factor(0x1.2516109380326p+2, 0x1.5bafbd1c84c5bp+3),
                                factor(0x1.932381014506ep+0, 0x1.d93faaf566b35p+3));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(bits, shifted));
  const WideVec power = hn::BitCast(d, hn::Add(hn::BitCast(bits, left), exponent));
  return hn::MulAdd(power, right, sum);
}

// The degree is 5: a factor with three zeros and one with two, within 2^-23.2, and with rounding
// 2^-21.7.
constexpr double ExpUnit(Floats) {
  return 0x1.123d90f1a67d6p-7;
}

HWY_INLINE FloatVec AddExp(FloatVec x, FloatVec sum) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> bits;
  x = Limit(x, hn::Set(d, -87.0f), hn::Set(d, 40.0f));
  const FloatVec shifter = hn::Set(d, 0x1.8p23f);
  const FloatVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0f), shifter);
  const FloatVec k = hn::Sub(shifted, shifter);
  // ln 2 has two parts; the product with the first, of 15 bits, is exact.
  FloatVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(k, hn::Set(d, 0x1.7f7d1cp-20f), r);
  const FloatVec left =
      hn::MulAdd(hn::MulAdd(hn::Add(r, hn::Set(d, 0x1.5fe372p2f)), r, hn::Set(d, 0x1.9a3b72p3f)), r,
                 hn::Set(d, 0x1.86af3cp3f));
  const FloatVec right =
      hn::MulAdd(hn::Add(r, hn::Set(d, -0x1.f56ec6p-2f)), r, hn::Set(d, 0x1.392dbcp3f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, shifted));
  const FloatVec power = hn::BitCast(d, hn::Add(hn::BitCast(bits, left), exponent));
  return hn::MulAdd(power, right, sum);
}

#endif

// Moves one group's sum to a new maximum, unless the old one is larger.
HWY_INLINE void Rebase(float max, const ExpSums& sums) {
  if (!(max > *sums.max)) return;
  if (*sums.sum != 0) *sums.sum *= Exp(static_cast<double>(*sums.max) - max);
  *sums.max = max;
}

// Returns the largest of at least one element; any of them if one is NaN.
template <typename T>
HWY_INLINE float MaxOf(const T* x, int64_t count) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Four chains hide the latency of each maximum.
  FloatVec max[4];
  for (FloatVec& vector : max) vector = hn::Set(d, -INFINITY);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (int64_t k = 0; k < 4; ++k) max[k] = hn::Max(max[k], LoadFloats(d, x + i + k * lanes));
  }
  for (; i + lanes <= count; i += lanes) max[0] = hn::Max(max[0], LoadFloats(d, x + i));
  if (i < count) {
    const bool is_long = count >= lanes;  // seeing some elements twice is cheaper
    const FloatVec last = is_long ? LoadFloats(d, x + count - lanes) : LoadRest(d, x, count);
    max[1] = hn::Max(max[1], last);
  }
  const FloatVec most = hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// Prefetch distance in elements: computing takes longer than the hardware prefetcher looks ahead.
template <typename T>
constexpr int64_t kAhead = (1 << 12) / static_cast<int64_t>(sizeof(T));

// Returns the sum of e^(x - max) over adjacent elements.
template <typename T>
HWY_INLINE double SumOfRow(const T* x, int64_t count, float max_of_row) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideVec max = hn::Set(d, static_cast<double>(max_of_row));
  // Two chains hide the latency of a long polynomial.
  WideVec even = hn::Zero(d);
  WideVec odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    if (i % kLine<T> == 0) hwy::Prefetch(x + i + kAhead<T>);
    even = AddExp(hn::Sub(LoadWide(x + i), max), even);
    odd = AddExp(hn::Sub(LoadWide(x + i + lanes), max), odd);
  }
  for (; i < count; i += lanes) {
    const WideVec last = i + lanes <= count
                             ? LoadWide(x + i)
                             : hn::PromoteTo(d, LoadRest(Narrow(), x + i, count - i));
    even = AddExp(hn::Sub(last, max), even);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))) * ExpUnit(d);
}

#if HWY_TARGET != HWY_SCALAR
// FLOAT16 is computed in binary32, twice as many lanes at a time. This many terms are added up
// before they are widened.
constexpr int64_t kNarrowTerms = 8;

HWY_INLINE double SumOfRow(const Half* x, int64_t count, float max_of_row) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const FloatVec max = hn::Set(d, max_of_row);
  WideFloats sum{hn::Zero(Wide()), hn::Zero(Wide())};
  const auto add = [&](FloatVec terms) HWY_ATTR {
    const WideFloats wide = WidenFloats(terms);
    sum.low = hn::Add(sum.low, wide.low);
    sum.high = hn::Add(sum.high, wide.high);
  };
  const int64_t some = kNarrowTerms * lanes;
  int64_t i = 0;
  for (; i + some <= count; i += some) {
    FloatVec terms = hn::Zero(d);
    for (int64_t k = i; k < i + some; k += lanes) {
      if (k % kLine<Half> == 0) hwy::Prefetch(x + k + kAhead<Half>);
      terms = AddExp(hn::Sub(LoadFloats(d, x + k), max), terms);
    }
    add(terms);
  }
  for (; i < count; i += lanes) {
    const FloatVec last = i + lanes <= count ? LoadFloats(d, x + i) : LoadRest(d, x + i, count - i);
    add(AddExp(hn::Sub(last, max), hn::Zero(d)));
  }
  return hn::GetLane(hn::SumOfLanes(Wide(), hn::Add(sum.low, sum.high))) * ExpUnit(d);
}
#endif

// Takes a piece at a time, which is still in the first-level cache if the maximum so far turns out
// to be too small. The first elements give the initial maximum.
constexpr int64_t kPiece = 2048;
constexpr int64_t kFirstElements = 256;

template <typename T>
void AddRow(const T* x, int64_t count, const ExpSums& sums) {
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const T* piece = x + begin;
    const int64_t size = HWY_MIN(kPiece, count - begin);
    if (*sums.max == ExpSums::kStartMax) {
      Rebase(MaxOf(piece, HWY_MIN(size, kFirstElements)), sums);
    }
    double sum = SumOfRow(piece, size, *sums.max);
    if (!(sum <= kMostOfTerms)) {
      Rebase(MaxOf(piece, size), sums);
      sum = SumOfRow(piece, size, *sums.max);
    }
    *sums.sum += sum;
  }
}

// The type of a vector of columns, and the number of FLOAT64 vectors for their sums.
template <typename T>
struct ColumnsOf {
  using D = Narrow;
  static constexpr int64_t kSums = 1;
};
#if HWY_TARGET != HWY_SCALAR
template <>
struct ColumnsOf<Half> {
  using D = Floats;
  static constexpr int64_t kSums = 2;
};
#endif

template <typename T>
HWY_INLINE int64_t ColumnsPerVector() {
  return static_cast<int64_t>(hn::Lanes(typename ColumnsOf<T>::D()));
}

// Moves the sums of a vector of columns to the maxima of some rows.
template <typename T>
HWY_INLINE void RebaseColumns(const FewRows<T>& rows, const ExpSums& sums) {
  const typename ColumnsOf<T>::D d;
  auto highest = LoadFloats(d, rows.first);
  for (int64_t row = 1; row < rows.count; ++row) {
    highest = hn::Max(highest, LoadFloats(d, rows.first + row * rows.stride));
  }
  HWY_ALIGN float maxima[hn::MaxLanes(d)];
  hn::Store(highest, d, maxima);
  for (size_t i = 0; i < hn::Lanes(d); ++i) Rebase(maxima[i], sums.From(static_cast<int64_t>(i)));
}

// Computes the sums of e^(x - max) over at most kFewRows rows. kVectors vectors take turns, since
// each sum waits for its last term.
template <int64_t kVectors, typename T>
HWY_INLINE void SumRows(const T* x, int64_t rows, int64_t row_stride, const float* max,
                        WideVec* sums) {
  const Wide d;
  const int64_t lanes = ColumnsPerVector<T>();
  WideVec maxima[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    maxima[v] = LoadWide(max + v * lanes);
    sums[v] = hn::Zero(d);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t v = 0; v < kVectors; ++v) {
      sums[v] = AddExp(hn::Sub(LoadWide(x + row * row_stride + v * lanes), maxima[v]), sums[v]);
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) sums[v] = hn::Mul(sums[v], hn::Set(d, ExpUnit(d)));
}

#if HWY_TARGET != HWY_SCALAR
template <int64_t kVectors>
HWY_INLINE void SumRows(const Half* x, int64_t rows, int64_t row_stride, const float* max,
                        WideVec* sums) {
  static_assert(kFewRows <= kNarrowTerms);
  const Floats d;
  const int64_t lanes = ColumnsPerVector<Half>();
  FloatVec maxima[kVectors], terms[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    maxima[v] = hn::LoadU(d, max + v * lanes);
    terms[v] = hn::Zero(d);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t v = 0; v < kVectors; ++v) {
      terms[v] =
          AddExp(hn::Sub(LoadFloats(d, x + row * row_stride + v * lanes), maxima[v]), terms[v]);
    }
  }
  const WideVec unit = hn::Set(Wide(), ExpUnit(d));
  for (int64_t v = 0; v < kVectors; ++v) {
    const WideFloats wide = WidenFloats(terms[v]);
    sums[2 * v] = hn::Mul(wide.low, unit);
    sums[2 * v + 1] = hn::Mul(wide.high, unit);
  }
}
#endif

// Tells for which sums of terms the maxima were large enough; false for NaN.
HWY_INLINE hn::Mask<Wide> HasRoom(WideVec terms) {
  return hn::Le(terms, hn::Set(Wide(), kMostOfTerms));
}

// Number of columns whose terms are added up before any of their sums is checked.
constexpr int64_t kPieceColumns = 256;

template <typename T>
HWY_NOINLINE void RebasePiece(const FewRows<T>& rows, int64_t columns, const ExpSums& sums) {
  for (int64_t c = 0; c < columns; c += ColumnsPerVector<T>()) {
    RebaseColumns(rows.From(c), sums.From(c));
  }
}

// Computes the sums of e^(x - max) over some rows of a piece whose columns fill vectors. Returns
// whether all have room. Not inlined: without calls, constants stay in registers.
template <typename T>
HWY_NOINLINE bool SumPiece(const FewRows<T>& rows, int64_t columns, const float* max,
                           NextRows<T>& next, double* terms) {
  const Wide d;
  const int64_t lanes = ColumnsPerVector<T>();
  auto room = HasRoom(hn::Zero(d));
  const auto sum_vectors = [&](auto vectors, int64_t c) HWY_ATTR {
    constexpr int64_t kVectors = decltype(vectors)::value;
    next.Prefetch(kVectors * lanes);
    WideVec sums[kVectors * ColumnsOf<T>::kSums];
    SumRows<kVectors>(rows.first + c, rows.count, rows.stride, max + c, sums);
    for (const WideVec sum : sums) {
      room = hn::And(room, HasRoom(sum));
      hn::Store(sum, d, terms);
      terms += hn::Lanes(d);
    }
  };
  const std::integral_constant<int64_t, 1> one;
  const std::integral_constant<int64_t, 2> two;
  int64_t c = 0;
  for (; c + 2 * lanes <= columns; c += 2 * lanes) sum_vectors(two, c);
  if (c < columns) sum_vectors(one, c);
  return hn::AllTrue(d, room);
}

// Moves the sums of the columns without room to new maxima, and adds up their terms again.
template <typename T>
HWY_NOINLINE void MakeRoom(const FewRows<T>& rows, int64_t columns, const ExpSums& sums,
                           double* terms) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = ColumnsPerVector<T>();
  for (int64_t c = 0; c < columns; c += step) {
    bool all = true;
    for (int64_t i = c; i < c + step; i += lanes) {
      all = all && hn::AllTrue(d, HasRoom(hn::Load(d, terms + i)));
    }
    if (all) continue;
    RebaseColumns(rows.From(c), sums.From(c));
    WideVec again[ColumnsOf<T>::kSums];
    SumRows<1>(rows.first + c, rows.count, rows.stride, sums.max + c, again);
    for (int64_t i = 0; i < step; i += lanes) hn::Store(again[i / lanes], d, terms + c + i);
  }
}

template <typename T>
HWY_INLINE void AddPiece(const FewRows<T>& rows, int64_t columns, NextRows<T>& next,
                         const ExpSums& sums) {
  // Adjacent groups mostly begin together; if not, one of them has no room.
  if (*sums.max == ExpSums::kStartMax) RebasePiece(rows, columns, sums);
  HWY_ALIGN double terms[kPieceColumns];
  if (!SumPiece(rows, columns, sums.max, next, terms)) MakeRoom(rows, columns, sums, terms);
  for (int64_t c = 0; c < columns; ++c) sums.sum[c] += terms[c];
}

template <typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const ExpSums& sums) {
  const int64_t lanes = ColumnsPerVector<T>();
  const int64_t whole = columns / lanes * lanes;
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    for (int64_t c = 0; c < whole; c += kPieceColumns) {
      AddPiece(few.From(c), HWY_MIN(kPieceColumns, whole - c), next, sums.From(c));
    }
    for (int64_t c = whole; c < columns; ++c) {
      T column[kFewRows];
      few.From(c).Pack(column);
      AddRow(column, few.count, sums.From(c));
    }
  });
}

template <typename T>
ExpSumKernels<T> MakeKernels() {
  return {AddRow<T>, AddColumns<T>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
ExpSumKernels<T> ExpSumKernelsFor() {
  return DMLOP_CHOOSE(MakeKernels<T>)();
}

template ExpSumKernels<float> ExpSumKernelsFor();
template ExpSumKernels<Half> ExpSumKernelsFor();

}  // namespace dmlop
#endif
