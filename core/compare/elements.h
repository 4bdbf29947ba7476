// SPDX-License-Identifier: Apache-2.0
// Visits elements of tensors in runs, so that the work on a run is a plain loop, and widens them to
// a few types, for counting and summing.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// Calls body(offsets, count) for the runs that make up the iterations [begin, end) of `nest`, whose
// rank is at least 1; `offsets` has the offset of a run's first element for each operand.
template <size_t kOperands, typename Body>
void ForEachRun(const LoopNest<kOperands>& nest, int64_t begin, int64_t end, Body&& body) {
  const int64_t row_size = nest.sizes.back();
  LoopNest<kOperands> rows = nest;
  rows.sizes.back() = 1;
  Walk<kOperands> row(rows, begin / row_size);
  int64_t first = begin % row_size;
  for (int64_t at = begin; at < end; row.Next(), first = 0) {
    const int64_t count = std::min(row_size - first, end - at);
    std::array<int64_t, kOperands> offsets;
    for (size_t k = 0; k < kOperands; ++k) {
      offsets[k] = row.offset(k) + first * nest.strides[k].back();
    }
    body(offsets, count);
    at += count;
  }
}

// The type of Number that holds a T.
template <typename T>
using Wide = std::conditional_t<!std::is_integral_v<T>, double,
                                std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <typename T>
Wide<T> Widen(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else {
    return AsDouble(x);
  }
}

template <typename T>
bool IsFinite(T value) {
  if constexpr (std::is_integral_v<T>) {
    return true;
  } else {
    return std::isfinite(value);
  }
}

// The elements of a view in row-major order.
template <typename T>
class Elements {
 public:
  explicit Elements(const ConstTensorView& view)
      : data_(view.elements<T>()),
        count_(view.layout.element_count()),
        nest_(WithARow(Merged(LoopNest<1>{view.layout.sizes, {view.layout.strides}}))) {}

  int64_t count() const { return count_; }
  int64_t bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

  // Calls visit(value) for the elements [begin, end).
  template <typename Visit>
  void ForEach(int64_t begin, int64_t end, Visit&& visit) const {
    const int64_t stride = nest_.strides[0].back();
    ForEachRun(nest_, begin, end, [&](const std::array<int64_t, 1>& offset, int64_t count) {
      for (int64_t i = 0; i < count; ++i) visit(Widen(data_[offset[0] + i * stride]));
    });
  }

 private:
  const T* data_;
  int64_t count_;
  LoopNest<1> nest_;
};

// --- pairs ---------------------------------------------------------------------------------------

// Elements of two tensors of any types and layouts, by their row-major numbers.

template <typename T>
inline constexpr bool kIsFloatElement = !std::is_integral_v<T>;

// An element of both tensors; the expected one is rounded to the actual one's type.
template <typename T>
struct ValuePair {
  T actual;
  T expected;
  int64_t number;  // of the element, in row-major order

  // Exact, except for integers of 64 bits.
  double a() const { return AsDouble(actual); }
  double e() const { return AsDouble(expected); }
  double difference() const {
    if constexpr (std::is_integral_v<T>) {
      const auto wrapped = static_cast<uint64_t>(actual) - static_cast<uint64_t>(expected);
      return static_cast<double>(static_cast<int64_t>(wrapped));
    } else {
      return a() - e();
    }
  }
  double magnitude() const { return std::abs(a()) + std::abs(e()); }
  bool is_finite() const { return std::isfinite(a()) && std::isfinite(e()); }
  // Returns whether both are the same number, or NaN.
  bool is_equal() const {
    if (ElementBits(actual) == ElementBits(expected)) return true;
    return kIsFloatElement<T> && (a() == e() || (std::isnan(a()) && std::isnan(e())));
  }
};

// The elements of a view by their row-major numbers.
class NumberedElements {
 public:
  explicit NumberedElements(const ConstTensorView& view)
      : view_(view),
        is_packed_(IsPacked(view.layout)),
        bytes_(static_cast<int64_t>(ByteWidth(StoredAs(view.type)))) {}

  const Dims& sizes() const { return view_.layout.sizes; }

  const std::byte* At(int64_t number) const {
    return view_.data + (is_packed_ ? number : OffsetOfElement(view_.layout, number)) * bytes_;
  }

 private:
  ConstTensorView view_;
  bool is_packed_;
  int64_t bytes_;
};

// Elements of the actual type T, in any layout. They need not be aligned. The expected ones are
// read by functions: a second parameter would double what is compiled for pairs.
template <typename T>
class ElementPairs {
 public:
  // Takes the type of the expected elements, T or another float.
  template <typename E>
  ElementPairs(const ConstTensorView& actual, const ConstTensorView& expected, TypeList<E>)
      : actual_(actual), expected_(expected), read_(Read<E>), read_unrounded_(ReadUnrounded<E>) {}

  T ExpectedAt(int64_t number) const { return read_(expected_.At(number)); }

  // The expected value before it is rounded to T.
  double UnroundedAt(int64_t number) const { return read_unrounded_(expected_.At(number)); }

  ValuePair<T> PairAt(int64_t number) const {
    return {ElementOf<T>(actual_.At(number)), ExpectedAt(number), number};
  }

  Dims Shift(int64_t from, int64_t to) const {
    const Dims begin = IndexOf(sizes(), from);
    Dims shift = IndexOf(sizes(), to);
    for (size_t d = 0; d < shift.size(); ++d) shift[d] -= begin[d];
    return shift;
  }

  bool IsShifted(const ValuePair<T>& pair, const Dims& shift) const {
    Dims place = IndexOf(sizes(), pair.number);
    int64_t number = 0;
    for (size_t d = 0; d < place.size(); ++d) {
      place[d] += shift[d];
      if (place[d] < 0 || place[d] >= sizes()[d]) return false;
      number = number * sizes()[d] + place[d];
    }
    return ElementBits(ExpectedAt(number)) == ElementBits(pair.actual);
  }

  const Dims& sizes() const { return expected_.sizes(); }

 private:
  template <typename E>
  static T Read(const std::byte* at) {
    if constexpr (std::is_same_v<T, E>) {
      return ElementOf<T>(at);
    } else {
      return FromDouble<T>(AsDouble(ElementOf<E>(at)));
    }
  }

  template <typename E>
  static double ReadUnrounded(const std::byte* at) {
    return AsDouble(ElementOf<E>(at));
  }

  NumberedElements actual_, expected_;
  T (*read_)(const std::byte*);
  double (*read_unrounded_)(const std::byte*);
};

// Calls visit(pairs) with the ElementPairs of two views of equal sizes, of one type or two floats.
template <typename Visit>
void VisitElementPairs(const ConstTensorView& actual, const ConstTensorView& expected,
                       Visit&& visit) {
  VisitDataType(AllTypes{}, actual.type, [&]<typename T>() {
    ElementPairs<T> pairs(actual, expected, TypeList<T>());
    if constexpr (kIsFloatElement<T>) {
      VisitDataType(Join<TypeList<double>, Floats>{}, expected.type, [&]<typename E>() {
        pairs = ElementPairs<T>(actual, expected, TypeList<E>());
      });
    }
    visit(pairs);
  });
}

}  // namespace dmlop
