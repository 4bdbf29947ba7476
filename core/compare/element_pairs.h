// SPDX-License-Identifier: Apache-2.0
// Elements of two tensors of any types and layouts, by their row-major numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/tensor/element.h"
#include "core/tensor/tensor.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

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
};

template <typename T>
inline constexpr bool kIsFloatElement = !std::is_integral_v<T>;

// The elements of a view by their row-major numbers. They need not be aligned.
template <typename Element>
struct ElementsOfSide {
  explicit ElementsOfSide(const ConstTensorView& tensor)
      : view(tensor), is_packed(IsPacked(tensor.layout)) {}

  Element At(int64_t number) const {
    const int64_t offset = is_packed ? number : OffsetOfElement(view.layout, number);
    return ElementOf<Element>(view.data + offset * static_cast<int64_t>(sizeof(Element)));
  }

  ConstTensorView view;
  bool is_packed;
};

// Elements of the actual type T and the expected type E, in any layout.
template <typename T, typename E>
class ElementPairs {
 public:
  ElementPairs(const ConstTensorView& actual, const ConstTensorView& expected)
      : actual_(actual), expected_(expected) {}

  T ExpectedAt(int64_t number) const {
    const E element = expected_.At(number);
    if constexpr (std::is_same_v<T, E>) {
      return element;
    } else {
      return FromDouble<T>(AsDouble(element));
    }
  }

  // The expected value before it is rounded to T.
  double UnroundedAt(int64_t number) const { return AsDouble(expected_.At(number)); }

  ValuePair<T> PairAt(int64_t number) const {
    return {actual_.At(number), ExpectedAt(number), number};
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

  const Dims& sizes() const { return expected_.view.layout.sizes; }

 private:
  const ElementsOfSide<T> actual_;
  const ElementsOfSide<E> expected_;
};

// Calls visit(pairs) with the ElementPairs of two views of equal sizes, and of equal types or two
// floats.
template <typename Visit>
void VisitElementPairs(const ConstTensorView& actual, const ConstTensorView& expected,
                       Visit&& visit) {
  VisitDataType(AllTypes{}, actual.type, [&]<typename T>() {
    if (StoredAs(actual.type) == StoredAs(expected.type)) {
      return visit(ElementPairs<T, T>(actual, expected));
    }
    if constexpr (kIsFloatElement<T>) {
      VisitDataType(Join<TypeList<double>, Floats>{}, expected.type, [&]<typename E>() {
        if constexpr (!std::is_same_v<T, E>) visit(ElementPairs<T, E>(actual, expected));
      });
    }
  });
}

}  // namespace dmlop
