// SPDX-License-Identifier: Apache-2.0
#include "core/document/value_sequence.h"

#include <algorithm>
#include <span>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kParallelFill = 1 << 20;  // fewer are not worth a second thread

template <typename T>
T Next(DataType type, T value, T delta) {
  if constexpr (std::is_integral_v<T>) {
    const auto sum = static_cast<uint64_t>(value) + static_cast<uint64_t>(delta);
    return Wrapped(type, static_cast<T>(sum));
  } else if constexpr (std::is_same_v<T, Half>) {
    return FromDouble<Half>(AsDouble(value) + AsDouble(delta));
  } else {
    return value + delta;
  }
}

template <typename T>
void FillInOrder(DataType type, T value, T delta, std::span<T> to) {
  ForEachStep(to.size_bytes(), [&](size_t begin, size_t size) {
    for (T& element : to.subspan(begin / sizeof(T), size / sizeof(T))) {
      element = value;
      value = Next(type, value, delta);
    }
  });
}

std::optional<ElementBytes> ReadElement(JsonCursor initializer, std::string_view name,
                                        DataType type, const ValueReader& values) {
  ElementBytes element{};
  const auto member = values.Require(initializer, name);
  if (!member || !values.Element(*member, type, element.data())) return std::nullopt;
  return element;
}

}  // namespace

std::optional<ValueSequence> ReadSequence(JsonCursor initializer, DataType type,
                                          const ValueReader& values) {
  if (initializer.Find("value")) {
    const auto value = ReadElement(initializer, "value", type, values);
    if (!value) return std::nullopt;
    return ValueSequence{*value, std::nullopt};
  }
  const auto start = ReadElement(initializer, "valueStart", type, values);
  const auto delta = ReadElement(initializer, "valueDelta", type, values);
  if (!start || !delta) return std::nullopt;
  return ValueSequence{*start, delta};
}

void FillWith(const ValueSequence& sequence, DataType type, int64_t count, std::byte* to) {
  const int64_t bytes = count * static_cast<int64_t>(ByteWidth(type));
  const Work work("filling in values", bytes);
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    T* const elements = reinterpret_cast<T*>(to);
    const T start = ElementOf<T>(sequence.start);
    if (sequence.delta) {
      FillInOrder(type, start, ElementOf<T>(*sequence.delta),
                  {elements, static_cast<size_t>(count)});
    } else {
      ParallelFor(count, kParallelFill, bytes, [&](int64_t begin, int64_t end) {
        std::fill(elements + begin, elements + end, start);
      });
    }
  });
}

}  // namespace dmlop
