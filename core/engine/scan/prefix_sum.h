// The sum of the elements so far, without rounding.
#pragma once

#include <cmath>
#include <concepts>
#include <optional>

#include "core/exact/error_free.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"

namespace dmlop {

// Modulo 2^width.
template <typename T>
class PrefixSum {
  static_assert(std::unsigned_integral<T>);

 public:
  void Add(T x) { sum_ += x; }
  T Value() const { return sum_; }

 private:
  T sum_ = 0;
};

// Two binary64 numbers hold the sum as long as they can, which is nearly always.
template <typename T>
class PrefixFloatSum {
 public:
  void Add(T element) {
    const double x = AsDouble(element);
    is_empty_ = false;
    if (!std::isfinite(x) || !std::isfinite(special_)) {
      special_ += x;
    } else if (exact_) {
      exact_->Add(x);
    } else {
      AddToPair(x);
    }
  }

  T Value() const {
    if (is_empty_) return RoundOnce<T>(0.0, 0.0);
    if (!std::isfinite(special_)) return RoundOnce<T>(special_, 0.0);
    return exact_ ? RoundSum<T>(*exact_) : RoundOnce<T>(sum_.head, sum_.tail);
  }

 private:
  void AddToPair(double x) {
    const HeadTail heads = TwoSum(sum_.head, x);
    const HeadTail tails = TwoSum(sum_.tail, heads.tail);
    if (tails.tail != 0) {  // three numbers
      exact_.emplace();
      for (const double part : {sum_.head, sum_.tail, x}) exact_->Add(part);
    } else if (tails.head == 0) {  // which may be a sum of -0
      sum_ = {heads.head, 0.0};
    } else {
      sum_ = TwoSum(heads.head, tails.head);
    }
  }

  HeadTail sum_ = {-0.0, 0.0};
  std::optional<ExactSum> exact_;
  double special_ = 0;  // infinite or NaN, once it has met such an element
  bool is_empty_ = true;
};
template <>
class PrefixSum<float> : public PrefixFloatSum<float> {};
template <>
class PrefixSum<Half> : public PrefixFloatSum<Half> {};

}  // namespace dmlop
