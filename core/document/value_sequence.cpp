#include "core/document/value_sequence.h"

#include <cstring>

#include "core/exact/rounding.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

template <typename T>
T Next(T value, T delta) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(value) + static_cast<uint64_t>(delta));
  } else if constexpr (std::is_same_v<T, Half>) {
    return RoundOnce<Half>(
        static_cast<double>(ToFloat(value)) + static_cast<double>(ToFloat(delta)), 0.0);
  } else {
    return value + delta;
  }
}

template <typename T>
T ElementOf(const ElementBytes& bytes) {
  T element;
  std::memcpy(&element, bytes.data(), sizeof(T));
  return element;
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
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    T value = ElementOf<T>(sequence.start);
    for (int64_t i = 0; i < count; ++i, to += sizeof(T)) {
      std::memcpy(to, &value, sizeof(T));
      if (sequence.delta) value = Next(value, ElementOf<T>(*sequence.delta));
    }
  });
}

}  // namespace dmlop
