// SPDX-License-Identifier: Apache-2.0
// Running sums, which are exact, and running products.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine/reduce/product_accumulators.h"
#include "core/exact/double_double.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/kernels/scan/prefix_product.h"
#include "core/tensor/element.h"
#include "core/tensor/half.h"

namespace dmlop {

// The range of the elements' magnitudes, which tells whether their running sums are multiples of
// one power of two that binary64 holds exactly.
class ElementGrid {
 public:
  template <typename T>
  void Take(T x) {
    const float value = static_cast<float>(AsDouble(x));
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu;
    most_ = std::max(most_, magnitude);
    least_ = std::min(least_, magnitude - 1);  // 0 wraps to the greatest value
  }

  // A power of two of which all sums of `count` such elements and `sum`, rounded to a multiple of
  // it, are multiples that binary64 holds. Null if some element is not a multiple of it.
  std::optional<double> Unit(double sum, int64_t count) const {
    constexpr uint32_t kInfinity = 0x7F800000u;
    if (most_ >= kInfinity) return std::nullopt;
    const double most = static_cast<double>(std::bit_cast<float>(most_));
    const double reach = std::fabs(sum) + static_cast<double>(count) * most;
    if (reach == 0) return 1;
    const double unit = std::ldexp(1.0, std::ilogb(reach) - 51);
    const uint32_t power = (least_ + 1) & kInfinity;
    const double least_unit = static_cast<double>(std::bit_cast<float>(power)) * 0x1p-23;
    return most_ == 0 || unit <= least_unit ? std::optional(unit) : std::nullopt;
  }

 private:
  uint32_t most_ = 0;
  uint32_t least_ = 0x7F7FFFFFu;  // least magnitude other than 0, less 1
};

// Integers wrap modulo 2^width.
template <typename T>
class PrefixSum {
  static_assert(std::unsigned_integral<T>);

 public:
  void Add(T x) { sum_ += x; }
  void Merge(const PrefixSum& next) { sum_ += next.sum_; }
  T Value() const { return sum_; }

 private:
  T sum_ = 0;
};

// Two binary64 numbers hold the sum as long as possible, which is nearly always.
template <typename T>
class PrefixFloatSum {
 public:
  void Add(T element) {
    const double x = AsDouble(element);
    is_empty_ = false;
    if (!std::isfinite(x) || !std::isfinite(special_)) {
      special_ += x;
    } else {
      AddFinite(x);
    }
  }

  // Adds the elements that `next` has seen.
  void Merge(const PrefixFloatSum& next) {
    if (next.is_empty_) return;
    is_empty_ = false;
    special_ += next.special_;
    if (next.exact_) {
      if (!exact_) Widen();
      exact_->Merge(*next.exact_);
      return;
    }
    AddFinite(next.sum_.head);
    if (next.sum_.tail != 0) AddFinite(next.sum_.tail);
  }

  // True if two numbers hold the sum of at least one element. Otherwise none of the following
  // functions may be called.
  bool IsPair() const { return !is_empty_ && !exact_ && std::isfinite(special_); }
  double Head() const { return sum_.head; }
  // The multiple of `unit` nearest to the head, and the rest. The head is less than 2^53 units.
  HeadTail Split(double unit) const {
    const double high = std::nearbyint(sum_.head / unit) * unit;
    return {high, (sum_.head - high) + sum_.tail};
  }
  void Set(double sum) { sum_ = {sum, 0.0}; }
  void AddExact(double sum) { AddToPair(sum); }
  T ValueWith(double sum) const {
    PrefixFloatSum both;
    both.sum_ = sum_;
    both.is_empty_ = false;
    both.AddToPair(sum);
    return both.Value();
  }

  T Value() const {
    if (is_empty_) return RoundOnce<T>(0.0);
    if (!std::isfinite(special_)) return RoundOnce<T>(special_);
    return exact_ ? RoundSum<T>(*exact_) : RoundOnce<T>(sum_.head, sum_.tail);
  }

 private:
  void AddFinite(double x) {
    if (exact_) {
      exact_->Add(x);
    } else {
      AddToPair(x);
    }
  }

  void AddToPair(double x) {
    const HeadTail heads = TwoSum(sum_.head, x);
    const HeadTail tails = TwoSum(sum_.tail, heads.tail);
    if (tails.tail != 0) {  // three numbers would be needed
      Widen();
      exact_->Add(x);
    } else if (tails.head == 0) {  // the sum may be -0
      sum_ = {heads.head, 0.0};
    } else {
      sum_ = TwoSum(heads.head, tails.head);
    }
  }

  void Widen() {
    exact_.emplace();
    exact_->Add(sum_.head);
    exact_->Add(sum_.tail);
  }

  HeadTail sum_ = {-0.0, 0.0};  // unless exact_ is set
  std::optional<ExactSum> exact_;
  double special_ = 0;  // infinite or NaN once such an element was added
  bool is_empty_ = true;
};
template <>
class PrefixSum<float> : public PrefixFloatSum<float> {};
template <>
class PrefixSum<Half> : public PrefixFloatSum<Half> {};

// Integers wrap modulo 2^width.
template <typename T>
class PrefixProduct {
  static_assert(std::unsigned_integral<T>);

 public:
  void Add(T x) { product_ *= x; }
  T Value() const { return product_; }

 private:
  T product_ = 1;
};

// Products of adjacent sequences, a tile of elements at a time. Each lane has at most one sequence.
template <typename T>
class PrefixFloatProducts {
 public:
  PrefixFloatProducts(int64_t sequences, int64_t rows)
      : lanes_((sequences + kLanes - 1) / kLanes * kLanes),
        tile_(static_cast<size_t>(rows * lanes_)),
        states_(lanes_) {
    states_.Start(lanes_);
  }

  int64_t lanes() const { return lanes_; }
  T* tile() { return tile_.data(); }

  // Replaces the elements in the tile's first rows by products.
  void Multiply(int64_t rows, bool is_exclusive) {
    multiply_(tile(), rows, lanes_, is_exclusive, states_.At(0));
  }

 private:
  static constexpr int64_t kLanes = ApproximateProducts::kLanes;

  PrefixProductKernel<T>* multiply_ = PrefixProductKernelFor<T>();
  int64_t lanes_;
  std::vector<T> tile_;
  ProductStates states_;
};
template <>
class PrefixProduct<float> : public PrefixFloatProducts<float> {
  using PrefixFloatProducts::PrefixFloatProducts;
};
template <>
class PrefixProduct<Half> : public PrefixFloatProducts<Half> {
  using PrefixFloatProducts::PrefixFloatProducts;
};

}  // namespace dmlop
