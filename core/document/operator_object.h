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

}  // namespace dmlop
