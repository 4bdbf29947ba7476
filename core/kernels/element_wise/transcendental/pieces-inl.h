// SPDX-License-Identifier: Apache-2.0
// Arithmetic with pairs of FLOAT32, which have about 48 bits in lanes half as wide as those of
// FLOAT64; and functions in 32 pieces, each a polynomial of its own, whose tables the compiler
// computes.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using Bits = hn::RebindToSigned<D>;

// The sum of two numbers, the second of which is small beside the first.
template <class D>
struct Pair {
  hn::Vec<D> head, tail;
};

// Returns a + b exactly if |a| >= |b|, or if a is 0 or a multiple of b's last place.
template <class V, class D = hn::DFromV<V>>
HWY_INLINE Pair<D> SumOf(V a, V b) {
  const V sum = hn::Add(a, b);
  return {sum, hn::Sub(b, hn::Sub(sum, a))};
}

// Returns a + b, whichever is larger, exactly.
template <class V, class D = hn::DFromV<V>>
HWY_INLINE Pair<D> SumOfAny(V a, V b) {
  const V sum = hn::Add(a, b);
  const V other = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, other)), hn::Sub(b, other))};
}

template <class D>
HWY_INLINE Pair<D> PlusTail(Pair<D> a, hn::Vec<D> tail) {
  return {a.head, hn::Add(a.tail, tail)};
}

// Makes the tail as small beside the head as a rounding error.
template <class D>
HWY_INLINE Pair<D> Normalized(Pair<D> a) {
  return SumOf(a.head, a.tail);
}

// Multiplies by a power of two.
template <class D>
HWY_INLINE Pair<D> Scaled(Pair<D> a, hn::Vec<D> power) {
  return {hn::Mul(a.head, power), hn::Mul(a.tail, power)};
}

template <class D, class M>
HWY_INLINE Pair<D> IfThenElse(M mask, Pair<D> yes, Pair<D> no) {
  return {hn::IfThenElse(mask, yes.head, no.head), hn::IfThenElse(mask, yes.tail, no.tail)};
}

// Returns a * b exactly.
template <class V, class D = hn::DFromV<V>>
HWY_INLINE Pair<D> ProductOf(V a, V b) {
  const V product = hn::Mul(a, b);
  return {product, hn::MulSub(a, b, product)};
}

// Returns a * b within 2^-45, for normalized pairs.
template <class D>
HWY_INLINE Pair<D> ProductOf(Pair<D> a, Pair<D> b) {
  const Pair<D> heads = ProductOf(a.head, b.head);
  return PlusTail(heads, hn::MulAdd(a.head, b.tail, hn::Mul(a.tail, b.head)));
}

// Returns 1 / x within 2^-22.
template <class D>
HWY_INLINE hn::Vec<D> InverseOf(D d, hn::Vec<D> x) {
  const auto guess = hn::ApproximateReciprocal(x);
  return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(d, 1.0F)), guess);
}

// Returns a / b within 2^-43, for normalized pairs.
template <class D>
HWY_INLINE Pair<D> QuotientOf(D d, Pair<D> a, Pair<D> b) {
  const auto inverse = InverseOf(d, b.head);
  const auto quotient = hn::Mul(a.head, inverse);
  const auto rest = hn::Add(hn::NegMulAdd(quotient, b.head, a.head), a.tail);
  return {quotient, hn::Mul(hn::NegMulAdd(quotient, b.tail, rest), inverse)};
}

// Computes first + x * (second + x * ...).
template <class D>
HWY_INLINE hn::Vec<D> Horner(D d, hn::Vec<D>, float only) {
  return hn::Set(d, only);
}
template <class D, typename... Floats>
HWY_INLINE hn::Vec<D> Horner(D d, hn::Vec<D> x, float first, Floats... others) {
  return hn::MulAdd(Horner(d, x, others...), x, hn::Set(d, first));
}

// --- tables --------------------------------------------------------------------------------------

// A table has as many entries as a vector has lanes, so that an instruction looks all of them up.
template <size_t kEntries>
struct PairTable {
  float heads[kEntries], tails[kEntries];
};

// Takes kEntries of 16 values, from the first on.
template <size_t kEntries>
constexpr PairTable<kEntries> EntriesOf(const double (&values)[16]) {
  PairTable<kEntries> table{};
  for (size_t i = 0; i < kEntries; ++i) {
    const double value = values[i * (16 / kEntries)];
    table.heads[i] = static_cast<float>(value);
    table.tails[i] = static_cast<float>(value - static_cast<double>(table.heads[i]));
  }
  return table;
}

// The low bits of `index` choose an entry.
template <class D>
HWY_INLINE hn::Vec<D> Entry(D d, const float* entries, hn::Vec<Bits<D>> index) {
  const auto low = hn::And(index, hn::Set(Bits<D>(), static_cast<int32_t>(hn::MaxLanes(d)) - 1));
  return hn::TableLookupLanes(hn::LoadU(d, entries), hn::IndicesFromVec(d, low));
}
template <class D, size_t kEntries>
HWY_INLINE Pair<D> Entry(D d, const PairTable<kEntries>& table, hn::Vec<Bits<D>> index) {
  return {Entry(d, table.heads, index), Entry(d, table.tails, index)};
}

// Tables of 32 numbers; AVX-512 looks all of them up at once, and AVX2 eight.
using LongTable = float[32];

struct LongPairTable {
  LongTable heads, tails;

  constexpr void Set(int i, double value) {
    heads[i] = static_cast<float>(value);
    tails[i] = static_cast<float>(value - static_cast<double>(heads[i]));
  }
};

// Looks up in long tables, where the low five bits of `index` choose an entry. For AVX-512 and
// AVX2.
template <class D>
class LongEntry {
 public:
  HWY_INLINE LongEntry(D d, hn::Vec<Bits<D>> index)
      : index_(index),
        bit3_(hn::BitCast(d, hn::ShiftLeft<28>(index))),
        bit4_(hn::BitCast(d, hn::ShiftLeft<27>(index))) {}

  HWY_INLINE hn::Vec<D> operator()(D d, const LongTable& table) const {
#if HWY_TARGET == HWY_AVX3
    return hn::Vec<D>{
        _mm512_permutex2var_ps(hn::LoadU(d, table).raw, index_.raw, hn::LoadU(d, table + 16).raw)};
#else
    const auto low = Either(bit3_, Eighth(d, table + 8), Eighth(d, table));
    const auto high = Either(bit3_, Eighth(d, table + 24), Eighth(d, table + 16));
    return Either(bit4_, high, low);
#endif
  }
  HWY_INLINE Pair<D> operator()(D d, const LongPairTable& table) const {
    return {(*this)(d, table.heads), (*this)(d, table.tails)};
  }

 private:
#if HWY_TARGET != HWY_AVX3
  HWY_INLINE hn::Vec<D> Eighth(D d, const float* entries) const {
    return hn::Vec<D>{_mm256_permutevar8x32_ps(hn::LoadU(d, entries).raw, index_.raw)};
  }
  // The signs choose.
  static HWY_INLINE hn::Vec<D> Either(hn::Vec<D> signs, hn::Vec<D> yes, hn::Vec<D> no) {
    return hn::Vec<D>{_mm256_blendv_ps(no.raw, yes.raw, signs.raw)};
  }
#endif

  hn::Vec<Bits<D>> index_;
  hn::Vec<D> bit3_, bit4_;
};

// --- rounding ------------------------------------------------------------------------------------

// A result rounded to FLOAT32, and where its error cannot have changed it.
template <class D>
struct Rounded {
  hn::Vec<D> value;
  hn::Mask<D> is_decided;
};

// Takes the ends of an interval that holds the real result; NaN is undecided.
template <class D>
HWY_INLINE Rounded<D> RoundBetween(D, hn::Vec<D> low, hn::Vec<D> high) {
  return {low, hn::Eq(low, high)};
}

template <class D>
HWY_INLINE Rounded<D> RoundWithin(D d, Pair<D> y, hn::Vec<D> error) {
  return RoundBetween(d, hn::Add(y.head, hn::Sub(y.tail, error)),
                      hn::Add(y.head, hn::Add(y.tail, error)));
}

template <class D>
HWY_INLINE Rounded<D> RoundWithin(D d, Pair<D> y, float relative_error) {
  const auto error = hn::Set(d, relative_error);
  return RoundBetween(d, hn::Add(y.head, hn::NegMulAdd(y.head, error, y.tail)),
                      hn::Add(y.head, hn::MulAdd(y.head, error, y.tail)));
}

template <class D>
HWY_INLINE hn::Vec<D> SignOf(D d, hn::Vec<D> x) {
  return hn::And(x, hn::SignBit(d));
}

// An odd function of |x| becomes that of x.
template <class D>
HWY_INLINE Rounded<D> WithSignOf(D d, hn::Vec<D> x, Rounded<D> y) {
  return {hn::Or(y.value, SignOf(d, x)), y.is_decided};
}

template <class D>
HWY_INLINE Rounded<D> DecidedIf(hn::Mask<D> mask, Rounded<D> y) {
  return {y.value, hn::And(mask, y.is_decided)};
}

// --- functions in pieces -------------------------------------------------------------------------

// The coefficients of a Taylor series, of which the last ones do not count in FLOAT64.
using Series = std::array<double, 20>;

constexpr double ValueAt(const Series& series, double x) {
  double value = 0.0;
  for (size_t n = series.size(); n-- > 0;) value = value * x + series[n];
  return value;
}

// Lowers the degree of a series for |x| <= radius, each time by the Chebyshev polynomial of that
// degree, which adds the least error. Only takes the terms from `first` on into account, divided by
// x^first.
constexpr Series Economized(Series series, size_t first, size_t degree, double radius) {
  const size_t last = series.size() - 1;
  for (size_t n = last - first; n > degree - first; --n) {
    // The next coefficient of the polynomial of degree n, with 1 for the leading one, is that of
    // two degrees less.
    double term = series[first + n];
    const double size = static_cast<double>(n);
    for (size_t k = 0; 2 * k <= n; ++k) {
      series[first + n - 2 * k] -= term;
      const double left = size - 2.0 * static_cast<double>(k);
      const double step = static_cast<double>(k + 1);
      term *= -radius * radius * left * (left - 1.0) / (4.0 * step * (size - step));
    }
  }
  return series;
}

// The beginning of the first piece, and the end of each.
using PieceEnds = std::array<double, 33>;

// With the center of a piece and r = x - center, f(x) is value + slope * r + r^2 * (terms[0] +
// terms[1] * r + ...).
template <size_t kTerms>
struct Pieces {
  LongTable centers, values, slopes;
  LongTable terms[kTerms];
};

template <size_t kTerms>
constexpr Pieces<kTerms> PiecesAt(const LongTable& centers) {
  Pieces<kTerms> pieces{};
  std::copy(std::begin(centers), std::end(centers), pieces.centers);
  return pieces;
}

// Computes pieces `first` to `last` of a function f from their ends and from the value y of f where
// the first one begins. F::At(x, y) is the Taylor series of f at x, where f(x) is y. If f is 0 at a
// center, the polynomial is divided by r, so that its error is small relative to f.
//
// There are so many numbers to choose a center from that the value and the slope at some are far
// closer to numbers of FLOAT32 than at others, within 2^-32 of f, and need no tails.
template <class F, size_t kTerms>
constexpr void SetPieces(Pieces<kTerms>& pieces, size_t first, size_t last, double y,
                         const PieceEnds& ends) {
  double x = ends[0];
  for (size_t i = first; i <= last; ++i) {
    // The series converges in such steps.
    for (const double center = static_cast<double>(pieces.centers[i]); x < center;) {
      const double step = std::min(center - x, 0x1p-4);
      y = ValueAt(F::At(x, y), step);
      x += step;
    }
    const double radius = std::max(ends[i + 1 - first] - x, x - ends[i - first]);
    const Series series = Economized(F::At(x, y), y == 0.0 ? 1 : 0, kTerms + 1, radius);
    pieces.values[i] = static_cast<float>(series[0]);
    pieces.slopes[i] = static_cast<float>(series[1]);
    for (size_t k = 0; k < kTerms; ++k) pieces.terms[k][i] = static_cast<float>(series[k + 2]);
  }
}

// Evaluates terms[kBegin] + terms[kBegin + 1] * r + ... by pairs, which shortens the dependency
// chain.
template <size_t kBegin, class D, size_t kTerms>
HWY_INLINE hn::Vec<D> PieceTerms(D d, const LongEntry<D>& entry, const Pieces<kTerms>& pieces,
                                 hn::Vec<D> r, hn::Vec<D> square) {
  const auto first = entry(d, pieces.terms[kBegin]);
  if constexpr (kBegin + 1 == kTerms) {
    return first;
  } else {
    const auto two = hn::MulAdd(entry(d, pieces.terms[kBegin + 1]), r, first);
    if constexpr (kBegin + 2 == kTerms) {
      return two;
    } else {
      return hn::MulAdd(PieceTerms<kBegin + 2>(d, entry, pieces, r, square), square, two);
    }
  }
}

// Returns value + slope * r.
template <class D>
HWY_INLINE Pair<D> PieceLine(hn::Vec<D> value, hn::Vec<D> slope, hn::Vec<D> r) {
  const Pair<D> product = ProductOf(slope, r);
  const Pair<D> sum = SumOf(value, product.head);
  return PlusTail(sum, product.tail);
}

// Adds r^2 * (terms[0] + terms[1] * r + ...).
template <class D, size_t kTerms>
HWY_INLINE Pair<D> PlusTerms(D d, Pair<D> line, const LongEntry<D>& entry,
                             const Pieces<kTerms>& pieces, hn::Vec<D> r) {
  const auto square = hn::Mul(r, r);
  return {line.head, hn::MulAdd(square, PieceTerms<0>(d, entry, pieces, r, square), line.tail)};
}

// Returns the value of a piece at its center + r.
template <class D, size_t kTerms>
HWY_INLINE Pair<D> PieceValue(D d, const LongEntry<D>& entry, const Pieces<kTerms>& pieces,
                              hn::Vec<D> r) {
  const Pair<D> line = PieceLine<D>(entry(d, pieces.values), entry(d, pieces.slopes), r);
  return PlusTerms(d, line, entry, pieces, r);
}
template <class D, size_t kTerms>
HWY_INLINE Pair<D> PieceValue(D d, const LongEntry<D>& entry, const Pieces<kTerms>& pieces,
                              Pair<D> r) {
  const auto slope = entry(d, pieces.slopes);
  Pair<D> line = PieceLine<D>(entry(d, pieces.values), slope, r.head);
  line.tail = hn::MulAdd(slope, r.tail, line.tail);
  return PlusTerms(d, line, entry, pieces, hn::Add(r.head, r.tail));
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
