// SPDX-License-Identifier: Apache-2.0
// Sums of the gradients of windows, in binary64 as long as they are exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/exact/error_free.h"
#include "core/exact/rounding.h"
#include "core/exact/special_terms.h"

namespace dmlop {

// A sum of few numbers; infinities and NaN are added as in IEEE arithmetic.
class QuickSum {
 public:
  void Add(double x) {
    if (specials_.Take(x)) return;
    const HeadTail next = TwoSum(sum_, x);
    is_exact_ &= next.tail == 0;
    sum_ = next.head;
  }

  bool is_known() const { return is_exact_ || !specials_.are_finite(); }

  template <typename T>
  T Result() const {
    return RoundOnce<T>(sum_ != 0 && specials_.are_finite() ? sum_ : specials_.sum());
  }

 private:
  double sum_ = 0;
  bool is_exact_ = true;
  SpecialTerms specials_;
};

// One sum for each element of a channel.
class ChannelSums {
 public:
  explicit ChannelSums(int64_t count)
      : sums_(static_cast<size_t>(count)), states_(static_cast<size_t>(count)) {}

  void Clear() {
    std::fill(sums_.begin(), sums_.end(), -0.0);
    std::fill(states_.begin(), states_.end(), kEmpty);
    has_doubts_ = false;
  }

  void Add(uint64_t element, double x) {
    if (element >= sums_.size()) return;  // the winner is in another channel, or there is none
    const HeadTail next = TwoSum(sums_[element], x);
    sums_[element] = next.head;
    states_[element] |= next.tail == 0 ? kExact : kInDoubt;
    has_doubts_ |= next.tail != 0;
  }

  bool has_doubts() const { return has_doubts_; }
  bool IsInDoubt(uint64_t element) const {
    return element < states_.size() && states_[element] > kExact;
  }

  // Returns the sum of an element that is not in doubt.
  template <typename T>
  T Result(size_t element) const {
    return states_[element] == kEmpty ? T{} : RoundOnce<T>(sums_[element]);
  }

  // Resolves a doubt.
  void Set(uint64_t element, double result) {
    sums_[element] = result;
    states_[element] = kExact;
  }

 private:
  static constexpr uint8_t kEmpty = 0, kExact = 1, kInDoubt = 2;

  std::vector<double> sums_;
  std::vector<uint8_t> states_;
  bool has_doubts_ = false;
};

}  // namespace dmlop
