// SPDX-License-Identifier: Apache-2.0
// Arithmetic with pairs of FLOAT32, which have about 48 bits in lanes half as wide as those of
// FLOAT64. Included once for each instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PAIR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PAIR_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PAIR_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_PAIR_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

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
template <class V, class D = hn::DFromV<V> >
HWY_INLINE Pair<D> SumOf(V a, V b) {
  const V sum = hn::Add(a, b);
  return {sum, hn::Sub(b, hn::Sub(sum, a))};
}

// Returns a + b, whichever is larger, exactly.
template <class V, class D = hn::DFromV<V> >
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
template <class V, class D = hn::DFromV<V> >
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

// Returns a / b within 2^-43, for normalized pairs.
template <class D>
HWY_INLINE Pair<D> QuotientOf(D d, Pair<D> a, Pair<D> b) {
  const auto guess = hn::ApproximateReciprocal(b.head);
  const auto inverse = hn::MulAdd(guess, hn::NegMulAdd(b.head, guess, hn::Set(d, 1.0F)), guess);
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
HWY_INLINE hn::Vec<D> Entry(D d, const float* entries, hn::Vec<Bits<D> > index) {
  const auto low = hn::And(index, hn::Set(Bits<D>(), static_cast<int32_t>(hn::MaxLanes(d)) - 1));
  return hn::TableLookupLanes(hn::LoadU(d, entries), hn::IndicesFromVec(d, low));
}
template <class D, size_t kEntries>
HWY_INLINE Pair<D> Entry(D d, const PairTable<kEntries>& table, hn::Vec<Bits<D> > index) {
  return {Entry(d, table.heads, index), Entry(d, table.tails, index)};
}

// --- rounding ------------------------------------------------------------------------------------

// The ends of an interval that holds a real result, rounded to FLOAT32. The same bits decide it.
template <class D>
struct Ends {
  hn::Vec<D> low, high;
};

template <class D>
HWY_INLINE Ends<D> EndsOf(Pair<D> y, hn::Vec<D> error) {
  return {hn::Add(y.head, hn::Sub(y.tail, error)), hn::Add(y.head, hn::Add(y.tail, error))};
}

template <class D>
HWY_INLINE Ends<D> EndsOf(D d, Pair<D> y, float relative_error) {
  const auto error = hn::Set(d, relative_error);
  return {hn::Add(y.head, hn::NegMulAdd(y.head, error, y.tail)),
          hn::Add(y.head, hn::MulAdd(y.head, error, y.tail))};
}

// Applies a function that is exact to both ends.
template <class D, class F>
HWY_INLINE Ends<D> Mapped(Ends<D> ends, const F& function) {
  return {function(ends.low), function(ends.high)};
}

// Leaves results undecided where the mask is not set, and for NaN.
template <class D, class M>
HWY_INLINE Ends<D> DecidedIf(D d, M mask, Ends<D> ends) {
  const Bits<D> di;
  const auto other = hn::BitCast(d, hn::Not(hn::BitCast(di, ends.low)));
  return {ends.low, hn::IfThenElse(mask, ends.high, other)};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
