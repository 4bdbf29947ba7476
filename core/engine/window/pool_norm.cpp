// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/base/integers.h"
#include "core/exact/double_double.h"
#include "core/exact/elementary.h"
#include "core/exact/rounding.h"
#include "core/kernels/window/powers.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

// --- sliding windows -----------------------------------------------------------------------------

// A sum of powers, (head + tail) * 2^exponent >= 0. The head is in [1/2, 1), zero, or not finite.
struct PowerSum {
  double head = 0, tail = 0;
  int64_t exponent = 0;
};

PowerSum Normalized(double head, double tail, int64_t exponent) {
  if (head == 0 || !std::isfinite(head)) return {head, 0, exponent};
  int shift;
  const double fraction = std::frexp(head, &shift);
  return {fraction, std::ldexp(tail, -shift), exponent + shift};
}

PowerSum Combined(const PowerSum& a, const PowerSum& b) {
  constexpr int64_t kNegligible = 300;
  if (b.head == 0) return a;
  if (a.head == 0) return b;
  if (!std::isfinite(a.head) || !std::isfinite(b.head)) return {a.head + b.head, 0, 0};
  if (a.exponent < b.exponent) return Combined(b, a);
  const int64_t shift = a.exponent - b.exponent;
  if (shift > kNegligible) return a;
  const double scale = std::ldexp(1.0, static_cast<int>(-shift));
  const HeadTail sum = TwoSum(a.head, b.head * scale);
  const HeadTail whole = FastTwoSum(sum.head, sum.tail + (a.tail + b.tail * scale));
  return Normalized(whole.head, whole.tail, a.exponent);
}

PowerSum PowerOf(double magnitude, uint32_t exponent) {
  PowerSum base = Normalized(magnitude, 0, 0);
  PowerSum power{0.5, 0, 1};
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) {
      power = Normalized(power.head * base.head, 0, power.exponent + base.exponent);
    }
    base = Normalized(base.head * base.head, 0, 2 * base.exponent);
  }
  return power;
}

// Splits the exponent into a multiple of the root's and a rest of at most half of it.
double RootOf(const PowerSum& sum, uint32_t exponent) {
  if (sum.head == 0 || !std::isfinite(sum.head)) return sum.head;
  const int64_t whole = FloorDiv(sum.exponent + exponent / 2, exponent);
  const double rest = static_cast<double>(sum.exponent - whole * exponent);
  const double log = Log(sum.head + sum.tail) + rest * std::numbers::ln2;
  return std::ldexp(Exp(log / exponent), static_cast<int>(whole));
}

}  // namespace

template <typename T>
void SlideNorms(const PoolDims& dims, const SlideAxes& axes, const ConstTensorView& input,
                uint32_t exponent, const TensorView& norms) {
  const T* from = input.elements<T>();
  SlideFolds<PowerSum>(
      axes, dims, input.layout, norms,
      [&](int64_t offset, int64_t) { return PowerOf(std::fabs(AsDouble(from[offset])), exponent); },
      [&](const Dims& index, const PowerSum& sum) {
        norms.elements<T>()[OffsetOf(norms.layout, index)] = RoundOnce<T>(RootOf(sum, exponent));
      });
}

template <typename T>
void NormsOf(const PoolRow<T>& row, const TapLoops& taps, uint32_t exponent, T* results) {
  constexpr int64_t kMostNorms = 64;
  const PoolNormKernel<T> kernel = PoolNormKernelFor<T>();
  std::array<double, kMostNorms> norms;
  for (int64_t i = 0; i < row.count; i += kMostNorms) {
    const int64_t few = std::min(row.count - i, kMostNorms);
    kernel({row.x + i * row.step, row.step, few, {}}, taps, exponent, norms.data());
    std::transform(norms.begin(), norms.begin() + few, results + i,
                   [](double norm) { return RoundOnce<T>(norm); });
  }
}

template void NormsOf(const PoolRow<float>&, const TapLoops&, uint32_t, float*);
template void NormsOf(const PoolRow<Half>&, const TapLoops&, uint32_t, Half*);

template void SlideNorms<float>(const PoolDims&, const SlideAxes&, const ConstTensorView&, uint32_t,
                                const TensorView&);
template void SlideNorms<Half>(const PoolDims&, const SlideAxes&, const ConstTensorView&, uint32_t,
                               const TensorView&);

}  // namespace dmlop
