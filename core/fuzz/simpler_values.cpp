// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "core/fuzz/case_change.h"

namespace dmlop {
namespace {

constexpr double kSmall = 8;

// The number of an element, and the element.
using ElementChange = std::function<ElementBytes(int64_t number, const ElementBytes& element)>;

class InputValues {
 public:
  InputValues(const Computation& original, size_t input)
      : original_(original), view_(original.inputs[input]), input_(input) {
    const auto width = static_cast<int64_t>(ByteWidth(view_.type));
    Dims index = Dims::Filled(view_.layout.rank(), 0);
    for (int64_t k = 0; k < count(); ++k, Advance(view_.layout.sizes, index)) {
      ElementBytes bytes{};
      std::memcpy(bytes.data(), view_.data + OffsetOf(view_.layout, index) * width,
                  static_cast<size_t>(width));
      elements_.push_back(bytes);
    }
  }

  std::vector<Computation> Simpler() {
    for (const double value : {1.0, 0.0}) MakeAll(Element(value));
    for (const ElementBytes& element : {elements_.front(), elements_.back(), Greatest()}) {
      MakeAll(element);
    }
    Change([&](int64_t, const ElementBytes& e) { return Value(e) == 0 ? e : Element(1); });
    Change([&](int64_t, const ElementBytes& e) { return SmallInteger(e); });
    for (int64_t size = (count() + 1) / 2; count() > 1; size = (size + 1) / 2) {
      for (int64_t begin = 0; begin < count(); begin += size) MakeZero(begin, begin + size);
      if (size == 1 || cases_.size() > kMostCases) break;
    }
    return std::move(cases_);
  }

 private:
  static constexpr size_t kMostCases = 40;

  int64_t count() const { return view_.layout.element_count(); }
  double Value(const ElementBytes& element) const { return ValueOf(view_.type, element.data()); }
  ElementBytes Element(double value) const { return ConvertedTo(original_slot_type(), value); }
  DataType original_slot_type() const {
    return *TensorSlots(original_.op, TensorRole::kInput)[input_].desc->data_type;
  }

  bool MayBeZero() const {
    return IsFloat(view_.type) ||
           std::ranges::any_of(elements_, [&](const ElementBytes& e) { return Value(e) == 0; });
  }

  const ElementBytes& Greatest() const {
    return *std::ranges::max_element(elements_, {},
                                     [&](const ElementBytes& e) { return std::abs(Value(e)); });
  }

  ElementBytes SmallInteger(const ElementBytes& element) const {
    const double value = Value(element);
    if (!std::isfinite(value)) return element;
    const double rounded = std::clamp(std::round(value), -kSmall, kSmall);
    return Element(rounded == 0 && value != 0 ? std::copysign(1, value) : rounded);
  }

  void MakeAll(const ElementBytes& value) {
    if (Value(value) == 0 && !MayBeZero()) return;
    Change([&](int64_t, const ElementBytes&) { return value; });
  }

  void MakeZero(int64_t begin, int64_t end) {
    if (!MayBeZero()) return;
    Change([&](int64_t number, const ElementBytes& element) {
      return begin <= number && number < end ? Element(0) : element;
    });
  }

  void Change(const ElementChange& change) {
    const size_t width = ByteWidth(view_.type);
    const auto buffer = std::make_shared<Buffer>(static_cast<size_t>(Extent(view_.layout)) * width);
    for (int64_t k = count(); k-- > 0;) {  // the first of those that share a place comes last
      const ElementBytes bytes = change(k, elements_[static_cast<size_t>(k)]);
      std::memcpy(buffer->data() + static_cast<size_t>(OffsetOfElement(view_.layout, k)) * width,
                  bytes.data(), width);
    }
    Computation changed = original_;
    changed.inputs[input_].data = buffer->data();
    changed.storage.push_back(buffer);
    cases_.push_back(std::move(changed));
  }

  const Computation& original_;
  const ConstTensorView& view_;
  size_t input_;
  std::vector<ElementBytes> elements_;
  std::vector<Computation> cases_;
};

int64_t ComplexityOfValue(double value) {
  if (value == 0 && !std::signbit(value)) return 0;
  if (value == 1) return 1;
  if (value == std::trunc(value) && std::abs(value) <= kSmall) return 2;
  return 3;
}

}  // namespace

int64_t ComplexityOf(const ConstTensorView& input) {
  const auto width = static_cast<int64_t>(ByteWidth(input.type));
  const std::byte* first = input.data;
  int64_t most = 0;
  int64_t nonzero = 0;
  bool all_equal = true;
  Dims index = Dims::Filled(input.layout.rank(), 0);
  for (int64_t k = 0; k < input.layout.element_count(); ++k, Advance(input.layout.sizes, index)) {
    const std::byte* element = input.data + OffsetOf(input.layout, index) * width;
    const int64_t complexity = ComplexityOfValue(ValueOf(input.type, element));
    most = std::max(most, complexity);
    nonzero += complexity != 0;
    all_equal &= std::memcmp(first, element, static_cast<size_t>(width)) == 0;
  }
  constexpr int64_t kCounts = int64_t{1} << 32;
  return all_equal ? most : (most + 4) * kCounts + nonzero;
}

std::vector<Computation> WithSimplerValues(const Computation& original, size_t input) {
  return InputValues(original, input).Simpler();
}

}  // namespace dmlop
