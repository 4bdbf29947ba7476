// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/thin.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/memory.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// So many lines are read side by side, because memory is faster in a few streams.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int64_t kSideBySide = 4;
#else
inline constexpr int64_t kSideBySide = 2;
#endif

// Up to kMostAtOnce products of a line are summed at a time: in a chain for each lane of
// kLineChains vectors, then the sums of those chains, then the remainder.
inline constexpr int64_t kLineChains = 2;
inline constexpr int64_t kLineLanes = kLineChains * static_cast<int64_t>(hn::MaxLanes(Wide()));
inline constexpr int64_t kMostAtOnce =
    std::min<int64_t>(4 * kChainLength, (kChainLength - 1 - 2 * kLineLanes) * kLineLanes);
inline constexpr int64_t kAhead = 1024;  // prefetch distance in bytes

// Highway's own sum of lanes may begin with +0, whereas this one keeps the sign of a zero.
HWY_INLINE double SumOfParts(WideVec x) {
  HWY_ALIGN double parts[hn::MaxLanes(Wide())];
  hn::Store(x, Wide(), parts);
  for (size_t half = hn::MaxLanes(Wide()) / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) parts[lane] += parts[lane + half];
  }
  return parts[0];
}

// Adds the products of kLines lines and their magnitudes. Sums begin with -0 to keep the sign of a
// zero.
template <int64_t kLines, typename T>
HWY_INLINE void AddDots(const T* lines, int64_t stride, const double* vector, int64_t depth,
                        double* sums, double* magnitudes) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  WideVec own[kLines][kLineChains], sizes[kLines][kLineChains];
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLines; ++i) {
#pragma GCC unroll 2
    for (int64_t c = 0; c < kLineChains; ++c) own[i][c] = sizes[i][c] = hn::Set(d, -0.0);
  }
  int64_t k = 0;
  for (; k + kLineChains * lanes <= depth; k += kLineChains * lanes) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kLines; ++i) {
      const T* line = lines + i * stride + k;
      for (int64_t at = 0; at < kLineLanes * static_cast<int64_t>(sizeof(T)); at += kLineBytes) {
        hwy::Prefetch(reinterpret_cast<const std::byte*>(line) + kAhead + at);
      }
#pragma GCC unroll 2
      for (int64_t c = 0; c < kLineChains; ++c) {
        const WideVec factor = hn::LoadU(d, vector + k + c * lanes);
        const WideVec product = hn::Mul(LoadWide(line + c * lanes), factor);
        own[i][c] = hn::Add(own[i][c], product);
        sizes[i][c] = hn::Add(sizes[i][c], hn::Abs(product));
      }
    }
  }
  for (int64_t i = 0; i < kLines; ++i) {
    double sum = SumOfParts(hn::Add(own[i][0], own[i][1]));
    double magnitude = SumOfParts(hn::Add(sizes[i][0], sizes[i][1]));
    for (int64_t rest = k; rest < depth; ++rest) {
      const double product = WidenElement(lines[i * stride + rest]) * vector[rest];
      sum += product;
      magnitude += std::fabs(product);
    }
    sums[i] += sum;
    magnitudes[i] += magnitude;
  }
}

template <int64_t kLines, typename T>
HWY_INLINE void AddLongLines(const ThinCall& call, const T* data, int64_t i) {
  for (int64_t k = 0; k < call.depth; k += kMostAtOnce) {
    AddDots<kLines>(data + i * call.line_stride + k, call.line_stride, call.vector + k,
                    std::min(kMostAtOnce, call.depth - k), call.sums + i, call.magnitudes + i);
  }
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
    int64_t i = 0;
    for (; i + kSideBySide <= call.lines; i += kSideBySide) {
      AddLongLines<kSideBySide>(call, data, i);
    }
    for (; i < call.lines; ++i) AddLongLines<1>(call, data, i);
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
  return type == DataType::kFloat16 ? DMLOP_CHOOSE(Thin<Half>) : DMLOP_CHOOSE(Thin<float>);
}

RowsFunction* RowsFunctionNow() {
  return DMLOP_CHOOSE(MultiplyRowsOfLines);
}

}  // namespace dmlop
#endif
