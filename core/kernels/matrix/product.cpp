// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/exact/double_double.h"
#include "core/kernels/reduce/accumulator-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using DoubleVec = hn::Vec<Doubles>;

// As many sums as the 32 or 16 registers hold, next to their operands.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int64_t kRowWidth = 8;
#else
inline constexpr int64_t kRowWidth = 4;
#endif
inline constexpr int64_t kColumnVectors = 3;

inline constexpr size_t kLanes = hn::MaxLanes(Doubles());
static_assert(kColumnVectors * kLanes <= kMaxPanelWidth);

HWY_INLINE double* TileRow(double* sums, int64_t row) {
  return sums + row * kColumnVectors * static_cast<int64_t>(kLanes);
}

// The products are exact, so it does not matter whether they are fused with the additions.
template <bool kBegins, int64_t kRows, int64_t kVectors>
void MultiplyRows(int64_t depth, const double* HWY_RESTRICT rows,
                  const double* HWY_RESTRICT columns, double* HWY_RESTRICT sums,
                  const double* next) {
  const Doubles d;
  DoubleVec chains[kRows][kVectors];
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int64_t c = 0; c < kVectors; ++c) chains[r][c] = hn::Set(d, -0.0);
  }
  for (int64_t k = 0; k < depth; ++k) {
    PrefetchLine(reinterpret_cast<const std::byte*>(next) + k * kLineBytes);
    DoubleVec column[kVectors];
#pragma GCC unroll 3
    for (int64_t c = 0; c < kVectors; ++c) {
      column[c] = hn::Load(d, columns + c * static_cast<int64_t>(kLanes));
    }
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) {
      const DoubleVec row = hn::Set(d, rows[r]);
#pragma GCC unroll 3
      for (int64_t c = 0; c < kVectors; ++c) {
        chains[r][c] = hn::MulAdd(row, column[c], chains[r][c]);
      }
    }
    rows += kRowWidth;
    columns += kColumnVectors * kLanes;
  }
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int64_t c = 0; c < kVectors; ++c) {
      double* sum = TileRow(sums, r) + c * static_cast<int64_t>(kLanes);
      if constexpr (kBegins) {
        hn::Store(chains[r][c], d, sum);
      } else {
        hn::Store(hn::Add(hn::Load(d, sum), chains[r][c]), d, sum);
      }
    }
  }
}

template <bool kBegins>
void Multiply(int64_t depth, int64_t row_count, int64_t column_count, const double* rows,
              const double* columns, double* sums, const double* next) {
  constexpr int64_t kMost = kColumnVectors;
  constexpr int64_t kVector = static_cast<int64_t>(kLanes);
  const auto multiply = [&](auto* function) { function(depth, rows, columns, sums, next); };
  if (row_count == 1) return multiply(MultiplyRows<kBegins, 1, kMost>);
  if (row_count == 2) return multiply(MultiplyRows<kBegins, 2, kMost>);
  if (kRowWidth > 4 && row_count <= 4) return multiply(MultiplyRows<kBegins, 4, kMost>);
  if (column_count <= kVector) return multiply(MultiplyRows<kBegins, kRowWidth, 1>);
  if (column_count <= 2 * kVector) return multiply(MultiplyRows<kBegins, kRowWidth, 2>);
  multiply(MultiplyRows<kBegins, kRowWidth, kMost>);
}

void AddSquares(int64_t depth, int64_t width, const double* HWY_RESTRICT panel,
                double* HWY_RESTRICT squares) {
  const Doubles d;
  for (int64_t i = 0; i < width; i += static_cast<int64_t>(kLanes)) {
    DoubleVec even = hn::LoadU(d, squares + i);
    DoubleVec odd = hn::Zero(d);
    int64_t k = 0;
    for (; k + 2 <= depth; k += 2) {
      const DoubleVec x = hn::Load(d, panel + k * width + i);
      const DoubleVec y = hn::Load(d, panel + (k + 1) * width + i);
      even = hn::MulAdd(x, x, even);
      odd = hn::MulAdd(y, y, odd);
    }
    if (k < depth) {
      const DoubleVec x = hn::Load(d, panel + k * width + i);
      even = hn::MulAdd(x, x, even);
    }
    hn::StoreU(hn::Add(even, odd), d, squares + i);
  }
}

void ScanBits(int64_t count, const double* panel, double* lowest_bit, double* greatest) {
  const Doubles d;
  const hn::RebindToSigned<Doubles> integers;
  const DoubleVec infinity = hn::Set(d, INFINITY);
  DoubleVec low = infinity;
  DoubleVec high = hn::Zero(d);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(kLanes)) {
    const DoubleVec number = hn::Abs(hn::Load(d, panel + i));
    const DoubleVec x = hn::IfThenElse(hn::IsFinite(number), number, infinity);
    const auto bits = hn::BitCast(integers, x);
    const auto without_last = hn::And(bits, hn::Sub(bits, hn::Set(integers, 1)));
    const auto mantissa = hn::And(bits, hn::Set(integers, (int64_t{1} << 52) - 1));
    const auto is_power = hn::RebindMask(d, hn::Eq(mantissa, hn::Zero(integers)));
    const DoubleVec bit = hn::IfThenElse(is_power, x, hn::Sub(x, hn::BitCast(d, without_last)));
    low = hn::Min(low, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), infinity, bit));
    high = hn::Max(high, x);
  }
  *lowest_bit = hn::GetLane(hn::MinOfLanes(d, low));
  *greatest = hn::GetLane(hn::MaxOfLanes(d, high));
}

// A sum, the sum of its rounding errors, and a sum of magnitudes that bounds the error of the
// latter: those of all errors, or with kIsFine only those that adding the errors made.
template <class V>
struct CompensatedSum {
  V sum, errors, magnitudes;
};

template <bool kIsFine, class D>
HWY_INLINE void AddError(D d, hn::Vec<D> error, CompensatedSum<hn::Vec<D>>& total) {
  if constexpr (kIsFine) {
    const auto errors = AddExactly(d, total.errors, error);
    total.errors = errors.head;
    total.magnitudes = hn::Add(total.magnitudes, hn::Abs(errors.tail));
  } else {
    total.errors = hn::Add(total.errors, error);
    total.magnitudes = hn::Add(total.magnitudes, hn::Abs(error));
  }
}

template <bool kIsFine, class D>
HWY_INLINE void AddTerm(D d, hn::Vec<D> term, CompensatedSum<hn::Vec<D>>& total) {
  const auto sum = AddExactly(d, total.sum, term);
  total.sum = sum.head;
  AddError<kIsFine>(d, sum.tail, total);
}

// Adds a partial sum. Its errors do not become terms, which might change the sign of a zero.
template <bool kIsFine, class D>
HWY_INLINE void AddSum(D d, const CompensatedSum<hn::Vec<D>>& sum,
                       CompensatedSum<hn::Vec<D>>& total) {
  total.magnitudes = hn::Add(total.magnitudes, sum.magnitudes);
  AddError<kIsFine>(d, sum.errors, total);
  AddTerm<kIsFine>(d, sum.sum, total);
}

template <bool kIsFine>
void AddTerm(double term, CompensatedSum<double>& total) {
  const HeadTail sum = TwoSum(total.sum, term);
  const HeadTail errors = TwoSum(total.errors, sum.tail);
  total.sum = sum.head;
  total.errors = errors.head;
  total.magnitudes += std::fabs(kIsFine ? errors.tail : sum.tail);
}

template <bool kIsFine>
PreciseSum Dot(int64_t count, const double* a, const double* b) {
  const Doubles d;
  constexpr int64_t kChains = 4;
  const int64_t lanes = static_cast<int64_t>(kLanes);
  const CompensatedSum<DoubleVec> empty{hn::Set(d, -0.0), hn::Zero(d), hn::Zero(d)};
  CompensatedSum<DoubleVec> chains[kChains] = {empty, empty, empty, empty};
  int64_t i = 0;
  for (; i + kChains * lanes <= count; i += kChains * lanes) {
#pragma GCC unroll 4
    for (int64_t c = 0; c < kChains; ++c) {
      const int64_t at = i + c * lanes;
      AddTerm<kIsFine>(d, hn::Mul(hn::LoadU(d, a + at), hn::LoadU(d, b + at)), chains[c]);
    }
  }
  for (int64_t c = 1; c < kChains; ++c) AddSum<kIsFine>(d, chains[c], chains[0]);
  CompensatedSum<double> total{-0.0, 0, 0};
  HWY_ALIGN double sums[kLanes];
  HWY_ALIGN double errors[kLanes];
  hn::Store(chains[0].sum, d, sums);
  hn::Store(chains[0].errors, d, errors);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    AddTerm<kIsFine>(sums[lane], total);
    if (errors[lane] != 0) AddTerm<kIsFine>(errors[lane], total);
  }
  total.magnitudes += hn::GetLane(hn::SumOfLanes(d, chains[0].magnitudes));
  for (; i < count; ++i) AddTerm<kIsFine>(a[i] * b[i], total);
  if (total.errors == 0 && total.magnitudes == 0) return {total.sum, 0, 0};
  const HeadTail sum = TwoSum(total.sum, total.errors);
  constexpr double kCombinations = 64;
  const double roundings = static_cast<double>(count) + kCombinations;
  const double bound = total.magnitudes * (kIsFine ? 1 + roundings * 0x1p-52 : roundings * 0x1p-52);
  return {sum.head, sum.tail, bound};
}

PreciseSum PreciseDot(int64_t count, const double* a, const double* b) {
  return Dot<false>(count, a, b);
}
PreciseSum FineDot(int64_t count, const double* a, const double* b) {
  return Dot<true>(count, a, b);
}

// Stores a vector of terms, each 0 or at least the least term of ExactSum, in the form that it
// takes.
HWY_INLINE void Split(DoubleVec term, size_t at, SplitTerms& to) {
  const Doubles d;
  const hn::RebindToSigned<Doubles> integers;
  const hn::RebindToUnsigned<Doubles> naturals;
  constexpr int64_t kHiddenBit = int64_t{1} << ExactSum::kMantissaBits;
  const auto bits = hn::BitCast(integers, term);
  const auto is_term = hn::RebindMask(integers, hn::Ne(term, hn::Zero(d)));
  const auto exponent =
      hn::ShiftRight<ExactSum::kMantissaBits>(hn::BitCast(integers, hn::Abs(term)));
  const auto position = hn::IfThenElseZero(
      is_term, hn::Sub(exponent, hn::Set(integers, ExactSum::kLowestBiasedExponent)));
  const auto significand = hn::IfThenElseZero(
      is_term,
      hn::Or(hn::And(bits, hn::Set(integers, kHiddenBit - 1)), hn::Set(integers, kHiddenBit)));
  const auto sign = hn::BroadcastSignBit(bits);
  const auto number = hn::Sub(hn::Xor(significand, sign), sign);
  const auto last = hn::Set(integers, ExactSum::kPartBits - 1);
  const auto shift = hn::And(position, last);
  const auto low = hn::Shl(number, shift);
  const auto high = hn::Shr(hn::ShiftRight<1>(number), hn::Xor(shift, last));
  hn::Store(hn::BitCast(naturals, low), naturals, to.low.data() + at);
  hn::Store(high, integers, to.high.data() + at);
  hn::Store(hn::BitCast(naturals, hn::ShiftRight<6>(position)), naturals, to.part.data() + at);
}

void ExactDot(int64_t count, const double* a, const double* b, ExactSum& sum) {
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(kLanes);
  SplitTerms terms;
  int64_t i = 0;
  while (i + lanes <= count) {
    const int64_t few = std::min(SplitTerms::kMostCount, count - i) / lanes * lanes;
    for (int64_t k = 0; k < few; k += lanes) {
      Split(hn::Mul(hn::LoadU(d, a + i + k), hn::LoadU(d, b + i + k)), static_cast<size_t>(k),
            terms);
    }
    sum.Add(terms, few);
    i += few;
  }
  for (; i < count; ++i) sum.Add(a[i] * b[i]);
}

ProductKernels Kernels() {
  constexpr int64_t kVector = static_cast<int64_t>(kLanes);
  return {kRowWidth, kColumnVectors * kVector, kVector, Multiply<true>, Multiply<false>, AddSquares,
          ScanBits};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

ProductKernels ProductKernelsNow() {
  return DMLOP_CHOOSE(Kernels)();
}

PreciseDotFunction* PreciseDotFunctionNow() {
  return DMLOP_CHOOSE(PreciseDot);
}

PreciseDotFunction* FineDotFunctionNow() {
  return DMLOP_CHOOSE(FineDot);
}

ExactDotFunction* ExactDotFunctionNow() {
  return DMLOP_CHOOSE(ExactDot);
}

}  // namespace dmlop
#endif
