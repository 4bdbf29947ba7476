// SPDX-License-Identifier: Apache-2.0
// The positions of a tensor's elements: sizes, and the stride of each dimension in elements.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

namespace dmlop {

// --- numbers of each dimension -------------------------------------------------------------------

// A short list of per-dimension numbers (sizes, strides, coordinates), stored in place. Whoever
// fills one must ensure that they are no more than kMaxCount, as in a valid desc.

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

// --- layouts -------------------------------------------------------------------------------------

struct Layout {
  Dims sizes;
  Dims strides;  // in elements; 0 repeats a single element along that dimension

  size_t rank() const { return sizes.size(); }
  int64_t element_count() const { return Product(sizes); }

  friend bool operator==(const Layout& a, const Layout& b) = default;
};

// "{1, 3}"
std::string ToString(const Dims& dims);

// Return row-major strides without gaps (BUF-5), and column-major ones, as in Fortran order.
Dims PackedStrides(const Dims& sizes);
Dims FortranStrides(const Dims& sizes);

inline Layout PackedLayout(const Dims& sizes) {
  return {sizes, PackedStrides(sizes)};
}

// The strides that repeat a layout's elements to other sizes, as NumPy broadcasts them; nothing if
// it does not.
std::optional<Dims> BroadcastStrides(const Layout& layout, const Dims& to);

// Returns whether the elements lie in row-major order without gaps. Dimensions of size 1 do not
// matter.
bool IsPacked(const Layout& layout);

// Counts elements from the first to the last addressed one. Strides must not be negative.
int64_t Extent(const Layout& layout);

// Returns the offset in elements of the element at `index`.
int64_t OffsetOf(const Layout& layout, const Dims& index);

// Returns whether two distinct coordinates share an offset (BUF-8). Exact; strides must not be
// negative.
bool HasOverlap(const Layout& layout);

// Returns the index of the element whose row-major number is `linear`.
Dims IndexOf(const Dims& sizes, int64_t linear);

// Returns the offset in elements of the element whose row-major number is `linear`.
inline int64_t OffsetOfElement(const Layout& layout, int64_t linear) {
  return OffsetOf(layout, IndexOf(layout.sizes, linear));
}

// Moves `index` to the next element in row-major order, and from the last one to the first.
inline void Advance(const Dims& sizes, Dims& index) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return;
    index[d] = 0;
  }
}

}  // namespace dmlop
