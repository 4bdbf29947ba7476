// SPDX-License-Identifier: Apache-2.0
// One operator as a JSON object: its "type", and its fields in "desc" or next to the type.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/document/value_reader.h"
#include "core/io/json.h"
#include "core/ops/operator.h"

namespace dmlop {

class OperatorObject {
 public:
  // Reads the object as far as possible, and reports faults. `other_keys` are members that are not
  // the operator's. The document of `object` must outlive this.
  OperatorObject(JsonCursor object, std::span<const std::string_view> other_keys,
                 const ValueReader& values);

  // Returns false if the type is unknown.
  bool has_operator() const { return op_.has_value(); }
  OperatorDesc& op() { return *op_; }
  const OperatorDesc& op() const { return *op_; }

  JsonCursor object() const { return object_; }

  // Completes and validates the operator.
  void Check(FeatureLevel level, Diagnostics& diagnostics);

  // Reports warnings of a valid operator about the values that it is to run on.
  void WarnOfValues(std::span<const ConstTensorView> inputs, Diagnostics& diagnostics) const;

 private:
  Diagnostics Judge(FeatureLevel level, bool may_be_unreadable);
  std::optional<JsonCursor> CountInPlaceOf(std::string_view field) const;
  void Locate(Diagnostic& diagnostic) const;
  bool HidesType(const Diagnostic& fault, std::string_view of_operator) const;
  void ExplainNegativeAxes(Diagnostics& diagnostics) const;
  void ExplainNegativeAxis(JsonCursor value, Diagnostics& diagnostics) const;
  std::string AxisFault(int64_t axis) const;

  JsonCursor object_;
  JsonCursor fields_;  // the object that has the operator's fields
  Dialect dialect_;
  std::optional<OperatorDesc> op_;
};

// --- fields --------------------------------------------------------------------------------------

// Reads the fields of an operator from a JSON object.
//
//   FUS-2   an operator that cannot be a fused activation
//   FUS-4   a fused activation has no tensors

// Returns the row of the operator that an object names by its "type"; null if there is none, which
// is reported with an operator that is possible there.
const OperatorInfo* ReadOperatorType(JsonCursor object, const ValueReader& values,
                                     std::span<const OperatorInfo* const> among = Operators());

// Reads every field of the object and reports those that it cannot. Scalars have no type yet.
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
