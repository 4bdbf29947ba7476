// SPDX-License-Identifier: Apache-2.0
// Arithmetic with pairs of FLOAT32, which have about 48 bits in lanes half as wide as those of
// FLOAT64.
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

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
