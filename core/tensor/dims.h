// SPDX-License-Identifier: Apache-2.0
// A short list of per-dimension numbers (sizes, strides, coordinates), stored in place. Whoever
// fills one must ensure that they are no more than kMaxCount, as in a valid desc.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace dmlop {

class Dims {
 public:
  // DirectML's limit is 8. UNFOLD's output, viewed as (N, C, taps..., blocks...), has up to 14.
  static constexpr size_t kMaxCount = 16;

  Dims() {}
  // The unused numbers are not worth a copy.
  Dims(const Dims& other) { *this = other; }
  Dims& operator=(const Dims& other) {
    count_ = other.count_;
    std::copy_n(other.values_.begin(), count_, values_.begin());
    return *this;
  }
  Dims(std::initializer_list<int64_t> values) : Dims(values.begin(), values.end()) {}
  template <typename Iterator>
  Dims(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(static_cast<int64_t>(*first));
  }
  static Dims Filled(size_t count, int64_t value) {
    Dims dims;
    while (dims.size() < count) dims.push_back(value);
    return dims;
  }

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t& operator[](size_t i) { return values_[i]; }
  int64_t operator[](size_t i) const { return values_[i]; }
  int64_t* begin() { return values_.data(); }
  int64_t* end() { return values_.data() + count_; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + count_; }
  int64_t& back() { return values_[count_ - 1]; }
  int64_t back() const { return values_[count_ - 1]; }

  void push_back(int64_t value) {
    assert(count_ < kMaxCount);
    values_[count_++] = value;
  }
  void pop_back() { --count_; }

  friend bool operator==(const Dims& a, const Dims& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  size_t count_ = 0;
  std::array<int64_t, kMaxCount> values_;
};

inline int64_t Product(const Dims& dims) {
  int64_t product = 1;
  for (const int64_t value : dims) product *= value;
  return product;
}

}  // namespace dmlop
