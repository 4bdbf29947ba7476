// DxDispatch's initializers {"value": v} and {"valueStart": s, "valueDelta": d}: many elements by
// one or two numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "core/document/value_reader.h"
#include "core/tensor/data_type.h"
#include "core/tensor/element.h"

namespace dmlop {

// Each value is the one before plus delta in the elements' own type: integers wrap, floats round.
struct ValueSequence {
  ElementBytes start;
  std::optional<ElementBytes> delta;  // none: the same value again and again
};

// The initializer's numbers; empty where one is missing or wrong, which is reported.
std::optional<ValueSequence> ReadSequence(JsonCursor initializer, DataType type,
                                          const ValueReader& values);

// Writes `count` elements side by side, to a place that is aligned for them.
void FillWith(const ValueSequence& sequence, DataType type, int64_t count, std::byte* to);

}  // namespace dmlop
