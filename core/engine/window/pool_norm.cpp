// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "core/base/integers.h"
#include "core/exact/double_double.h"
#include "core/exact/elementary.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

constexpr int64_t kMostSideBySide = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Numbers = std::array<double, kMostSideBySide>;

// Computes adjacent windows. The root reduces the powers' relative errors, so binary64 suffices.
template <typename T>
class FewNorms {
 public:
  FewNorms(const T* x, int64_t step, int64_t count, const LoopNest<1>& taps, uint32_t exponent)
      : x_(x), step_(step), count_(static_cast<size_t>(count)), taps_(taps), exponent_(exponent) {}

  void Run(T* results) {
    ForEachTap([&](const Numbers& magnitudes) { TakeMost(magnitudes); });
    ForEachTap([&](const Numbers& magnitudes) { AddPowers(magnitudes); });
    Numbers roots;
    for (size_t i = 0; i < count_; ++i) roots[i] = HasNorm(i) ? sums_[i] + tails_[i] : 1;
    const std::span<double> logs = std::span(roots).first(count_);
    Log(logs);
    for (double& log : logs) log /= exponent_;
    Exp(logs);
    for (size_t i = 0; i < count_; ++i) {
      const double norm = special_[i] != 0 ? special_[i] : most_[i] == 0 ? 0 : most_[i] * roots[i];
      results[i] = RoundOnce<T>(norm);
    }
  }

 private:
  template <typename Visit>
  void ForEachTap(Visit&& visit) const {
    Numbers magnitudes{};
    Walk<1> walk(taps_, 0);
    for (int64_t tap = 0; tap < Product(taps_.sizes); ++tap, walk.Next()) {
      const T* x = x_ + walk.offset(0);
      for (size_t i = 0; i < count_; ++i, x += step_) magnitudes[i] = std::fabs(AsDouble(*x));
      visit(magnitudes);
    }
  }

  // Returns false if an element is not finite, or if all are zeros.
  bool HasNorm(size_t i) const { return special_[i] == 0 && most_[i] != 0; }

  void TakeMost(const Numbers& magnitudes) {
    for (size_t i = 0; i < count_; ++i) {
      const double finite = magnitudes[i] < kInfinity ? magnitudes[i] : 0;
      most_[i] = most_[i] < finite ? finite : most_[i];
      special_[i] += magnitudes[i] - finite;
    }
  }

  void AddPowers(const Numbers& magnitudes) {
    Numbers bases, powers;
    for (size_t i = 0; i < count_; ++i) bases[i] = magnitudes[i] / most_[i];
    std::fill_n(powers.begin(), count_, 1.0);
    for (uint32_t exponent = exponent_; exponent > 0; exponent /= 2) {
      if (exponent % 2 != 0) {
        for (size_t i = 0; i < count_; ++i) powers[i] *= bases[i];
      }
      for (size_t i = 0; i < count_; ++i) bases[i] *= bases[i];
    }
    for (size_t i = 0; i < count_; ++i) {
      const HeadTail next = TwoSum(sums_[i], powers[i]);
      sums_[i] = next.head;
      tails_[i] += next.tail;
    }
  }

  const T* x_;
  int64_t step_;
  size_t count_;
  const LoopNest<1>& taps_;
  uint32_t exponent_;
  Numbers most_{}, special_{}, sums_{}, tails_{};
};

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

PowerSum Join(const PowerSum& a, const PowerSum& b) {
  constexpr int64_t kNegligible = 300;
  if (b.head == 0) return a;
  if (a.head == 0) return b;
  if (!std::isfinite(a.head) || !std::isfinite(b.head)) return {a.head + b.head, 0, 0};
  if (a.exponent < b.exponent) return Join(b, a);
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
void NormsOf(const T* x, int64_t step, int64_t count, const LoopNest<1>& taps, uint32_t exponent,
             T* results) {
  for (int64_t i = 0; i < count; i += kMostSideBySide) {
    const int64_t few = std::min(count - i, kMostSideBySide);
    FewNorms<T>(x + i * step, step, few, taps, exponent).Run(results + i);
  }
}

template void NormsOf(const float*, int64_t, int64_t, const LoopNest<1>&, uint32_t, float*);
template void NormsOf(const Half*, int64_t, int64_t, const LoopNest<1>&, uint32_t, Half*);

template void SlideNorms<float>(const PoolDims&, const SlideAxes&, const ConstTensorView&, uint32_t,
                                const TensorView&);
template void SlideNorms<Half>(const PoolDims&, const SlideAxes&, const ConstTensorView&, uint32_t,
                               const TensorView&);

}  // namespace dmlop
