// SPDX-License-Identifier: Apache-2.0
// Functions in 32 pieces, each a polynomial of its own. The compiler computes the tables.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PIECES_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "core/kernels/element_wise/transcendental/pair-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

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
