// SPDX-License-Identifier: Apache-2.0
// Exact running sums.
#pragma once

#include <cmath>
#include <concepts>
#include <optional>

#include "core/exact/error_free.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"

namespace dmlop {

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
  // The multiple of `unit` that is nearest to the head, and the rest. The head is less than 2^53
  // units.
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

}  // namespace dmlop
