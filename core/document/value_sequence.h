// SPDX-License-Identifier: Apache-2.0
// DxDispatch's initializers {"value": v} and {"valueStart": s, "valueDelta": d}, which give many
// elements by one or two numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "core/document/value_reader.h"
#include "core/tensor/data_type.h"
#include "core/tensor/element.h"

namespace dmlop {

// Each value is the previous one plus delta in the elements' own type: integers wrap, floats round.
struct ValueSequence {
  ElementBytes start;
  std::optional<ElementBytes> delta;  // none to repeat the same value
};

// Reads the initializer's numbers; empty if one is missing or wrong, which is reported.
std::optional<ValueSequence> ReadSequence(JsonCursor initializer, DataType type,
                                          const ValueReader& values);

// Writes `count` adjacent elements to a place that is aligned for them.
void FillWith(const ValueSequence& sequence, DataType type, int64_t count, std::byte* to);

}  // namespace dmlop
