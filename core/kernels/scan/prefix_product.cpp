// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/scan/prefix_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/scan/prefix_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "core/kernels/element_wise/odd-inl.h"
#include "core/kernels/reduce/product_parts-inl.h"
#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Number of rows by which a head of magnitude in [1, 16) can be multiplied while it stays between
// 2^-384 and 2^260.
template <typename T>
constexpr int64_t kRowsPerStep = std::is_same_v<T, Half> ? 16 : 2;

// With such a head and this exponent, any product overflows or underflows in every float type, but
// stays in the range of binary64.
constexpr int64_t kFarExponent = 600;

// The products of a vector of sequences. Heads propagate zeros, infinities and NaN as IEEE 754
// multiplies them.
struct Prefixes {
  WideVec head;
  WideVec tail;
  WideBitsVec exponent;
  WideVec power;  // 2^exponent, the exponent clamped to kFarExponent

  HWY_INLINE void MultiplyBy(WideVec factor) {
    const WideVec product = hn::Mul(head, factor);
    const WideVec error = ProductError(head, factor, product);
    const WideVec rest = hn::Add(hn::Mul(tail, factor), error);  // not fused: the same bits
    // The rest of a special head is NaN or 0, and the head then stays as it is.
    const auto has_rest = hn::Gt(hn::Abs(rest), hn::Zero(Wide()));
    head = hn::IfThenElse(has_rest, hn::Add(product, rest), product);
    tail = hn::IfThenElseZero(has_rest, hn::Sub(rest, hn::Sub(head, product)));
  }

  HWY_INLINE void Normalize() {
    const WideVec scale = TakeOutPower(head, exponent);
    head = hn::Mul(head, scale);
    tail = hn::Mul(tail, scale);
    SetPower();
  }

  HWY_INLINE void SetPower() {
    const hn::RebindToSigned<Wide> integers;
    const auto near = hn::Min(hn::BitCast(integers, exponent), hn::Set(integers, kFarExponent));
    const auto field =
        hn::Add(hn::Max(near, hn::Set(integers, -kFarExponent)), hn::Set(integers, int64_t{1023}));
    power = hn::BitCast(Wide(), hn::ShiftLeft<52>(field));
  }

  template <typename T>
  HWY_INLINE void Write(T* x) const {
    const Sum<WideVec> scaled{hn::Mul(head, power), hn::Mul(tail, power)};
    StoreRoundedOnce(Wide(), ToOdd(Wide(), scaled), x);
  }
};

HWY_INLINE Prefixes LoadPrefixes(const ApproximateProducts& p) {
  Prefixes prefixes{hn::LoadU(Wide(), p.head), hn::LoadU(Wide(), p.tail),
                    hn::LoadU(WideBits(), reinterpret_cast<const uint64_t*>(p.exponent)),
                    hn::Zero(Wide())};
  prefixes.SetPower();
  return prefixes;
}

HWY_INLINE void StorePrefixes(const Prefixes& prefixes, const ApproximateProducts& p) {
  hn::StoreU(prefixes.head, Wide(), p.head);
  hn::StoreU(prefixes.tail, Wide(), p.tail);
  hn::StoreU(prefixes.exponent, WideBits(), reinterpret_cast<uint64_t*>(p.exponent));
}

// Two vectors of sequences are interleaved to hide the latency of a step.
template <typename T>
HWY_INLINE void MultiplyGroup(T* x, int64_t rows, int64_t columns, bool is_exclusive,
                              const ApproximateProducts& products) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  Prefixes low = LoadPrefixes(products);
  Prefixes high = LoadPrefixes(products.From(lanes));
  const auto write = [&]() HWY_ATTR {
    low.Write(x);
    high.Write(x + lanes);
  };
  for (int64_t row = 1; row <= rows; ++row, x += columns) {
    const WideVec low_factor = LoadWide(x);
    const WideVec high_factor = LoadWide(x + lanes);
    if (is_exclusive) write();
    low.MultiplyBy(low_factor);
    high.MultiplyBy(high_factor);
    if (!is_exclusive) write();
    if (row % kRowsPerStep<T> != 0 && row != rows) continue;
    low.Normalize();
    high.Normalize();
  }
  StorePrefixes(low, products);
  StorePrefixes(high, products.From(lanes));
}

template <typename T>
void MultiplyPrefixes(T* x, int64_t rows, int64_t columns, bool is_exclusive,
                      const ApproximateProducts& products) {
  const int64_t group = 2 * static_cast<int64_t>(hn::Lanes(Wide()));
  for (int64_t c = 0; c < columns; c += group) {
    MultiplyGroup(x + c, rows, columns, is_exclusive, products.From(c));
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
PrefixProductKernel<T>* PrefixProductKernelFor() {
  return DMLOP_CHOOSE(MultiplyPrefixes<T>);
}

template PrefixProductKernel<float>* PrefixProductKernelFor();
template PrefixProductKernel<Half>* PrefixProductKernelFor();

}  // namespace dmlop
#endif
