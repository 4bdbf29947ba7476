// SPDX-License-Identifier: Apache-2.0
// Accumulators for MULTIPLY of floats.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "core/engine/reduce/vector_accumulators.h"
#include "core/kernels/copy/copy.h"
#include "core/kernels/reduce/approximate_product.h"
#include "core/kernels/reduce/sum_finalizers.h"

namespace dmlop {

// The states of a batch of groups.
class ProductStates {
 public:
  explicit ProductStates(int64_t capacity)
      : head_(static_cast<size_t>(capacity)), tail_(head_.size()), exponent_(head_.size()) {}

  void Start(int64_t count) {
    std::fill_n(head_.begin(), count, 1.0);
    std::fill_n(tail_.begin(), count, 0.0);
    std::fill_n(exponent_.begin(), count, 0);
  }

  ApproximateProducts At(int64_t o) {
    return {head_.data() + o, tail_.data() + o, exponent_.data() + o};
  }

 private:
  std::vector<double> head_, tail_;
  std::vector<int64_t> exponent_;
};

// A finite product other than zero, scaled to a head and a tail in the range of a double. A product
// beyond the range of any float stays beyond it.
inline HeadTail Scaled(const ApproximateProducts& product) {
  constexpr int64_t kFarExponent = 400;
  const int64_t exponent = std::clamp(*product.exponent, -kFarExponent, kFarExponent);
  const double power = std::bit_cast<double>(static_cast<uint64_t>(1023 + exponent) << 52);
  return {*product.head * power, *product.tail * power};
}

// True if the head is zero or not finite; the result follows from it alone.
template <typename T>
bool IsSpecial(double head, T& result) {
  if (head != 0 && std::isfinite(head)) return false;
  result = head == 0 ? reduce::Zero<T>(std::signbit(head)) : RoundOnce<T>(head);
  return true;
}

// Computes MULTIPLY of floats by vectors, with or without tracking of rounding errors. A group
// whose rounding is unresolved stays unresolved.
template <typename T>
class ApproximateProductAccumulators
    : public VectorAccumulators<ApproximateProductAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  // Rows are long enough to be prefetched, and the states fit in the second-level cache.
  static constexpr int64_t kColumns = kNearestBytes / sizeof(T);

  ApproximateProductAccumulators(int64_t capacity, bool tracked)
      : tracked_(tracked), kernels_(ApproximateProductKernelsFor<T>(tracked)), states_(capacity) {}

  void Start(int64_t count) { states_.Start(count); }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    kernels_.multiply_row(x, count, states_.At(o));
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.multiply_columns(x, rows, row_stride, columns, states_.At(0));
  }

  void Merge(int64_t o, ApproximateProductAccumulators& other, int64_t p, int64_t) {
    MultiplyGroup(states_.At(o), other.states_.At(p), tracked_);
  }

  // A product halfway between two numbers of T has at most 25 bits. Then no product of some of its
  // factors has more, so tracking finds it exact in any order.
  bool Finish(int64_t o, int64_t n, T& result) {
    const ApproximateProducts product = states_.At(o);
    if (IsSpecial(*product.head, result)) return true;
    const HeadTail scaled = Scaled(product);
    const bool exact = tracked_ && *product.tail == 0;
    const double bound = exact ? 0
                               : std::fabs(scaled.head) * static_cast<double>(n) * 2 *
                                     ApproximateProducts::RelativeBound(tracked_);
    return reduce::DecideRounding(scaled.head, scaled.tail, bound, result);
  }

 private:
  bool tracked_;
  ApproximateProductKernels<T> kernels_;
  ProductStates states_;
};

// Rounds a product whose factors were taken in a fixed order.
template <typename T>
T RoundedProduct(const ApproximateProducts& product) {
  T result;
  if (IsSpecial(*product.head, result)) return result;
  const HeadTail scaled = Scaled(product);
  const HeadTail whole = FastTwoSum(scaled.head, scaled.tail);
  return RoundOnce<T>(whole.head, whole.tail);
}

// Computes MULTIPLY of floats in the order of their numbers, for groups of at most kMaxElements
// that ApproximateProductAccumulators leaves unresolved.
template <typename T>
class ShortProductAccumulators {
 public:
  using Input = T;
  using Output = T;

  static constexpr bool kByVectors = true;
  static constexpr int64_t kColumns = 256;
  static constexpr int64_t kMaxElements = 64;

  explicit ShortProductAccumulators(int64_t capacity)
      : groups_((capacity + kLanes - 1) / kLanes * kLanes),
        packed_(static_cast<size_t>(kMaxElements * groups_)),
        states_(groups_) {}

  void Start(int64_t) {
    states_.Start(groups_);
    is_closed_ = false;
  }

  void AddRow(int64_t o, const ElementRun<T>& run) { Pack(o, {1, 0}, run); }
  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) { Pack(0, columns, run); }

  // All elements of a group are in one part, so there is nothing to merge.
  void Merge(int64_t, const ShortProductAccumulators&, int64_t, int64_t) {}

  bool Finish(int64_t o, int64_t n, T& result) {
    if (!std::exchange(is_closed_, true)) {
      kernels_.multiply_columns(packed_.data(), n, groups_, groups_, states_.At(0));
    }
    result = RoundedProduct<T>(states_.At(o));
    return true;
  }

 private:
  static constexpr int64_t kLanes = ApproximateProducts::kLanes;

  // Packs elements so that every group has a column.
  void Pack(int64_t o, const ColumnRun& columns, const ElementRun<T>& run) {
    pack_({run.count, columns.count, run.number_step * groups_, 1, run.stride, columns.stride},
          reinterpret_cast<std::byte*>(packed_.data() + run.number * groups_ + o),
          reinterpret_cast<const std::byte*>(run.first));
  }

  ApproximateProductKernels<T> kernels_ = ApproximateProductKernelsFor<T>(/*tracked=*/true);
  CopyTileFunction pack_ = CopyTileFor(sizeof(T));
  int64_t groups_;
  std::vector<T> packed_;  // groups_ elements for each number
  ProductStates states_;
  bool is_closed_ = false;
};

// Computes MULTIPLY of floats in an order that depends on the group's size alone, for longer groups
// that ApproximateProductAccumulators leaves unresolved. Elements are multiplied as rows of kLanes
// lanes, and the lanes pairwise at the end.
template <typename T>
class OrderedProductAccumulators {
 public:
  using Input = T;
  using Output = T;

  static constexpr bool kByVectors = false;                    // rows come one by one
  static constexpr int64_t kColumns = kLineBytes / sizeof(T);  // a cache line

  explicit OrderedProductAccumulators(int64_t capacity)
      : states_(capacity * kLanes), packed_(static_cast<size_t>(capacity * kPitch)) {}

  void Start(int64_t count) {
    states_.Start(count * kLanes);
    groups_ = count;
    filled_ = 0;
    lanes_ = 0;
    is_closed_ = false;
  }

  void AddRow(int64_t, const ElementRun<T>& run) { AddColumns({1, 0}, run); }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    for (int64_t i = 0; i < run.count;) {
      const int64_t count = std::min(run.count - i, kPiece - filled_);
      pack_({columns.count, count, kPitch, 1, columns.stride, run.stride},
            reinterpret_cast<std::byte*>(packed_.data() + filled_),
            reinterpret_cast<const std::byte*>(run.first + i * run.stride));
      i += count;
      filled_ += count;
      if (filled_ == kPiece) MultiplyRows();
    }
  }

  void Merge(int64_t o, OrderedProductAccumulators& other, int64_t p, int64_t) {
    MultiplyGroup(Product(o), other.Product(p), /*tracked=*/true);
  }

  bool Finish(int64_t o, int64_t, T& result) {
    result = RoundedProduct<T>(Product(o));
    return true;
  }

 private:
  static constexpr int64_t kLanes = ApproximateProducts::kLanes;
  static constexpr int64_t kPiece = 64 * kLanes;
  static constexpr int64_t kPitch = kPiece + kLineBytes / sizeof(T);  // not a power of two

  // Multiplies the packed elements into the lanes and pads the last row with ones.
  void MultiplyRows() {
    const int64_t rows = (filled_ + kLanes - 1) / kLanes;
    for (int64_t o = 0; o < groups_; ++o) {
      T* x = packed_.data() + o * kPitch;
      std::fill(x + filled_, x + rows * kLanes, RoundOnce<T>(1.0));
      kernels_.multiply_columns(x, rows, kLanes, kLanes, states_.At(o * kLanes));
    }
    lanes_ = std::max(lanes_, std::min(filled_, kLanes));
    filled_ = 0;
  }

  // The product of all elements of a group.
  ApproximateProducts Product(int64_t o) {
    if (!std::exchange(is_closed_, true)) Close();
    return states_.At(o * kLanes);
  }

  // Leaves the products of the groups in their first lanes.
  void Close() {
    MultiplyRows();
    const int64_t count = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lanes_)));
    for (int64_t o = 0; o < groups_; ++o) kernels_.merge_lanes(states_.At(o * kLanes), count);
  }

  ApproximateProductKernels<T> kernels_ = ApproximateProductKernelsFor<T>(/*tracked=*/true);
  CopyTileFunction pack_ = CopyTileFor(sizeof(T));
  ProductStates states_;   // kLanes lanes for each group
  std::vector<T> packed_;  // elements that are not multiplied yet
  int64_t groups_ = 0;
  int64_t filled_ = 0;  // packed elements of each group
  int64_t lanes_ = 0;   // lanes that have an element
  bool is_closed_ = false;
};

}  // namespace dmlop
