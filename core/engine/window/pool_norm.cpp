#include "core/engine/window/pool_norm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "core/exact/elementary.h"
#include "core/exact/error_free.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

constexpr int64_t kMostSideBySide = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Numbers = std::array<double, kMostSideBySide>;

// Some windows side by side. What the powers of quotients are off the root makes small again, so
// that binary64 is enough.
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

  // Neither one that is not finite nor one of zeros only.
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

}  // namespace

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

}  // namespace dmlop
