// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/product.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/thin.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/prefetch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Up to kMostAtOnce products of a line are summed at a time: in a chain for each lane of
// kLineChains vectors, then the sums of those chains, then the remainder.
inline constexpr int64_t kLineChains = 4;
inline constexpr int64_t kMostAtOnce = 3 * kChainLength;
inline constexpr int64_t kAhead = 2048;  // prefetch distance in bytes
inline constexpr int64_t kLineLanes = kLineChains * static_cast<int64_t>(hn::MaxLanes(Wide()));
static_assert(kMostAtOnce / kLineLanes + 2 * kLineLanes < kChainLength);

// Highway's own sum of lanes may begin with +0, whereas this one keeps the sign of a zero.
HWY_INLINE double SumOfParts(WideVec x) {
  HWY_ALIGN double parts[hn::MaxLanes(Wide())];
  hn::Store(x, Wide(), parts);
  for (size_t half = hn::MaxLanes(Wide()) / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) parts[lane] += parts[lane + half];
  }
  return parts[0];
}

// Adds the products and their magnitudes. The sum begins with -0 to keep the sign of a zero.
template <typename T>
HWY_INLINE void AddDot(const T* line, const double* vector, int64_t depth, double& sum,
                       double& magnitude) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideVec none = hn::Set(d, -0.0);
  WideVec sums[kLineChains] = {none, none, none, none};
  WideVec magnitudes[kLineChains] = {none, none, none, none};
  int64_t k = 0;
  for (; k + kLineChains * lanes <= depth; k += kLineChains * lanes) {
    PrefetchLines(reinterpret_cast<const std::byte*>(line + k) + kAhead,
                  kLineChains * lanes * static_cast<int64_t>(sizeof(T)));
#pragma GCC unroll 4
    for (int64_t c = 0; c < kLineChains; ++c) {
      const int64_t at = k + c * lanes;
      const WideVec product = hn::Mul(LoadWide(line + at), hn::LoadU(d, vector + at));
      sums[c] = hn::Add(sums[c], product);
      magnitudes[c] = hn::Add(magnitudes[c], hn::Abs(product));
    }
  }
  const auto total = [&](const WideVec(&of)[kLineChains]) HWY_ATTR {
    return SumOfParts(hn::Add(hn::Add(of[0], of[1]), hn::Add(of[2], of[3])));
  };
  double own = total(sums);
  magnitude += total(magnitudes);
  for (; k < depth; ++k) {
    const double product = WidenElement(line[k]) * vector[k];
    own += product;
    magnitude += std::fabs(product);
  }
  sum += own;
}

// Adds one product to each line for each of `count` rows, which hold one element of every line.
template <typename T>
HWY_INLINE void AddRows(const ThinCall& call, const T* rows, int64_t pitch, const double* vector,
                        int64_t count) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= call.lines; i += lanes) {
    WideVec sum = hn::LoadU(d, call.sums + i);
    WideVec magnitude = hn::LoadU(d, call.magnitudes + i);
    for (int64_t k = 0; k < count; ++k) {
      const WideVec product = hn::Mul(LoadWide(rows + k * pitch + i), hn::Set(d, vector[k]));
      sum = hn::Add(sum, product);
      magnitude = hn::Add(magnitude, hn::Abs(product));
    }
    hn::StoreU(sum, d, call.sums + i);
    hn::StoreU(magnitude, d, call.magnitudes + i);
  }
  for (; i < call.lines; ++i) {
    for (int64_t k = 0; k < count; ++k) {
      const double product = WidenElement(rows[k * pitch + i]) * vector[k];
      call.sums[i] += product;
      call.magnitudes[i] += std::fabs(product);
    }
  }
}

template <typename T>
void Thin(const ThinCall& call) {
  const T* data = reinterpret_cast<const T*>(call.data);
  if (call.inner_stride == 1) {
    for (int64_t i = 0; i < call.lines; ++i) {
      const T* line = data + i * call.line_stride;
      for (int64_t k = 0; k < call.depth; k += kMostAtOnce) {
        AddDot(line + k, call.vector + k, std::min(kMostAtOnce, call.depth - k), call.sums[i],
               call.magnitudes[i]);
      }
    }
    return;
  }
  constexpr int64_t kRows = 4;
  for (int64_t k = 0; k < call.depth; k += kRows) {
    const int64_t count = std::min(kRows, call.depth - k);
    const T* rows = data + k * call.inner_stride;
    if (count == kRows) {
      AddRows(call, rows, call.inner_stride, call.vector + k, kRows);
    } else {
      AddRows(call, rows, call.inner_stride, call.vector + k, count);
    }
  }
}

void ThinFloats(const ThinCall& call) {
  Thin<float>(call);
}
void ThinHalves(const ThinCall& call) {
  Thin<Half>(call);
}

// Sets the sums of kVectors vectors of lines from line i on.
template <int64_t kVectors>
HWY_INLINE void MultiplyVectors(int64_t i, int64_t depth, const double* const* rows,
                                const double* vector, double* sums, double* magnitudes) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  WideVec sum[kVectors], magnitude[kVectors];
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; ++v) {
    sum[v] = hn::Set(d, -0.0);
    magnitude[v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    const WideVec factor = hn::Set(d, vector[k]);
    const WideVec size = hn::Abs(factor);
    const double* row = rows[k] + i;
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) {
      const WideVec x = hn::LoadU(d, row + v * lanes);
      sum[v] = hn::MulAdd(x, factor, sum[v]);
      magnitude[v] = hn::MulAdd(hn::Abs(x), size, magnitude[v]);
    }
  }
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; ++v) {
    hn::StoreU(sum[v], d, sums + i + v * lanes);
    hn::StoreU(magnitude[v], d, magnitudes + i + v * lanes);
  }
}

void MultiplyRowsOfLines(int64_t lines, int64_t depth, const double* const* rows,
                         const double* vector, double* sums, double* magnitudes) {
  constexpr int64_t kVectors = 4;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t i = 0;
  for (; i + kVectors * lanes <= lines; i += kVectors * lanes) {
    MultiplyVectors<kVectors>(i, depth, rows, vector, sums, magnitudes);
  }
  for (; i < lines; i += lanes) MultiplyVectors<1>(i, depth, rows, vector, sums, magnitudes);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

ThinFunction* ThinFunctionFor(DataType type) {
  static constexpr IsaForms<ThinFunction> kFloats = DMLOP_ISA_FORMS(ThinFloats);
  static constexpr IsaForms<ThinFunction> kHalves = DMLOP_ISA_FORMS(ThinHalves);
  return Choose(type == DataType::kFloat16 ? kHalves : kFloats);
}

RowsFunction* RowsFunctionNow() {
  static constexpr IsaForms<RowsFunction> kForms = DMLOP_ISA_FORMS(MultiplyRowsOfLines);
  return Choose(kForms);
}

}  // namespace dmlop
#endif
