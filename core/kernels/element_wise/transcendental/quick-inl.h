// SPDX-License-Identifier: Apache-2.0
// Approximations in pairs of FLOAT32 that decide the rounding of nearly all results. Each splits
// its argument, looks a part of the result up, and adds a short polynomial.
//
// The errors are those of the last few operations in FLOAT32 on what is small beside the result.
// They are larger than any that was found with arguments of all exponents.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_INL_H_
#endif

#include <limits>

#include "core/kernels/element_wise/transcendental/quick_pieces-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Entries of tables, and how many bits count them.
template <class D>
constexpr int kEntries = static_cast<int>(hn::MaxLanes(D()));
template <class D>
constexpr int kEntryBits = kEntries<D> == 16 ? 4 : 3;

// Chooses by the number of entries, as errors are larger with fewer.
template <class D>
constexpr float Choose16(float with_16, float with_8) {
  return kEntries<D> == 16 ? with_16 : with_8;
}

// --- powers of e ---------------------------------------------------------------------------------

inline constexpr double kPowersOfTwo[] = {  // 2^(i / 16)
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
template <class D>
inline constexpr auto kPowerTable = EntriesOf<hn::MaxLanes(D())>(kPowersOfTwo);

// e^x = 2^exponent * power * (1 + r + rest), where the exponent stands where FLOAT32 has it, the
// power is an entry of the table, and r is small.
template <class D>
struct PairExpParts {
  hn::Vec<Bits<D>> exponent;
  Pair<D> power;
  hn::Vec<D> r, rest;
};

// With k = x / ln 2 * kEntries rounded, r and a tail are x - k * ln 2 / kEntries, and the rest is
// that tail and r^2 * polynomial. r itself is exact: both numbers of the difference are multiples
// of 2^-28. |x| is at most 88.
template <class D>
HWY_INLINE PairExpParts<D> SplitPairExp(D d, hn::Vec<D> x) {
  constexpr float kSteps = kEntries<D>;
  const Bits<D> di;
  const auto shifter = hn::Set(d, 0x1.8p23F);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p+0F * kSteps), shifter);
  const auto k = hn::Sub(shifted, shifter);
  const auto r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e430p-1F / kSteps), x);
  const auto r_tail = hn::Mul(k, hn::Set(d, 0x1.05c610p-29F / kSteps));
  const auto sum = hn::Add(r, r_tail);
  const auto polynomial = Horner(d, sum, 0.5F, 1.0F / 6, 1.0F / 24, 1.0F / 120);
  const auto count = hn::BitCast(di, shifted);
  const auto whole = hn::And(count, hn::Set(di, -kEntries<D>));
  return {hn::ShiftLeft<23 - kEntryBits<D>>(whole), Entry(d, kPowerTable<D>, count), r,
          hn::MulAdd(hn::Mul(sum, sum), polynomial, r_tail)};
}

template <class D>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, hn::Vec<Bits<D>> exponent) {
  return hn::BitCast(d, hn::Add(exponent, hn::Set(Bits<D>(), 0x3F800000)));
}

// Returns base + power * (r + rest), where the base is 0 or larger than the rest.
template <class D>
HWY_INLINE Pair<D> PairPower(Pair<D> power, const PairExpParts<D>& parts, Pair<D> base) {
  const Pair<D> product = ProductOf(power.head, parts.r);
  const Pair<D> sum = SumOf(base.head, product.head);
  const auto tails = hn::Add(hn::MulAdd(power.tail, parts.r, base.tail), product.tail);
  return {sum.head, hn::MulAdd(power.head, parts.rest, hn::Add(sum.tail, tails))};
}

template <class D>
constexpr float kPairExpError = Choose16<D>(0x1.4p-34F, 0x1.4p-32F);

struct QuickExp {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const Bits<D> di;
    const PairExpParts<D> parts = SplitPairExp(d, x);
    const Pair<D> factor = PairPower(parts.power, parts, parts.power);
    const Rounded<D> rounded = RoundWithin(d, factor, kPairExpError<D>);
    const auto value = hn::BitCast(d, hn::Add(hn::BitCast(di, rounded.value), parts.exponent));
    return DecidedIf<D>(hn::Le(hn::Abs(x), hn::Set(d, 87.0F)), {value, rounded.is_decided});
  }
};

// That is 1 / (1 + e^-x), which rounds to 1 long before 60. The sum is computed first; see
// ComputeInSteps. The 1 joins the power before the small product does, so that e^-x itself is never
// formed.
struct QuickSigmoid {
  template <class D>
  static HWY_INLINE Pair<D> Begin(D d, hn::Vec<D> x) {
    const auto one = hn::Set(d, 1.0F);
    const PairExpParts<D> parts = SplitPairExp(d, hn::Neg(hn::Min(x, hn::Set(d, 60.0F))));
    const Pair<D> power = Scaled(parts.power, PowerOfTwo(d, parts.exponent));
    const Pair<D> base = SumOf(hn::Max(one, power.head), hn::Min(one, power.head));
    return Normalized(PairPower(power, parts, PlusTail(base, power.tail)));
  }

  // The rest is the share that the inverse lacks.
  template <class D>
  static HWY_INLINE Rounded<D> End(D d, hn::Vec<D> x, Pair<D> sum) {
    const auto one = hn::Set(d, 1.0F);
    const auto error = hn::Set(d, kPairExpError<D>);
    const auto inverse = InverseOf(d, sum.head);
    const auto rest = hn::NegMulAdd(inverse, sum.tail, hn::NegMulAdd(inverse, sum.head, one));
    const Rounded<D> rounded = RoundBetween(d, hn::MulAdd(inverse, hn::Sub(rest, error), inverse),
                                            hn::MulAdd(inverse, hn::Add(rest, error), inverse));
    return DecidedIf<D>(hn::Ge(x, hn::Set(d, -60.0F)), rounded);
  }
};

// With e = e^(2 |x|) - 1, tanh |x| = e / (e + 2), which rounds to 1 from 9.1 on. Near 0, the error
// of e falls with r^2, and so with the square of the result.
struct QuickTanhByExp {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const auto magnitude = hn::Min(hn::Abs(x), hn::Set(d, 9.5F));
    const PairExpParts<D> parts = SplitPairExp(d, hn::Add(magnitude, magnitude));
    const Pair<D> power = Scaled(parts.power, PowerOfTwo(d, parts.exponent));
    const Pair<D> less = PlusTail(SumOf(power.head, hn::Set(d, -1.0F)), power.tail);
    const Pair<D> e = Normalized(PairPower(power, parts, less));
    const Pair<D> sum = PlusTail(SumOfAny(hn::Set(d, 2.0F), e.head), e.tail);
    const Pair<D> y = QuotientOf(d, e, sum);
    const auto least = hn::Min(y.head, hn::Set(d, Choose16<D>(0x1p-6F, 0x1p-5F)));
    const auto error =
        hn::Mul(least, hn::MulAdd(least, hn::Set(d, 0x1.cp-23F), hn::Set(d, 0x1p-41F)));
    return WithSignOf(d, x, DecidedIf<D>(hn::Eq(x, x), RoundWithin(d, y, error)));
  }
};

// --- logarithms ----------------------------------------------------------------------------------

// Nearly the reciprocals of the middles of 16 intervals, and the logarithms of the numbers of which
// they are the reciprocals. The interval of 1 has 1 itself.
inline constexpr double kReciprocals[] = {
    0x1.55p+0, 0x1.48p+0, 0x1.3bp+0, 0x1.2fp+0, 0x1.25p+0, 0x1.1ap+0, 0x1.11p+0, 0x1.08p+0,
    0x1.00p+0, 0x1.e2p-1, 0x1.c8p-1, 0x1.b0p-1, 0x1.9ap-1, 0x1.86p-1, 0x1.74p-1, 0x1.64p-1};
inline constexpr double kLogarithms[] = {
    -0x1.2596010df763ap-2, -0x1.fb9186d5e3e2bp-3, -0x1.a8becfc882f19p-3,
    -0x1.59338d9982086p-3, -0x1.14785846742acp-3, -0x1.8c345d6319b21p-4,
    -0x1.075983598e471p-4, -0x1.f829b0e783300p-6, 0.0,
    0x1.eea31c006b87cp-5,  0x1.da727638446a2p-4,  0x1.5bf406b543db2p-3,
    0x1.c6ffbc6f00f71p-3,  0x1.16b5ccbacfb73p-2,  0x1.4718dc271c41bp-2,
    0x1.741d876c67bb1p-2};
template <class D>
inline constexpr auto kReciprocalTable = EntriesOf<hn::MaxLanes(D())>(kReciprocals);
template <class D>
inline constexpr auto kLogarithmTable = EntriesOf<hn::MaxLanes(D())>(kLogarithms);

// x = 2^exponent * factor, and the last bits of `index` tell the factor's interval. The intervals
// begin so that 1 is in the middle of one.
template <class D>
struct PairLogParts {
  hn::Vec<Bits<D>> exponent, index;
  hn::Vec<D> factor;
};

template <class D>
HWY_INLINE PairLogParts<D> SplitPairLog(D d, hn::Vec<D> x) {
  const Bits<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto above = hn::Sub(bits, hn::Set(di, kEntries<D> == 16 ? 0x3F3C0000 : 0x3F380000));
  const auto exponent = hn::ShiftRight<23>(above);
  return {exponent, hn::ShiftRight<23 - kEntryBits<D>>(above),
          hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)))};
}

// Returns entry * factor - 1, which is small.
template <class D>
HWY_INLINE Pair<D> PairLogRest(D d, hn::Vec<D> factor, hn::Vec<D> entry) {
  const Pair<D> product = ProductOf(factor, entry);
  return {hn::Sub(product.head, hn::Set(d, 1.0F)), product.tail};
}

// Computes exponent * ln 2 + ln(1 / entry) + ln(1 + r). The product of the exponent and the first
// part of ln 2 is exact.
template <class D>
HWY_INLINE Pair<D> PairLogSum(D d, const PairLogParts<D>& parts, Pair<D> r) {
  const Pair<D> logarithm = Entry(d, kLogarithmTable<D>, parts.index);
  const auto k = hn::ConvertTo(d, parts.exponent);
  const Pair<D> base = SumOf(hn::Mul(k, hn::Set(d, 0x1.62e4p-1F)), logarithm.head);
  const Pair<D> sum = SumOf(base.head, r.head);
  hn::Vec<D> polynomial;
  if constexpr (kEntries<D> == 16) {
    polynomial = Horner(d, r.head, -0.5F, 1.0F / 3, -0.25F, 0.2F, -1.0F / 6);
  } else {
    polynomial = Horner(d, r.head, -0.5F, 1.0F / 3, -0.25F, 0.2F, -1.0F / 6, 1.0F / 7, -0.125F);
  }
  const auto rest =
      hn::MulAdd(hn::Mul(r.head, r.head), polynomial, hn::NegMulAdd(r.tail, r.head, r.tail));
  const auto tails = hn::Add(hn::Add(base.tail, sum.tail),
                             hn::MulAdd(k, hn::Set(d, 0x1.7f7d1cp-20F), logarithm.tail));
  return {sum.head, hn::Add(tails, rest)};
}

template <class D>
HWY_INLINE Pair<D> PairLog(D d, hn::Vec<D> x) {
  const PairLogParts<D> parts = SplitPairLog(d, x);
  const auto entry = Entry(d, kReciprocalTable<D>.heads, parts.index);
  return PairLogSum(d, parts, PairLogRest(d, parts.factor, entry));
}

// Returns ln(1 + x) for x >= 0. In the interval of 1, r is x itself.
template <class D>
HWY_INLINE Pair<D> PairLog1p(D d, Pair<D> x) {
  const Pair<D> sum = PlusTail(SumOfAny(hn::Set(d, 1.0F), x.head), x.tail);
  const PairLogParts<D> parts = SplitPairLog(d, sum.head);
  const auto entry = Entry(d, kReciprocalTable<D>.heads, parts.index);
  const auto scale = PowerOfTwo(d, hn::Neg(hn::ShiftLeft<23>(parts.exponent)));
  Pair<D> r = PairLogRest(d, parts.factor, entry);
  r = SumOfAny(r.head, hn::MulAdd(hn::Mul(sum.tail, scale), entry, r.tail));
  const auto is_near = hn::Lt(x.head, hn::Set(d, 0x1p-6F));
  return PairLogSum(d, parts, IfThenElse(is_near, x, r));
}

// The error falls with the square of the logarithm near 0, where it is that of r^2.
template <class D>
HWY_INLINE Rounded<D> RoundLog(D d, Pair<D> y) {
  const auto magnitude = hn::Abs(y.head);
  const auto least = hn::Min(magnitude, hn::Set(d, Choose16<D>(0x1p-5F, 0x1p-4F)));
  const auto near_zero = hn::Mul(hn::Mul(least, least), hn::Set(d, 0x1.8p-23F));
  return RoundWithin(d, y, hn::MulAdd(magnitude, hn::Set(d, 0x1p-40F), near_zero));
}

struct QuickLog {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const auto nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    const auto endless = hn::Set(d, std::numeric_limits<float>::infinity());
    const auto is_below = hn::Lt(x, hn::Zero(d));
    const auto is_usual = hn::And(hn::Ge(x, hn::Set(d, 0x1p-126F)), hn::Lt(x, endless));
    const Rounded<D> rounded = DecidedIf<D>(is_usual, RoundLog(d, PairLog(d, x)));
    return {hn::IfThenElse(is_below, nan, rounded.value), hn::Or(is_below, rounded.is_decided)};
  }
};

// ln((1 + x) / (1 - x)) / 2 = ln(1 + 2 x / (1 - x)) / 2.
struct QuickAtanhByRatio {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const auto one = hn::Set(d, 1.0F);
    const auto half = hn::Set(d, 0.5F);
    const auto magnitude = hn::Abs(x);
    const Pair<D> twice = {hn::Add(magnitude, magnitude), hn::Zero(d)};
    const Pair<D> ratio = QuotientOf(d, twice, SumOf(one, hn::Neg(magnitude)));
    const Rounded<D> twice_y = RoundLog(d, PairLog1p(d, ratio));
    const Rounded<D> y = {hn::Mul(twice_y.value, half), twice_y.is_decided};
    return WithSignOf(d, x, DecidedIf<D>(hn::Lt(magnitude, one), y));
  }
};

// --- sine and cosine -----------------------------------------------------------------------------

inline constexpr double kSines[] = {  // of i * pi / 32
    0.0,
    0x1.917a6bc29b42cp-4,
    0x1.8f8b83c69a60bp-3,
    0x1.294062ed59f06p-2,
    0x1.87de2a6aea963p-2,
    0x1.e2b5d3806f63bp-2,
    0x1.1c73b39ae68c8p-1,
    0x1.44cf325091dd6p-1,
    0x1.6a09e667f3bcdp-1,
    0x1.8bc806b151741p-1,
    0x1.a9b66290ea1a3p-1,
    0x1.c38b2f180bdb1p-1,
    0x1.d906bcf328d46p-1,
    0x1.e9f4156c62ddap-1,
    0x1.f6297cff75cb0p-1,
    0x1.fd88da3d12526p-1,
    1.0};

// Sines of half a turn, or those that begin a quarter turn later.
constexpr LongPairTable SinesFrom(int turned) {
  LongPairTable table{};
  for (int i = 0; i < 32; ++i) {
    const int step = i + 16 * turned;
    table.Set(i, step <= 16 ? kSines[step] : step <= 32 ? kSines[32 - step] : -kSines[step - 32]);
  }
  return table;
}
inline constexpr LongPairTable kSineTable = SinesFrom(0);
inline constexpr LongPairTable kCosineTable = SinesFrom(1);

// Returns the sine of `magnitude`, which is not negative, plus `turned` quarter turns, with the
// given sign.
//
// That is a whole number k of steps of pi / 32 and a rest b of up to pi / 64, and their sine is
// S * cos b + C * sin b with the step's S and C. pi has two parts. The difference without the
// second is exact, as both numbers are multiples of 2^-27 or of x's last place. The third part
// would add less than |x| * 2^-50, and where |x| * 2^-25 is more than the rest, b_tail errs by no
// more: both do not count as long as the sine is at least |x| * 2^-15. What counts are the
// roundings of b^2 / 2, which is at most 2^-9.7 of S. Together they were found to be up to 2^-31.1
// of a sine.
template <class D>
HWY_INLINE Rounded<D> QuickTurnedSine(D d, hn::Vec<D> magnitude, int turned, hn::Vec<D> sign) {
  const Bits<D> di;
  const auto shifter = hn::Set(d, 0x1.8p23F + static_cast<float>(turned * 16));
  const auto shifted = hn::MulAdd(magnitude, hn::Set(d, 0x1.45f306p+3F), shifter);
  const auto count = hn::BitCast(di, shifted);
  const auto k = hn::Sub(shifted, shifter);
  const auto most = hn::NegMulAdd(k, hn::Set(d, 0x1.921fb6p-4F), magnitude);
  const auto part = hn::Set(d, -0x1.777a5cp-29F);
  const auto b = hn::NegMulAdd(k, part, most);
  const auto b_tail = hn::NegMulAdd(k, part, hn::Sub(most, b));
  const LongEntry<D> entry(d, count);
  const Pair<D> sine = entry(d, kSineTable);
  const Pair<D> cosine = entry(d, kCosineTable);
  const Pair<D> product = ProductOf(cosine.head, b);
  const Pair<D> sum = SumOf(sine.head, product.head);
  const auto product_tails =
      hn::MulAdd(cosine.tail, b, hn::MulAdd(cosine.head, b_tail, product.tail));
  const auto tails = hn::Add(product_tails, hn::Add(sine.tail, sum.tail));
  const auto b2 = hn::Mul(b, b);
  const auto less_sine = hn::Mul(product.head, Horner(d, b2, -1.0F / 6, 1.0F / 120));
  const auto less = hn::MulAdd(sine.head, Horner(d, b2, -0.5F, 1.0F / 24), less_sine);
  const Rounded<D> y = RoundWithin(d, Pair<D>{sum.head, hn::MulAdd(b2, less, tails)}, 0x1p-31F);
  // The sine is at most 1 unless x is too large for the steps.
  const auto bounded = hn::BitCast(di, hn::Min(hn::Abs(y.value), hn::Set(d, 1.0F)));
  const auto limit = hn::BitCast(d, hn::Add(bounded, hn::Set(di, 15 << 23)));
  const auto flip = hn::Xor(hn::BitCast(d, hn::ShiftLeft<26>(count)), sign);
  return DecidedIf<D>(hn::Le(magnitude, limit), {hn::Xor(y.value, SignOf(d, flip)), y.is_decided});
}

struct QuickSin {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    return QuickTurnedSine(d, hn::Abs(x), 0, x);
  }
};

struct QuickCos {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    return QuickTurnedSine(d, hn::Abs(x), 1, hn::Zero(d));
  }
};

// --- asin ----------------------------------------------------------------------------------------

// Returns s with s^2 = square for a square of FLOAT32 in (0, 1/4].
template <class D>
HWY_INLINE Pair<D> PairSqrt(D d, hn::Vec<D> square) {
  const auto root = hn::Sqrt(square);
  const auto rest = hn::NegMulAdd(root, root, square);
  const auto half = hn::Mul(hn::ApproximateReciprocalSqrt(square), hn::Set(d, 0.5F));
  const auto tail = hn::Mul(rest, half);
  return {root, hn::IfThenElseZero(hn::Gt(square, hn::Zero(d)), tail)};
}

// With h = sqrt((1 - |x|) / 2), asin |x| is pi / 2 - 2 * asin h, which serves above 1/2. asin s is
// s + s^3 * (1/6 + s^2 * polynomial), which interpolates at Chebyshev nodes, within 2^-40.
struct QuickAsinByPowers {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const auto half = hn::Set(d, 0.5F);
    const auto magnitude = hn::Abs(x);
    const auto is_large = hn::Gt(magnitude, half);
    const auto zero = hn::Zero(d);
    const auto square = hn::NegMulAdd(magnitude, half, half);
    const Pair<D> s2 = IfThenElse(is_large, Pair<D>{square, zero}, ProductOf(x, x));
    const Pair<D> s = IfThenElse(is_large, PairSqrt(d, square), Pair<D>{magnitude, zero});
    const auto polynomial =
        Horner(d, s2.head, 0x1.333334p-4F, 0x1.6db6dep-5F, 0x1.f1c54ap-6F, 0x1.6ec4f0p-6F,
               0x1.18e3a2p-6F, 0x1.00a492p-6F, 0x1.0fb1ccp-8F, 0x1.9c36a2p-6F);
    const auto sixth = hn::Set(d, 0x1.555556p-3F);
    const Pair<D> factor =
        PlusTail(SumOf(sixth, hn::Mul(s2.head, polynomial)), hn::Set(d, -0x1.555556p-28F));
    const Pair<D> third = ProductOf(ProductOf(factor, s2), s);
    const Pair<D> angle = PlusTail(SumOf(s.head, third.head), hn::Add(s.tail, third.tail));
    const auto twice = hn::Set(d, -2.0F);
    const Pair<D> other = SumOf(hn::Set(d, 0x1.921fb6p+0F), hn::Mul(angle.head, twice));
    const auto tail = hn::MulAdd(angle.tail, twice, hn::Set(d, -0x1.777a5cp-25F));
    const auto error =
        hn::MulAdd(third.head, hn::Set(d, 0x1.4p-25F), hn::Mul(angle.head, hn::Set(d, 0x1p-35F)));
    const Pair<D> y = IfThenElse(is_large, PlusTail(other, tail), angle);
    return WithSignOf(d, x,
                      DecidedIf<D>(hn::Le(magnitude, hn::Set(d, 1.0F)), RoundWithin(d, y, error)));
  }
};

// --- choices -------------------------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX3
using QuickTanh = QuickTanhByPieces;
using QuickAsin = QuickAsinByPieces;
using QuickAtanh = QuickAtanhByPieces;
#else
using QuickTanh = QuickTanhByExp;
using QuickAsin = QuickAsinByPowers;
using QuickAtanh = QuickAtanhByRatio;
#endif

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
