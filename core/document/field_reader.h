// SPDX-License-Identifier: Apache-2.0
// Reads the fields of an operator from a JSON object.
//
//   FUS-2   an operator that cannot be a fused activation
//   FUS-4   a fused activation has no tensors
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/document/value_reader.h"
#include "core/ops/operator.h"

namespace dmlop {

// Returns the row of the operator that an object names by its "type"; null if there is none, which
// is reported with an operator that is possible there.
const OperatorInfo* ReadOperatorType(JsonCursor object, const ValueReader& values,
                                     std::span<const OperatorInfo* const> among = Operators());

// Reads every field that the object has, reporting and leaving out those that cannot be read.
// Scalars have no type yet.
void ReadFields(JsonCursor object, const ValueReader& values, OperatorDesc& op,
                bool tensors = true);

// Checks that the object has no members other than these: those of every operator, `others`, and
// the fields, which may be in an inner object. Tensors are not suggested if an operator has none,
// and are refused elsewhere.
void CheckKeys(JsonCursor object, JsonCursor fields, const OperatorInfo& info,
               std::span<const std::string_view> others, const ValueReader& values,
               bool tensors = true);

// Replacements of values that cannot be read.
struct Placeholders {
  uint32_t number;  // also in arrays
  DataType type;
  bool last_name;  // the last name of an enum; otherwise the first
};

// Fills in placeholders where the object has a value that the operator lacks.
void FillUnreadable(JsonCursor object, Dialect dialect, const Placeholders& placeholders,
                    OperatorDesc& op);

// Reads the scalars again, by the types that the other fields imply.
void ReadScalars(JsonCursor object, const ValueReader& values, OperatorDesc& op);

}  // namespace dmlop
