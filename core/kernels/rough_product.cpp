#include "core/kernels/rough_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/rough_product.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/exact/error_free.h"
#include "core/kernels/columns-inl.h"
#include "core/kernels/dispatch.h"
#include "core/kernels/row_streams-inl.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

using WideBits = hn::RebindToUnsigned<Wide>;
using WideBitsVec = hn::Vec<WideBits>;

// Elements whose product is exact in binary64: 2 * 24 or 4 * 11 bits.
template <typename T>
constexpr int64_t kExactFactors = std::is_same_v<T, Half> ? 4 : 2;

// Elements of one step: whatever they are, a head of magnitude in [1, 16) and its rounding errors
// stay inside the range of binary64. 6 elements of FLOAT32 reach from 2^-894 to 2^768, 16 of
// FLOAT16 from 2^-384 to 2^256.
template <typename T>
constexpr int64_t kFactorsPerStep = std::is_same_v<T, Half> ? 16 : 6;

// Groups side by side (or lanes of one group) fill two vectors; so does what they are multiplied
// by.
HWY_INLINE int64_t GroupsAtATime() {
  return 2 * static_cast<int64_t>(hn::Lanes(Wide()));
}

template <typename T>
HWY_INLINE WideFloats LoadFactors(const T* x) {
  return {LoadWide(x), LoadWide(x + GroupsAtATime() / 2)};
}

HWY_INLINE WideFloats Multiply(const WideFloats& a, const WideFloats& b) {
  return {hn::Mul(a.low, b.low), hn::Mul(a.high, b.high)};
}

// The product of two, which is exact in binary32 for FLOAT16 and in binary64 for FLOAT32.
HWY_INLINE WideFloats PairProduct(const float* x, int64_t step) {
  return Multiply(LoadFactors(x), LoadFactors(x + step));
}
HWY_INLINE WideFloats PairProduct(const Half* x, int64_t step) {
#if HWY_TARGET == HWY_SCALAR
  return Multiply(LoadFactors(x), LoadFactors(x + step));
#else
  return WidenFloats(hn::Mul(LoadFloats(Floats(), x), LoadFloats(Floats(), x + step)));
#endif
}

// The product of kExactFactors.
HWY_INLINE WideFloats ExactProduct(const float* x, int64_t step) {
  return PairProduct(x, step);
}
HWY_INLINE WideFloats ExactProduct(const Half* x, int64_t step) {
  return Multiply(PairProduct(x, step), PairProduct(x + 2 * step, step));
}

// The products of a vector of groups. Zeros, infinities and NaN run through the heads as IEEE 754
// multiplies them.
template <bool kTracked>
struct Products {
  WideVec head;
  WideVec tail;  // stays 0 unless tracked
  WideBitsVec exponent;
  WideVec errors;  // the bits of all tails and rounding errors since Normalize, if tracked

  // The factor is exact, or a head.
  HWY_INLINE void MultiplyBy(WideVec factor) {
    const WideVec product = hn::Mul(head, factor);
    if constexpr (kTracked) {
      const WideVec error = Error(factor, product);
      tail = hn::Add(hn::Mul(tail, factor), error);  // not fused: the same bits everywhere
      errors = hn::Or(errors, error);
    }
    head = product;
  }

  // head * factor - product, exact for factors of 48 bits and within 2^-105 for others.
  HWY_INLINE WideVec Error(WideVec factor, WideVec product) const {
#if HWY_NATIVE_FMA
    return hn::MulSub(head, factor, product);
#else
    // Dekker's: both cut into halves whose products are exact.
    const WideVec head_high = UpperBits(head);
    const WideVec head_low = hn::Sub(head, head_high);
    const WideVec factor_high = UpperBits(factor);
    const WideVec factor_low = hn::Sub(factor, factor_high);
    WideVec error = hn::Sub(hn::Mul(head_high, factor_high), product);
    error = hn::Add(error, hn::Mul(head_high, factor_low));
    error = hn::Add(error, hn::Mul(head_low, factor_high));
    return hn::Add(error, hn::Mul(head_low, factor_low));
#endif
  }

  // The upper 26 bits.
  static HWY_INLINE WideVec UpperBits(WideVec x) {
    const WideBits bits;
    return hn::BitCast(Wide(),
                       hn::AndNot(hn::Set(bits, (uint64_t{1} << 27) - 1), hn::BitCast(bits, x)));
  }

  // Brings the head's magnitude back to [1, 16): takes out 2^(f - 1023), where f is its exponent
  // field without the last two bits. That and its inverse are normal numbers whatever the head is.
  HWY_INLINE void Normalize() {
    const WideBits bits;
    const WideBitsVec field =
        hn::And(hn::BitCast(bits, head), hn::Set(bits, uint64_t{0x7FC} << 52));
    const WideVec scale = hn::BitCast(Wide(), hn::Sub(hn::Set(bits, uint64_t{2046} << 52), field));
    head = hn::Mul(head, scale);
    if constexpr (kTracked) {
      tail = hn::Mul(tail, scale);
      // As bits, because those of several errors may be a NaN; without the sign.
      const auto exact = hn::Eq(hn::ShiftLeft<1>(hn::BitCast(bits, errors)), hn::Zero(bits));
      const WideVec not_zero = hn::IfThenElse(hn::Eq(tail, hn::Zero(Wide())),
                                              hn::Set(Wide(), RoughProducts::kInexact), tail);
      tail = hn::IfThenElse(hn::RebindMask(Wide(), exact), tail, not_zero);
      errors = tail;
    }
    exponent = hn::Add(exponent, hn::Sub(hn::ShiftRight<52>(field), hn::Set(bits, 1023)));
  }

  HWY_INLINE void Merge(const Products& other) {
    const WideVec cross = hn::Mul(head, other.tail);
    MultiplyBy(other.head);
    if constexpr (kTracked) {
      tail = hn::Add(tail, cross);
      errors = hn::Or(errors, other.errors);
    }
    exponent = hn::Add(exponent, other.exponent);
    Normalize();
  }
};

template <bool kTracked>
HWY_INLINE Products<kTracked> LoadProducts(const RoughProducts& p) {
  const WideVec tail = kTracked ? hn::LoadU(Wide(), p.tail) : hn::Zero(Wide());
  return {hn::LoadU(Wide(), p.head), tail,
          hn::LoadU(WideBits(), reinterpret_cast<const uint64_t*>(p.exponent)), tail};
}

template <bool kTracked>
HWY_INLINE void StoreProducts(const Products<kTracked>& products, const RoughProducts& p) {
  hn::StoreU(products.head, Wide(), p.head);
  if constexpr (kTracked) hn::StoreU(products.tail, Wide(), p.tail);
  hn::StoreU(products.exponent, WideBits(), reinterpret_cast<uint64_t*>(p.exponent));
}

template <bool kTracked>
struct Accumulator {
  Products<kTracked> low, high;

  // Multiplies by `count` rows of GroupsAtATime() elements, `step` elements apart.
  template <typename T>
  HWY_INLINE void MultiplyAll(const T* x, int64_t count, int64_t step) {
    while (count > 0) {
      int64_t factors = HWY_MIN(count, kFactorsPerStep<T>);
      count -= factors;
      for (; factors >= kExactFactors<T>; factors -= kExactFactors<T>) {
        MultiplyBy(ExactProduct(x, step));
        x += kExactFactors<T> * step;
      }
      for (; factors > 0; --factors, x += step) MultiplyBy(LoadFactors(x));
      low.Normalize();
      high.Normalize();
    }
  }

  HWY_INLINE void MultiplyBy(const WideFloats& factors) {
    low.MultiplyBy(factors.low);
    high.MultiplyBy(factors.high);
  }
};

template <typename T>
constexpr T One() {
  if constexpr (std::is_same_v<T, Half>) {
    return Half{0x3C00};
  } else {
    return 1;
  }
}

template <typename T, bool kTracked>
void MultiplyRow(const T* x, int64_t count, const RoughProducts& products) {
  const int64_t groups = GroupsAtATime();
  const Products<kTracked> ones{hn::Set(Wide(), 1.0), hn::Zero(Wide()), hn::Zero(WideBits()),
                                hn::Zero(Wide())};
  Accumulator<kTracked> accumulator{ones, ones};
  const int64_t begin = ForEachBlock(
      x, count, kFactorsPerStep<T> * groups,
      [&](const T* from) HWY_ATTR { accumulator.MultiplyAll(from, kFactorsPerStep<T>, groups); });
  const int64_t whole = count / groups * groups;
  accumulator.MultiplyAll(x + begin, (whole - begin) / groups, groups);
  if (whole < count) {
    HWY_ALIGN T rest[2 * hn::MaxLanes(Wide())];
    std::fill(std::copy(x + whole, x + count, rest), rest + groups, One<T>());
    accumulator.MultiplyAll(rest, 1, groups);
  }
  accumulator.low.Merge(accumulator.high);
  HWY_ALIGN double heads[hn::MaxLanes(Wide())], tails[hn::MaxLanes(Wide())] = {};
  HWY_ALIGN int64_t exponents[hn::MaxLanes(Wide())];
  const RoughProducts parts{heads, tails, exponents};
  StoreProducts(accumulator.low, parts);
  for (int64_t i = 0; i < groups / 2; ++i) MultiplyGroup(products, parts.From(i), kTracked);
}

template <typename T, bool kTracked>
void MultiplyColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                     const RoughProducts& products) {
  const int64_t groups = GroupsAtATime();
  const auto vector = [&](const T* from, int64_t count, int64_t c) HWY_ATTR {
    const RoughProducts low = products.From(c), high = products.From(c + groups / 2);
    Accumulator<kTracked> accumulator{LoadProducts<kTracked>(low), LoadProducts<kTracked>(high)};
    if (count == kRowsAtATime) {  // mostly; the loops unroll
      accumulator.MultiplyAll(from, kRowsAtATime, row_stride);
    } else {
      accumulator.MultiplyAll(from, count, row_stride);
    }
    StoreProducts(accumulator.low, low);
    StoreProducts(accumulator.high, high);
  };
  const auto single = [&](const T* from, int64_t count, int64_t c) HWY_ATTR {
    T column[kRowsAtATime];
    for (int64_t row = 0; row < count; ++row) column[row] = from[row * row_stride];
    MultiplyRow<T, kTracked>(column, count, products.From(c));
  };
  ForEachColumns(x, rows, row_stride, columns, groups, vector, single);
}

template <typename T>
RoughProductKernels<T> MakeKernels(bool tracked) {
  if (tracked) return {MultiplyRow<T, true>, MultiplyColumns<T, true>};
  return {MultiplyRow<T, false>, MultiplyColumns<T, false>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
RoughProductKernels<T> RoughProductKernelsFor(bool tracked) {
  constexpr IsaForms<RoughProductKernels<T>(bool)> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)(tracked);
}

template RoughProductKernels<float> RoughProductKernelsFor(bool);
template RoughProductKernels<Half> RoughProductKernelsFor(bool);

void MultiplyGroup(const RoughProducts& products, const RoughProducts& other, bool tracked) {
  double head = *products.head * *other.head;
  double tail = 0;
  if (tracked && std::isfinite(head) && head != 0) {
    const double error = std::fma(*products.head, *other.head, -head);
    const double cross = *products.head * *other.tail + *products.tail * *other.head;
    const bool exact = error == 0 && *products.tail == 0 && *other.tail == 0;
    const HeadTail product = FastTwoSum(head, error + cross);
    head = product.head;
    tail = !exact && product.tail == 0 ? RoughProducts::kInexact : product.tail;
  }
  // As Products::Normalize does.
  const uint64_t field = std::bit_cast<uint64_t>(head) & uint64_t{0x7FC} << 52;
  const double scale = std::bit_cast<double>((uint64_t{2046} << 52) - field);
  *products.head = head * scale;
  *products.tail = tail * scale;
  *products.exponent += *other.exponent + static_cast<int64_t>(field >> 52) - 1023;
}

}  // namespace dmlop

#endif  // HWY_ONCE
