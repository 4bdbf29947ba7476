#include "core/kernels/matrix/thin.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/thin.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The sum begins with -0, as the sign of a zero has it.
template <typename T>
HWY_INLINE void DotLine(const T* line, const double* vector, int64_t depth, double& sum,
                        double& magnitude) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  WideVec sums[2] = {hn::Set(d, -0.0), hn::Set(d, -0.0)};
  WideVec magnitudes[2] = {hn::Zero(d), hn::Zero(d)};
  int64_t k = 0;
  for (; k + 2 * lanes <= depth; k += 2 * lanes) {
#pragma GCC unroll 2
    for (int64_t c = 0; c < 2; ++c) {
      const WideVec product =
          hn::Mul(LoadWide(line + k + c * lanes), hn::LoadU(d, vector + k + c * lanes));
      sums[c] = hn::Add(sums[c], product);
      magnitudes[c] = hn::Add(magnitudes[c], hn::Abs(product));
    }
  }
  // Highway's own sum of lanes may begin with +0.
  HWY_ALIGN double parts[hn::MaxLanes(Wide())];
  hn::Store(hn::Add(sums[0], sums[1]), d, parts);
  sum = parts[0];
  for (int64_t lane = 1; lane < lanes; ++lane) sum += parts[lane];
  magnitude = hn::GetLane(hn::SumOfLanes(d, hn::Add(magnitudes[0], magnitudes[1])));
  for (; k < depth; ++k) {
    const double product = WidenElement(line[k]) * vector[k];
    sum += product;
    magnitude += std::fabs(product);
  }
}

// One element of each line, in four rows of them.
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
      DotLine(data + i * call.line_stride, call.vector, call.depth, call.sums[i],
              call.magnitudes[i]);
    }
    return;
  }
  std::fill_n(call.sums, call.lines, -0.0);
  std::fill_n(call.magnitudes, call.lines, 0.0);
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

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

ThinFunction* ThinFunctionFor(DataType type) {
  static constexpr IsaForms<ThinFunction> kFloats = DMLOP_ISA_FORMS(ThinFloats);
  static constexpr IsaForms<ThinFunction> kHalves = DMLOP_ISA_FORMS(ThinHalves);
  return Choose(type == DataType::kFloat16 ? kHalves : kFloats);
}

}  // namespace dmlop
#endif
