// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/attention/attention.h"

#include <cmath>
#include <iterator>
#include <type_traits>

#include "core/kernels/reduce/powers_of_two.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/attention/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::CappedTag<double, kAttentionStep>;
using NumberVec = hn::Vec<Numbers>;

constexpr int64_t kNumberLanes = hn::MaxLanes(Numbers());

// A tile is kTileRows rows by kTileVectors vectors of results that stay in registers.
constexpr int64_t kTileRows = 4;
#if HWY_TARGET <= HWY_AVX3
constexpr int64_t kTileVectors = 4;
#else
constexpr int64_t kTileVectors = 2;
#endif

template <int64_t kCount>
using Constant = std::integral_constant<int64_t, kCount>;

// Calls visit(vectors, i) for all numbers of a row: for a tile's width, as long as one fits, and
// then for single vectors.
template <typename Visit>
HWY_INLINE void ForVectors(int64_t count, Visit&& visit) {
  constexpr int64_t kWidth = kTileVectors * kNumberLanes;
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) visit(Constant<kTileVectors>(), i);
  for (; i < count; i += kNumberLanes) visit(Constant<1>(), i);
}

// --- scores --------------------------------------------------------------------------------------

// The product of two FLOAT32 numbers is exact, so fusing it with the addition changes no result.
template <int64_t kRows, int64_t kVectors>
HWY_INLINE void ScoreTile(const double* queries, int64_t count, const double* keys, int64_t size,
                          double scale, double* scores) {
  const Numbers d;
  NumberVec sums[kRows][kVectors];
  for (auto& row : sums) {
    for (NumberVec& sum : row) sum = hn::Zero(d);
  }
  for (int64_t e = 0; e < size; ++e) {
    NumberVec query[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      query[v] = hn::LoadU(d, queries + e * count + v * kNumberLanes);
    }
    for (int64_t r = 0; r < kRows; ++r) {
      const NumberVec key = hn::Set(d, keys[r * size + e]);
      for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(key, query[v], sums[r][v]);
    }
  }
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Mul(hn::Set(d, scale), sums[r][v]), d, scores + r * count + v * kNumberLanes);
    }
  }
}

void Score(const double* queries, int64_t count, const double* keys, int64_t rows, int64_t size,
           double scale, double* scores) {
  ForVectors(count, [&](auto vectors, int64_t i) HWY_ATTR {
    constexpr int64_t kVectors = decltype(vectors)::value;
    int64_t j = 0;
    for (; j + kTileRows <= rows; j += kTileRows) {
      ScoreTile<kTileRows, kVectors>(queries + i, count, keys + j * size, size, scale,
                                     scores + j * count + i);
    }
    for (; j < rows; ++j) {
      ScoreTile<1, kVectors>(queries + i, count, keys + j * size, size, scale,
                             scores + j * count + i);
    }
  });
}

// --- weights -------------------------------------------------------------------------------------

void FindMaxima(const double* scores, int64_t rows, int64_t count, double* maxima) {
  const Numbers d;
  for (int64_t i = 0; i < count; i += kNumberLanes) {
    NumberVec greatest = hn::Set(d, -INFINITY);
    for (int64_t j = 0; j < rows; ++j) {
      const NumberVec score = hn::LoadU(d, scores + j * count + i);
      const auto rises = hn::Or(hn::Gt(score, greatest), hn::IsNaN(score));
      greatest = hn::IfThenElse(rises, score, greatest);
    }
    hn::StoreU(greatest, d, maxima + i);
  }
}

HWY_INLINE NumberVec TimesPlus(NumberVec a, NumberVec b, NumberVec c) {
  return hn::Add(hn::Mul(a, b), c);
}

// Computes e^x for x <= 0 as 2^k times a polynomial, with k = x / ln 2 rounded. NaN stays NaN.
HWY_INLINE NumberVec ExpOf(NumberVec exponent) {
  const Numbers d;
  const hn::RebindToUnsigned<Numbers> bits;
  const NumberVec least = hn::Set(d, -708.0);
  const auto vanishes = hn::Lt(exponent, least);
  const NumberVec x = hn::IfThenElse(vanishes, least, exponent);
  // Adding 1.5 * 2^52 leaves k in the low bits of the sum.
  const NumberVec shifter = hn::Set(d, 0x1.8p52);
  const NumberVec shifted = TimesPlus(x, hn::Set(d, 0x1.71547652b82fep+0), shifter);
  const NumberVec k = hn::Sub(shifted, shifter);
  // The first part of ln 2 has 40 bits, so its product with k is exact.
  const NumberVec rest = hn::Sub(x, hn::Mul(k, hn::Set(d, 0x1.62e42fefa2000p-1)));
  const NumberVec r = hn::Sub(rest, hn::Mul(k, hn::Set(d, 0x1.9ef35793c7673p-41)));
  NumberVec polynomial = hn::Set(d, kExpm1Coefficients[std::size(kExpm1Coefficients) - 1]);
  for (size_t n = std::size(kExpm1Coefficients) - 1; n-- > 0;) {
    polynomial = TimesPlus(polynomial, r, hn::Set(d, kExpm1Coefficients[n]));
  }
  const auto biased = hn::Add(hn::BitCast(bits, shifted), hn::Set(bits, 1023));
  const NumberVec power = hn::BitCast(d, hn::ShiftLeft<52>(biased));
  const NumberVec result = TimesPlus(power, hn::Mul(r, polynomial), power);
  return hn::IfThenZeroElse(vanishes, result);
}

void Weigh(double* scores, int64_t rows, int64_t count, const double* maxima, double* sums) {
  const Numbers d;
  for (int64_t i = 0; i < count; i += kNumberLanes) {
    const NumberVec greatest = hn::LoadU(d, maxima + i);
    NumberVec sum = hn::Zero(d);
    for (int64_t begin = 0; begin < rows; begin += kAttentionKeys) {
      const int64_t end = HWY_MIN(begin + kAttentionKeys, rows);
      NumberVec block = hn::Zero(d);
      for (int64_t j = begin; j < end; ++j) {
        double* const score = scores + j * count + i;
        const NumberVec weight = ExpOf(hn::Sub(hn::LoadU(d, score), greatest));
        hn::StoreU(weight, d, score);
        block = hn::Add(block, weight);
      }
      sum = hn::Add(sum, block);
    }
    hn::StoreU(sum, d, sums + i);
  }
}

// --- values --------------------------------------------------------------------------------------

// Adds up one tile: kTileRows queries by kVectors vectors of components. If all values are finite,
// a weight of 0 adds a zero, which changes nothing.
template <bool kAllFinite, int64_t kVectors>
HWY_INLINE void AddTile(const double* weights, int64_t count, const double* values, int64_t rows,
                        int64_t size, double* sums) {
  const Numbers d;
  NumberVec block[kTileRows][kVectors];
  for (auto& row : block) {
    for (NumberVec& sum : row) sum = hn::Zero(d);
  }
  for (int64_t j = 0; j < rows; ++j) {
    NumberVec value[kVectors];
    for (int64_t v = 0; v < kVectors; ++v)
      value[v] = hn::LoadU(d, values + j * size + v * kNumberLanes);
    for (int64_t r = 0; r < kTileRows; ++r) {
      const NumberVec weight = hn::Set(d, weights[j * count + r]);
      for (int64_t v = 0; v < kVectors; ++v) {
        NumberVec product = hn::Mul(weight, value[v]);
        if constexpr (!kAllFinite) {
          product = hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), product);
        }
        block[r][v] = hn::Add(block[r][v], product);
      }
    }
  }
  for (int64_t r = 0; r < kTileRows; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) {
      double* const sum = sums + r * size + v * kNumberLanes;
      hn::StoreU(hn::Add(hn::LoadU(d, sum), block[r][v]), d, sum);
    }
  }
}

HWY_INLINE bool AreFinite(const double* values, int64_t count) {
  const Numbers d;
  NumberVec zeros = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kNumberLanes) {
    const NumberVec value = hn::LoadU(d, values + i);
    zeros = hn::Add(zeros, hn::Sub(value, value));
  }
  return hn::AllTrue(d, hn::Eq(zeros, hn::Zero(d)));
}

template <bool kAllFinite>
HWY_INLINE void AddAll(const double* weights, int64_t count, const double* values, int64_t rows,
                       int64_t size, double* sums) {
  ForVectors(size, [&](auto vectors, int64_t k) HWY_ATTR {
    constexpr int64_t kVectors = decltype(vectors)::value;
    for (int64_t i = 0; i < count; i += kTileRows) {
      AddTile<kAllFinite, kVectors>(weights + i, count, values + k, rows, size,
                                    sums + i * size + k);
    }
  });
}

void AddValues(const double* weights, int64_t count, const double* values, int64_t rows,
               int64_t size, double* sums) {
  if (AreFinite(values, rows * size)) {
    AddAll<true>(weights, count, values, rows, size, sums);
  } else {
    AddAll<false>(weights, count, values, rows, size, sums);
  }
}

AttentionKernels MakeKernels() {
  return {Score, FindMaxima, Weigh, AddValues};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

AttentionKernels AttentionKernelsFor() {
  return DMLOP_CHOOSE(MakeKernels)();
}

}  // namespace dmlop
#endif
