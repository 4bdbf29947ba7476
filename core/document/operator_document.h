// SPDX-License-Identifier: Apache-2.0
// One operator as a JSON document: "type", "desc", "bindings" and, for a test case, "name",
// "expect" and "tolerance".
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/document/value_reader.h"
#include "core/io/json.h"
#include "core/io/tensor_file.h"
#include "core/ops/operator.h"
#include "core/tensor/unit_tolerance.h"

namespace dmlop {

// One operator as a JSON object: its "type", and its fields in "desc" or next to the type.
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

// The operators that may be fused.
std::vector<const OperatorInfo*> FusableIn(ActivationHost host);

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

// Returns a type that the operator takes for a type variable, the preferred one if possible.
DataType PossibleType(const OperatorDesc& op, TypeVariable variable, DataType preferred);

// Reads the scalars again, by the types that the other fields imply.
void ReadScalars(JsonCursor object, const ValueReader& values, OperatorDesc& op);

// The binding of a tensor: a file, or values in the document.
struct Binding {
  std::string path;
  std::optional<JsonCursor> values;
  std::optional<JsonCursor> place;  // of a path in the document; none for the command line's
};

// The tolerance of a case's outputs, which replaces that of the command line.
struct CaseTolerance {
  Tolerance tolerance;
  UnitTolerance units;
  bool webnn = false;  // the tolerance of WebNN's conformance suite for the operator
};

// The members of a document other than those of the operator.
inline constexpr std::array<std::string_view, 5> kDocumentKeys = {"bindings", "name", "expect",
                                                                  "tolerance", "$schema"};

// Returns the sizes of nested arrays, as the first of each tells.
std::vector<uint32_t> ShapeOfValues(JsonCursor values);

class OperatorDocument {
 public:
  // Reads a well-formed document. Its bindings are relative to `folder`. Faults are reported, and
  // everything readable is read; there is no operator if its type is unknown.
  OperatorDocument(JsonDocument json, std::string folder, Diagnostics& diagnostics);
  OperatorDocument(const OperatorDocument&) = delete;
  OperatorDocument& operator=(const OperatorDocument&) = delete;

  const JsonDocument& json() const { return json_; }
  bool has_operator() const { return object_.has_operator(); }
  OperatorDesc& op() { return object_.op(); }
  const OperatorDesc& op() const { return object_.op(); }

  // Indexed by the path of the tensor: "InputTensor", "OutputTensors/1".
  std::map<std::string, Binding>& bindings() { return bindings_; }
  const std::map<std::string, Binding>& bindings() const { return bindings_; }

  // Returns the number of entries, with null, in the document's binding of an array of tensors.
  size_t BoundEntries(std::string_view field) const;

  // Returns the values that outputs should have, by path: several where any of them is right.
  using ExpectedValues = std::map<std::string, std::vector<JsonCursor>>;
  const ExpectedValues& expected() const { return expected_; }

  const std::optional<CaseTolerance>& tolerance() const { return tolerance_; }

  // Returns the name of the case, or an empty one.
  const std::string& name() const { return name_; }

  // Gives an array of tensors that was left out `count` entries.
  void SizeLeftOutTensors(TensorRole role, size_t count);

  // Completes and validates the operator, and the values bound to it. Does not repeat faults of
  // values that could not be read.
  void Check(FeatureLevel level, Diagnostics& diagnostics);

  // Reports warnings of a valid operator about the values that it is to run on.
  void WarnOfValues(std::span<const ConstTensorView> inputs, Diagnostics& diagnostics) const {
    object_.WarnOfValues(inputs, diagnostics);
  }

  // Returns the elements of a tensor with a valid desc that are in the document itself, after Check
  // found that they fit. Random values without a seed differ from tensor to tensor. Different
  // values in one place are reported.
  LoadedTensor InlineTensor(const TensorSlot& slot, JsonCursor values,
                            Diagnostics& diagnostics) const;

 private:
  template <typename Take>
  void ReadTensorValues(JsonCursor object, std::span<const Field* const> fields,
                        const ValueReader& values, Take&& take);
  void ReadBindings(JsonCursor object, const ValueReader& values);
  void ReadExpected(JsonCursor object, const ValueReader& values);
  void ReadTolerance(JsonCursor value, const ValueReader& values);
  void CheckTensorsExist(Diagnostics& diagnostics) const;
  uint64_t ImpliedSeed(const TensorSlot& slot) const;
  void CheckInlineValues(Diagnostics& diagnostics) const;
  void CheckInlineValues(const TensorSlot& slot, JsonCursor values, Diagnostics& diagnostics) const;

  JsonDocument json_;
  std::string folder_;
  OperatorObject object_;
  std::map<std::string, Binding> bindings_;
  std::map<std::string, size_t, std::less<>> bound_entries_;
  ExpectedValues expected_;
  std::optional<CaseTolerance> tolerance_;
  std::string name_;
};

// Returns the document as text with everything filled in, for a valid operator.
std::string CompleteText(const OperatorDocument& document);

}  // namespace dmlop
