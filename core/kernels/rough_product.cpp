#include "core/kernels/rough_product.h"

#include <algorithm>
#include <bit>
#include <cmath>

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/rough_product.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/exact/error_free.h"
#include "core/kernels/dispatch.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

using WideBits = hn::RebindToUnsigned<Wide>;
using WideBitsVec = hn::Vec<WideBits>;

constexpr uint64_t kExponentField = uint64_t{0x7FF} << 52;
constexpr uint64_t kOne = uint64_t{1023} << 52;  // the bits of 1.0

// Multiplications before Normalize: the head grows to 2^65 at most.
constexpr int64_t kMaxPending = 64;

// The state of one vector of groups (or of lanes of one group).
struct Accumulator {
  WideVec head, tail;
  WideBitsVec exponent, sign;
  BitsVec least, greatest;

  HWY_INLINE void Multiply(NarrowVec x) {
    const Wide d;
    const WideBits bits;
    const BitsVec magnitude = hn::BitCast(NarrowBits(), hn::Abs(x));
    least = hn::Min(least, magnitude);
    greatest = hn::Max(greatest, magnitude);

    const WideBitsVec factor = hn::BitCast(bits, hn::PromoteTo(d, x));
    const WideBitsVec one = hn::Set(bits, kOne);
    sign = hn::Xor(sign, factor);
    const WideBitsVec field = hn::And(factor, hn::Set(bits, kExponentField));
    exponent = hn::Add(exponent, hn::Sub(hn::ShiftRight<52>(field), hn::Set(bits, uint64_t{1023})));
    const WideVec mantissa =
        hn::BitCast(d, hn::Or(hn::And(factor, hn::Set(bits, (uint64_t{1} << 52) - 1)), one));

    const WideVec product = hn::Mul(head, mantissa);
    tail = hn::Add(hn::Mul(tail, mantissa), Error(mantissa, product));
    head = product;
  }

  // head * mantissa - product, which is exact: the mantissa has 24 bits, so both parts of a head
  // cut into 26 and 27 bits have exact products with it. Fused or not, the bits are the same.
  HWY_INLINE WideVec Error(WideVec mantissa, WideVec product) const {
#if HWY_NATIVE_FMA
    return hn::MulSub(head, mantissa, product);
#else
    const WideBits bits;
    const WideBitsVec high_bits =
        hn::AndNot(hn::Set(bits, (uint64_t{1} << 27) - 1), hn::BitCast(bits, head));
    const WideVec high = hn::BitCast(Wide(), high_bits);
    const WideVec low = hn::Sub(head, high);
    return hn::Add(hn::Sub(hn::Mul(high, mantissa), product), hn::Mul(low, mantissa));
#endif
  }

  // Brings the head back to [1, 2).
  HWY_INLINE void Normalize() {
    const Wide d;
    const WideBits bits;
    const WideVec sum = hn::Add(head, tail);
    tail = hn::Sub(tail, hn::Sub(sum, head));
    const WideBitsVec field = hn::And(hn::BitCast(bits, sum), hn::Set(bits, kExponentField));
    const WideBitsVec one = hn::Set(bits, kOne);
    exponent = hn::Add(exponent, hn::ShiftRight<52>(hn::Sub(field, one)));
    // 2^-e has the exponent field 2 * 1023 - (1023 + e).
    const WideVec scale = hn::BitCast(d, hn::Sub(hn::Add(one, one), field));
    head = hn::Mul(sum, scale);
    tail = hn::Mul(tail, scale);
  }
};

HWY_INLINE Accumulator Load(const RoughProducts& products) {
  const WideBits bits;
  return {hn::LoadU(Wide(), products.head),
          hn::LoadU(Wide(), products.tail),
          hn::LoadU(bits, reinterpret_cast<const uint64_t*>(products.exponent)),
          hn::LoadU(bits, products.sign),
          hn::LoadU(NarrowBits(), products.least),
          hn::LoadU(NarrowBits(), products.greatest)};
}

HWY_INLINE void Store(const Accumulator& accumulator, const RoughProducts& products) {
  const WideBits bits;
  hn::StoreU(accumulator.head, Wide(), products.head);
  hn::StoreU(accumulator.tail, Wide(), products.tail);
  hn::StoreU(accumulator.exponent, bits, reinterpret_cast<uint64_t*>(products.exponent));
  hn::StoreU(accumulator.sign, bits, products.sign);
  hn::StoreU(accumulator.least, NarrowBits(), products.least);
  hn::StoreU(accumulator.greatest, NarrowBits(), products.greatest);
}

template <typename T>
HWY_INLINE void MultiplyElement(T element, const RoughProducts& products) {
  const float x = WidenElement(element);
  double head = static_cast<double>(x);
  double tail = 0;
  int64_t exponent = 0;
  uint64_t sign = std::bit_cast<uint64_t>(head);
  uint32_t magnitude = std::bit_cast<uint32_t>(std::fabs(x));
  if (magnitude != 0 && std::isfinite(x)) {
    int binary_exponent = 0;
    head = 2 * std::frexp(std::fabs(head), &binary_exponent);
    exponent = binary_exponent - 1;
  } else {
    head = 1;
  }
  MultiplyGroup(products, {&head, &tail, &exponent, &sign, &magnitude, &magnitude});
}

template <typename T>
void MultiplyRow(const T* x, int64_t count, const RoughProducts& products) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t i = 0;
  if (count >= lanes) {
    HWY_ALIGN double heads[hn::MaxLanes(Wide())], tails[hn::MaxLanes(Wide())];
    HWY_ALIGN int64_t exponents[hn::MaxLanes(Wide())] = {};
    HWY_ALIGN uint64_t signs[hn::MaxLanes(Wide())] = {};
    HWY_ALIGN uint32_t least[hn::MaxLanes(Wide())], greatest[hn::MaxLanes(Wide())];
    std::fill_n(heads, lanes, 1.0);
    std::fill_n(tails, lanes, 0.0);
    std::fill_n(least, lanes, 0x7F7FFFFFu);
    std::fill_n(greatest, lanes, 0u);
    Accumulator accumulator = Load({heads, tails, exponents, signs, least, greatest});
    while (i + lanes <= count) {
      const int64_t end = HWY_MIN(count, i + kMaxPending * lanes);
      for (; i + lanes <= end; i += lanes) accumulator.Multiply(LoadNarrow(x + i));
      accumulator.Normalize();
    }
    Store(accumulator, {heads, tails, exponents, signs, least, greatest});
    for (int64_t lane = 0; lane < lanes; ++lane) {
      MultiplyGroup(products, {heads + lane, tails + lane, exponents + lane, signs + lane,
                               least + lane, greatest + lane});
    }
  }
  for (; i < count; ++i) MultiplyElement(x[i], products);
}

// All columns of a few rows at a time, so that the rows are read as streams.
constexpr int64_t kRowsAtATime = 16;
static_assert(kRowsAtATime <= kMaxPending);

template <typename T>
void MultiplyColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                     const RoughProducts& p) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  for (int64_t row = 0; row < rows; row += kRowsAtATime) {
    const int64_t end = HWY_MIN(rows, row + kRowsAtATime);
    for (int64_t c = 0; c < columns; c += lanes) {
      const RoughProducts at = {p.head + c, p.tail + c,  p.exponent + c,
                                p.sign + c, p.least + c, p.greatest + c};
      if (c + lanes <= columns) {
        Accumulator accumulator = Load(at);
        for (int64_t r = row; r < end; ++r) {
          accumulator.Multiply(LoadNarrow(x + r * row_stride + c));
        }
        accumulator.Normalize();
        Store(accumulator, at);
        continue;
      }
      for (int64_t rest = 0; c + rest < columns; ++rest) {
        for (int64_t r = row; r < end; ++r) {
          MultiplyElement(x[r * row_stride + c + rest],
                          {at.head + rest, at.tail + rest, at.exponent + rest, at.sign + rest,
                           at.least + rest, at.greatest + rest});
        }
      }
    }
  }
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
  const HeadTail product = FastTwoSum(head, tail);
  const int exponent = std::ilogb(product.head);  // 0, or 1 where the product reaches 2
  *products.head = std::ldexp(product.head, -exponent);
  *products.tail = std::ldexp(product.tail, -exponent);
  *products.exponent += *other.exponent + exponent;
  *products.sign ^= *other.sign;
  *products.least = std::min(*products.least, *other.least);
  *products.greatest = std::max(*products.greatest, *other.greatest);
}

}  // namespace dmlop

#endif  // HWY_ONCE
