// The fields of an operator, read from a JSON object.
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

// The row of the operator that an object names by its "type"; null where there is none, which is
// reported with one of those that can stand there.
const OperatorInfo* ReadOperatorType(JsonCursor object, const ValueReader& values,
                                     std::span<const OperatorInfo* const> among = Operators());

// Reads every field that the object has; what cannot be read is reported and left out. Scalars have
// no type yet.
void ReadFields(JsonCursor object, const ValueReader& values, OperatorDesc& op,
                bool tensors = true);

// The object has no other members than these: what every operator has, `others`, and the fields,
// which may stand in an object of their own. Tensors are not proposed where an operator has none,
// and are refused elsewhere.
void CheckKeys(JsonCursor object, JsonCursor fields, const OperatorInfo& info,
               std::span<const std::string_view> others, const ValueReader& values,
               bool tensors = true);

// What stands for values that cannot be read.
struct Placeholders {
  uint32_t number;  // also in arrays
  DataType type;
  bool last_name;  // of an enum; else the first
};

// Puts placeholders where the object has a value that the operator lacks.
void FillUnreadable(JsonCursor object, Dialect dialect, const Placeholders& placeholders,
                    OperatorDesc& op);

// Reads the scalars once more, by the types that the other fields tell.
void ReadScalars(JsonCursor object, const ValueReader& values, OperatorDesc& op);

}  // namespace dmlop
