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
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

using WideBits = hn::RebindToUnsigned<Wide>;
using WideBitsVec = hn::Vec<WideBits>;

constexpr uint64_t kExponentField = uint64_t{0x7FF} << 52;
constexpr uint64_t kOne = uint64_t{1023} << 52;  // the bits of 1.0

// Factors of one step: of magnitudes between these two they leave the head and all rounding errors
// far inside the range of binary64.
constexpr int64_t kFactorsPerStep = 16;

// Elements whose product is exact: 2 * 24 or 4 * 11 bits.
template <typename T>
constexpr int64_t kExactFactors = std::is_same_v<T, Half> ? 4 : 2;

static_assert(kRowsAtATime <= kFactorsPerStep);
constexpr uint32_t kLeastModest = (127 - 48) << 23;     // bits of 2^-48
constexpr uint32_t kGreatestModest = (127 + 48) << 23;  // bits of 2^48
constexpr uint32_t kGreatest = 0x7F7FFFFF;              // bits of the largest number

// The state of one vector of groups (or of lanes of one group).
struct Accumulator {
  WideVec head, tail;
  WideBitsVec exponent;
  BitsVec least, greatest;

  // Multiplies by `count` vectors, at most kFactorsPerStep, `step` elements apart.
  template <typename T>
  HWY_INLINE void Multiply(const T* x, int64_t count, int64_t step) {
    const NarrowBits narrow;
    BitsVec low = hn::Set(narrow, kGreatest), high = hn::Zero(narrow);
    const auto next = [&](int64_t i) HWY_ATTR {
      const NarrowVec value = LoadNarrow(x + i * step);
      const BitsVec magnitude = hn::BitCast(narrow, hn::Abs(value));
      low = hn::Min(low, magnitude);
      high = hn::Max(high, magnitude);
      return hn::PromoteTo(Wide(), value);
    };
    const Accumulator before = *this;
    WideVec errors = hn::Zero(Wide());
    int64_t i = 0;
    for (; i + kExactFactors<T> <= count; i += kExactFactors<T>) {
      WideVec factor = hn::Mul(next(i), next(i + 1));
      if constexpr (kExactFactors<T> == 4) {
        factor = hn::Mul(factor, hn::Mul(next(i + 2), next(i + 3)));
      }
      MultiplyBy(factor, errors);
    }
    for (; i < count; ++i) MultiplyBy(next(i), errors);
    if (HWY_UNLIKELY(!AreModest(low, high))) {
      *this = before;
      errors = hn::Zero(Wide());
      for (i = 0; i < count; ++i) MultiplyBy(Mantissa(LoadNarrow(x + i * step)), errors);
    }
    least = hn::Min(least, low);
    greatest = hn::Max(greatest, high);
    Normalize(errors);
  }

  static HWY_INLINE bool AreModest(BitsVec low, BitsVec high) {
    const NarrowBits bits;
    return hn::AllTrue(bits, hn::Eq(low, hn::Max(low, hn::Set(bits, kLeastModest)))) &&
           hn::AllTrue(bits, hn::Eq(high, hn::Min(high, hn::Set(bits, kGreatestModest))));
  }

  // The factor has at most 48 bits. Collects the rounding errors' bits.
  HWY_INLINE void MultiplyBy(WideVec factor, WideVec& errors) {
    const WideVec product = hn::Mul(head, factor);
    const WideVec error = Error(factor, product);
    tail = hn::Add(hn::Mul(tail, factor), error);
    head = product;
    errors = hn::Or(errors, error);
  }

  // Takes the exponent out of a vector of factors. Of zeros, infinities and NaN only the sign
  // matters.
  HWY_INLINE WideVec Mantissa(NarrowVec x) {
    const WideBits bits;
    const WideBitsVec factor = hn::BitCast(bits, hn::PromoteTo(Wide(), x));
    const WideBitsVec one = hn::Set(bits, kOne);
    const WideBitsVec field = hn::And(factor, hn::Set(bits, kExponentField));
    exponent = hn::Add(exponent, ShiftRightSigned(hn::Sub(field, one)));
    return hn::BitCast(Wide(), hn::Or(hn::AndNot(hn::Set(bits, kExponentField), factor), one));
  }

  // head * factor - product, which is exact.
  HWY_INLINE WideVec Error(WideVec factor, WideVec product) const {
#if HWY_NATIVE_FMA
    return hn::MulSub(head, factor, product);
#else
    // Dekker's: both cut into halves whose products are exact.
    const WideVec head_high = UpperHalf(head);
    const WideVec head_low = hn::Sub(head, head_high);
    const WideVec factor_high = UpperHalf(factor);
    const WideVec factor_low = hn::Sub(factor, factor_high);
    WideVec error = hn::Sub(hn::Mul(head_high, factor_high), product);
    error = hn::Add(error, hn::Mul(head_high, factor_low));
    error = hn::Add(error, hn::Mul(head_low, factor_high));
    return hn::Add(error, hn::Mul(head_low, factor_low));
#endif
  }

  // The upper 26 bits.
  static HWY_INLINE WideVec UpperHalf(WideVec x) {
    const WideBits bits;
    return hn::BitCast(Wide(),
                       hn::AndNot(hn::Set(bits, (uint64_t{1} << 27) - 1), hn::BitCast(bits, x)));
  }

  // Brings the head's magnitude back to [1, 2). A product that was rounded keeps a tail.
  HWY_INLINE void Normalize(WideVec errors) {
    const Wide d;
    const WideBits bits;
    const WideVec sum = hn::Add(head, tail);
    const WideVec rest = hn::Sub(tail, hn::Sub(sum, head));
    const WideBitsVec field = hn::And(hn::BitCast(bits, sum), hn::Set(bits, kExponentField));
    const WideBitsVec one = hn::Set(bits, kOne);
    exponent = hn::Add(exponent, ShiftRightSigned(hn::Sub(field, one)));
    // 2^-e has the exponent field 2 * 1023 - (1023 + e).
    const WideVec scale = hn::BitCast(d, hn::Sub(hn::Add(one, one), field));
    const WideVec zero = hn::Zero(d);
    const auto inexact = hn::Or(hn::Ne(errors, zero), hn::Ne(tail, zero));
    head = hn::Mul(sum, scale);
    tail = hn::Mul(rest, scale);
    tail = hn::IfThenElse(hn::And(inexact, hn::Eq(tail, zero)), hn::Set(d, RoughProducts::kInexact),
                          tail);
  }

  // By 52 places, of a difference of exponent fields.
  static HWY_INLINE WideBitsVec ShiftRightSigned(WideBitsVec x) {
    const WideBits bits;
    const hn::RebindToSigned<WideBits> integers;
    return hn::BitCast(bits, hn::ShiftRight<52>(hn::BitCast(integers, x)));
  }
};

HWY_INLINE Accumulator Load(const RoughProducts& products) {
  const WideBits bits;
  return {hn::LoadU(Wide(), products.head), hn::LoadU(Wide(), products.tail),
          hn::LoadU(bits, reinterpret_cast<const uint64_t*>(products.exponent)),
          hn::LoadU(NarrowBits(), products.least), hn::LoadU(NarrowBits(), products.greatest)};
}

HWY_INLINE void Store(const Accumulator& accumulator, const RoughProducts& products) {
  const WideBits bits;
  hn::StoreU(accumulator.head, Wide(), products.head);
  hn::StoreU(accumulator.tail, Wide(), products.tail);
  hn::StoreU(accumulator.exponent, bits, reinterpret_cast<uint64_t*>(products.exponent));
  hn::StoreU(accumulator.least, NarrowBits(), products.least);
  hn::StoreU(accumulator.greatest, NarrowBits(), products.greatest);
}

template <typename T>
HWY_INLINE void MultiplyElement(T element, const RoughProducts& products) {
  const float x = WidenElement(element);
  double head = static_cast<double>(x);
  double tail = 0;
  int64_t exponent = 0;
  uint32_t magnitude = std::bit_cast<uint32_t>(std::fabs(x));
  if (magnitude != 0 && std::isfinite(x)) {
    int binary_exponent = 0;
    head = 2 * std::frexp(head, &binary_exponent);
    exponent = binary_exponent - 1;
  } else {
    head = std::copysign(1.0, head);
  }
  MultiplyGroup(products, {&head, &tail, &exponent, &magnitude, &magnitude});
}

template <typename T>
void MultiplyRow(const T* x, int64_t count, const RoughProducts& products) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t i = 0;
  if (count >= lanes) {
    HWY_ALIGN double heads[hn::MaxLanes(Wide())], tails[hn::MaxLanes(Wide())];
    HWY_ALIGN int64_t exponents[hn::MaxLanes(Wide())] = {};
    HWY_ALIGN uint32_t least[hn::MaxLanes(Wide())], greatest[hn::MaxLanes(Wide())];
    std::fill_n(heads, lanes, 1.0);
    std::fill_n(tails, lanes, 0.0);
    std::fill_n(least, lanes, kGreatest);
    std::fill_n(greatest, lanes, 0u);
    Accumulator accumulator = Load({heads, tails, exponents, least, greatest});
    for (; i + lanes <= count;) {
      const int64_t vectors = std::min(kFactorsPerStep, (count - i) / lanes);
      accumulator.Multiply(x + i, vectors, lanes);
      i += vectors * lanes;
    }
    Store(accumulator, {heads, tails, exponents, least, greatest});
    for (int64_t lane = 0; lane < lanes; ++lane) {
      MultiplyGroup(products,
                    {heads + lane, tails + lane, exponents + lane, least + lane, greatest + lane});
    }
  }
  for (; i < count; ++i) MultiplyElement(x[i], products);
}

template <typename T>
void MultiplyColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                     const RoughProducts& p) {
  const auto at = [&](int64_t c) {
    return RoughProducts{p.head + c, p.tail + c, p.exponent + c, p.least + c, p.greatest + c};
  };
  const auto vector = [&](const T* from, int64_t count, int64_t c) HWY_ATTR {
    Accumulator accumulator = Load(at(c));
    accumulator.Multiply(from, count, row_stride);
    Store(accumulator, at(c));
  };
  const auto single = [&](const T* from, int64_t count, int64_t c) HWY_ATTR {
    for (int64_t row = 0; row < count; ++row) MultiplyElement(from[row * row_stride], at(c));
  };
  ForEachColumns(x, rows, row_stride, columns, static_cast<int64_t>(hn::Lanes(Wide())), vector,
                 single);
}

template <typename T>
RoughProductKernels<T> MakeKernels() {
  return {MultiplyRow<T>, MultiplyColumns<T>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
RoughProductKernels<T> RoughProductKernelsFor() {
  constexpr IsaForms<RoughProductKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)();
}

template RoughProductKernels<float> RoughProductKernelsFor();
template RoughProductKernels<Half> RoughProductKernelsFor();

void MultiplyGroup(const RoughProducts& products, const RoughProducts& other) {
  const double head = *products.head * *other.head;
  const double error = std::fma(*products.head, *other.head, -head);
  const double tail = error + (*products.head * *other.tail + *products.tail * *other.head);
  const bool exact = error == 0 && *products.tail == 0 && *other.tail == 0;
  const HeadTail product = FastTwoSum(head, tail);
  const int exponent = std::ilogb(product.head);  // 0, or 1 where the product reaches 2
  *products.head = std::ldexp(product.head, -exponent);
  *products.tail = std::ldexp(product.tail, -exponent);
  if (!exact && *products.tail == 0) *products.tail = RoughProducts::kInexact;
  *products.exponent += *other.exponent + exponent;
  *products.least = std::min(*products.least, *other.least);
  *products.greatest = std::max(*products.greatest, *other.greatest);
}

}  // namespace dmlop

#endif  // HWY_ONCE
