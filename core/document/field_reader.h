// The fields of an operator, read from a JSON object.
//
//   FUS-2   an operator that cannot be a fused activation
//   FUS-4   a fused activation has no tensors
#pragma once

#include <string_view>
#include <vector>

#include "core/document/value_reader.h"
#include "core/ops/operator.h"

namespace dmlop {

inline constexpr std::array<std::string_view, 4> kOperatorKeys = {"type", "Type", "desc", "Desc"};

// The row of the operator that an object names by its "type"; null where there is none, which is
// reported.
const OperatorInfo* ReadOperatorType(JsonCursor object, const ValueReader& values);

// Reads every field that the object has; what cannot be read is reported and left out. Scalars have
// no type yet.
void ReadFields(JsonCursor object, const ValueReader& values, OperatorDesc& op,
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
