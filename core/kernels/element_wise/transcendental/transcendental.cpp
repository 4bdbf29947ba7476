// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/transcendental/transcendental.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <iterator>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/element_wise/transcendental/circular-inl.h"
#include "core/kernels/element_wise/transcendental/exponential-inl.h"
#include "core/kernels/element_wise/transcendental/logarithm-inl.h"
#include "core/kernels/element_wise/transcendental/quick-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Pairs need fused multiply-adds, and tables of at least eight entries.
constexpr bool kHasQuickForms = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

// Only notes which results are decided: to branch on it would often mispredict, and throw away what
// the processor has begun for the next vectors.
template <class F>
HWY_ATTR void ComputeQuickly(int64_t count, std::byte* to, const std::byte* from,
                             uint64_t* decided) {
  const hn::ScalableTag<float> d;
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(decided);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto y = F()(d, hn::LoadU(d, reinterpret_cast<const float*>(from) + i));
    hn::StoreU(y.value, d, reinterpret_cast<float*>(to) + i);
    hn::StoreMaskBits(d, y.is_decided, bytes + i / 8);
  }
}

// Does the same with a form in two steps: F::Begin for all vectors of a block, then F::End.
// Most instructions of a long form wait for the one before, and the processor does not look ahead
// far enough to find those of other vectors meanwhile; in half of a form it does.
template <class F>
HWY_ATTR void ComputeInSteps(int64_t count, std::byte* to, const std::byte* from,
                             uint64_t* decided) {
  using D = hn::ScalableTag<float>;
  const D d;
  constexpr size_t kLanes = hn::MaxLanes(D());
  const float* const x = reinterpret_cast<const float*>(from);
  float* const results = reinterpret_cast<float*>(to);
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(decided);
  const size_t size = static_cast<size_t>(count);
  for (size_t begin = 0; begin < size; begin += kRowBlock) {
    Pair<D> begun[kRowBlock / kLanes];
    for (size_t i = 0; i < std::size(begun); ++i) {
      begun[i] = F::Begin(d, hn::LoadU(d, x + begin + i * kLanes));
    }
    for (size_t i = 0; i < std::size(begun); ++i) {
      const size_t at = begin + i * kLanes;
      const auto y = F::End(d, hn::LoadU(d, x + at), begun[i]);
      hn::StoreU(y.value, d, results + at);
      hn::StoreMaskBits(d, y.is_decided, bytes + at / 8);
    }
  }
}

// An approximated function of one value that also has a quick form.
template <class F, class QuickForm>
constexpr ElementWiseRow Quick(ElementWiseFunction function) {
  ElementWiseRow row = Approximated<F>(function);
  if constexpr (kHasQuickForms) row.quick = ComputeQuickly<QuickForm>;
  return row;
}
template <class F, class QuickForm>
constexpr ElementWiseRow QuickInSteps(ElementWiseFunction function) {
  ElementWiseRow row = Approximated<F>(function);
  if constexpr (kHasQuickForms) row.quick = ComputeInSteps<QuickForm>;
  return row;
}

std::span<const ElementWiseRow> TranscendentalTable() {
  static constexpr ElementWiseRow kRows[] = {
      Quick<Asin, QuickAsin>(kAsin),
      Approximated<Acos>(kAcos),
      Approximated<Atan>(kAtan),
      Approximated<AtanYx, 2>(kAtanYx),
      Quick<Sin, QuickSin>(kSin),
      Quick<Cos, QuickCos>(kCos),
      Approximated<Tan>(kTan),
      Approximated<Erf>(kErf),
      Approximated<Gelu>(kGelu),
      Quick<Exp, QuickExp>(kExp),
      Approximated<Sinh>(kSinh),
      Approximated<Cosh>(kCosh),
      Quick<Tanh, QuickTanh>(kTanh),
      QuickInSteps<Sigmoid, QuickSigmoid>(kSigmoid),
      Approximated<Elu>(kElu),
      Approximated<Celu>(kCelu),
      Approximated<ScaledElu>(kScaledElu),
      Approximated<ScaledTanh>(kScaledTanh),
      Approximated<Swish>(kSwish),
      Quick<Log, QuickLog>(kLog),
      Approximated<Asinh>(kAsinh),
      Approximated<Acosh>(kAcosh),
      Quick<Atanh, QuickAtanh>(kAtanh),
      Approximated<Softplus>(kSoftplus),
      Approximated<ParametricSoftplus>(kParametricSoftplus),
      Approximated<ConstantPow>(kConstantPow),
      Approximated<Pow, 2>(kPow),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

std::span<const ElementWiseRow> TranscendentalRows() {
  return DMLOP_CHOOSE(TranscendentalTable)();
}

}  // namespace dmlop
#endif
