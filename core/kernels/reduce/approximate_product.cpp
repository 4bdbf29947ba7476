// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/approximate_product.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/approximate_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/reduce/product_parts-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Number of elements whose product is exact in binary64: 2 * 24 or 4 * 11 bits.
template <typename T>
constexpr int64_t kExactFactors = std::is_same_v<T, Half> ? 4 : 2;

// Number of elements multiplied in one step: whatever they are, a head of magnitude in [1, 16) and
// its rounding errors stay inside the range of binary64. 6 elements of FLOAT32 reach from 2^-894 to
// 2^768, 16 of FLOAT16 from 2^-384 to 2^256.
template <typename T>
constexpr int64_t kFactorsPerStep = std::is_same_v<T, Half> ? 16 : 6;

// Adjacent groups (or lanes of one group) fill two vectors; so do their factors.
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

// Returns the product of two elements, exact in binary32 for FLOAT16 and in binary64 for FLOAT32.
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

// Returns the product of kExactFactors elements.
HWY_INLINE WideFloats ExactProduct(const float* x, int64_t step) {
  return PairProduct(x, step);
}
HWY_INLINE WideFloats ExactProduct(const Half* x, int64_t step) {
  return Multiply(PairProduct(x, step), PairProduct(x + 2 * step, step));
}

// The products of a vector of groups. Heads propagate zeros, infinities and NaN as IEEE 754
// multiplies them.
template <bool kTracked>
struct Products {
  WideVec head;
  WideVec tail;  // stays 0 unless tracked
  WideBitsVec exponent;
  WideVec errors;  // OR of the loaded tail and all rounding errors, if tracked

  // The factor must be exact, or a head.
  HWY_INLINE void MultiplyBy(WideVec factor) {
    const WideVec product = hn::Mul(head, factor);
    if constexpr (kTracked) {
      const WideVec error = ProductError(head, factor, product);
      tail = hn::Add(hn::Mul(tail, factor), error);  // not fused: the same bits everywhere
      errors = hn::Or(errors, error);
    }
    head = product;
  }

  // Takes a power of two out of the head, as MultiplyGroup does.
  HWY_INLINE void Normalize() {
    const WideVec scale = TakeOutPower(head, exponent);
    head = hn::Mul(head, scale);
    if constexpr (kTracked) tail = hn::Mul(tail, scale);
  }

  // Returns the tail, or kInexact if that is 0 although something was rounded.
  HWY_INLINE WideVec MarkedTail() const {
    const WideBits bits;
    // Compares bits without the sign, because the OR of several errors may be a NaN.
    const auto exact = hn::Eq(hn::ShiftLeft<1>(hn::BitCast(bits, errors)), hn::Zero(bits));
    const WideVec not_zero = hn::IfThenElse(hn::Eq(tail, hn::Zero(Wide())),
                                            hn::Set(Wide(), ApproximateProducts::kInexact), tail);
    return hn::IfThenElse(hn::RebindMask(Wide(), exact), tail, not_zero);
  }

  // The tail may afterwards be larger than the last place of the head.
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
HWY_INLINE Products<kTracked> LoadProducts(const ApproximateProducts& p) {
  const WideVec tail = kTracked ? hn::LoadU(Wide(), p.tail) : hn::Zero(Wide());
  return {hn::LoadU(Wide(), p.head), tail,
          hn::LoadU(WideBits(), reinterpret_cast<const uint64_t*>(p.exponent)), tail};
}

template <bool kTracked>
HWY_INLINE void StoreProducts(const Products<kTracked>& products, const ApproximateProducts& p) {
  hn::StoreU(products.head, Wide(), p.head);
  if constexpr (kTracked) hn::StoreU(products.MarkedTail(), Wide(), p.tail);
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

// Multiplies groups that fill GroupsAtATime() by rows, `step` elements apart.
template <bool kTracked, typename T>
HWY_INLINE void MultiplyGroups(const T* x, int64_t count, int64_t step,
                               const ApproximateProducts& products) {
  const ApproximateProducts upper = products.From(GroupsAtATime() / 2);
  Accumulator<kTracked> accumulator{LoadProducts<kTracked>(products),
                                    LoadProducts<kTracked>(upper)};
  accumulator.MultiplyAll(x, count, step);
  StoreProducts(accumulator.low, products);
  StoreProducts(accumulator.high, upper);
}

template <typename T>
constexpr T One() {
  if constexpr (std::is_same_v<T, Half>) {
    return Half{0x3C00};
  } else {
    return 1;
  }
}

template <typename T, bool kTracked>
void MultiplyRow(const T* x, int64_t count, const ApproximateProducts& products) {
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
  const ApproximateProducts parts{heads, tails, exponents};
  StoreProducts(accumulator.low, parts);
  if constexpr (kTracked) {
    for (int64_t i = 0; i < groups / 2; ++i) MultiplyGroup(products, parts.From(i), true);
  } else {  // the range has room for the product of a few heads
    for (int64_t i = 1; i < groups / 2; ++i) {
      heads[0] *= heads[i];
      exponents[0] += exponents[i];
    }
    MultiplyGroup(products, parts, false);
  }
}

// Copies fewer columns than the vectors hold, and fills up with ones.
template <bool kTracked, typename T>
void MultiplyNarrowRows(FewRows<T> few, int64_t columns, const ApproximateProducts& products) {
  constexpr size_t kMaxGroups = 2 * hn::MaxLanes(Wide());
  const int64_t groups = GroupsAtATime();
  HWY_ALIGN T rows[kFewRows * kMaxGroups];
  for (int64_t row = 0; row < few.count; ++row) {
    T* const to = rows + row * groups;
    std::fill(std::copy_n(few.first + row * few.stride, columns, to), to + groups, One<T>());
  }
  HWY_ALIGN double heads[kMaxGroups], tails[kMaxGroups];
  HWY_ALIGN int64_t exponents[kMaxGroups];
  std::fill(std::copy_n(products.head, columns, heads), heads + groups, 1.0);
  std::fill(std::copy_n(products.tail, columns, tails), tails + groups, 0.0);
  std::fill(std::copy_n(products.exponent, columns, exponents), exponents + groups, 0);
  MultiplyGroups<kTracked>(rows, few.count, groups, {heads, tails, exponents});
  std::copy_n(heads, columns, products.head);
  std::copy_n(tails, columns, products.tail);
  std::copy_n(exponents, columns, products.exponent);
}

// Takes its arguments by value, as with references the compiler would load all of this again and
// again. kCount is the number of rows if that is a constant, so that loops unroll.
template <bool kTracked, int64_t kCount, typename T>
void MultiplyFewRows(FewRows<T> few, int64_t columns, ApproximateProducts products) {
  const int64_t groups = GroupsAtATime();
  const int64_t count = kCount == 0 ? few.count : kCount;
  NextRows<T> next(few, columns);
  int64_t c = 0;
  for (; c + groups <= columns; c += groups) {
    next.Prefetch(groups);
    MultiplyGroups<kTracked>(few.first + c, count, few.stride, products.From(c));
  }
  if (c == columns) return;
  few.first += c;
  MultiplyNarrowRows<kTracked>(few, columns - c, products.From(c));
}

template <typename T, bool kTracked>
void MultiplyColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                     const ApproximateProducts& products) {
  // Rows are multiplied in the order of their numbers: tracked products are used if nothing else
  // decides, and must not depend on the machine.
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    if (few.count == kFewRows) return MultiplyFewRows<kTracked, kFewRows>(few, columns, products);
    MultiplyFewRows<kTracked, 0>(few, columns, products);
  });
}

template <typename T>
void MergeLanes(const ApproximateProducts& products, int64_t count) {
  const int64_t vector = static_cast<int64_t>(hn::Lanes(Wide()));
  for (int64_t half = count / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; i += vector) {
      Products<true> merged = LoadProducts<true>(products.From(i));
      merged.Merge(LoadProducts<true>(products.From(i + half)));
      StoreProducts(merged, products.From(i));
    }
  }
}

template <typename T>
ApproximateProductKernels<T> MakeKernels(bool tracked) {
  if (tracked) return {MultiplyRow<T, true>, MultiplyColumns<T, true>, MergeLanes<T>};
  return {MultiplyRow<T, false>, MultiplyColumns<T, false>, nullptr};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
ApproximateProductKernels<T> ApproximateProductKernelsFor(bool tracked) {
  return DMLOP_CHOOSE(MakeKernels<T>)(tracked);
}

template ApproximateProductKernels<float> ApproximateProductKernelsFor(bool);
template ApproximateProductKernels<Half> ApproximateProductKernelsFor(bool);

}  // namespace dmlop
#endif
