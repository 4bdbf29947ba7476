// One operator as a JSON document: "type", "desc", "bindings" and, of a test case, "name", "expect"
// and "tolerance".
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/document/operator_object.h"
#include "core/io/json.h"
#include "core/io/tensor_file.h"
#include "core/ops/operator.h"
#include "core/tensor/tolerance.h"

namespace dmlop {

// What a tensor is bound to: a file, or values in the document.
struct Binding {
  std::string path;
  std::optional<JsonCursor> values;
  std::optional<JsonCursor> place;  // of a path in the document; none for the command line's
};

// What the outputs of a case may differ by, in place of what the command line says.
struct CaseTolerance {
  Tolerance tolerance;
  bool webnn = false;  // what WebNN's conformance suite grants the operator
};

// The members of a document beside those of the operator.
inline constexpr std::array<std::string_view, 5> kDocumentKeys = {"bindings", "name", "expect",
                                                                  "tolerance", "$schema"};

// How many values nested arrays have, as the first of each tells.
std::vector<uint32_t> ShapeOfValues(JsonCursor values);

class OperatorDocument {
 public:
  // Reads a document that is well-formed. `folder` is what its bindings are relative to. Faults are
  // reported, and the document has what could be read; it has no operator if its type is unknown.
  OperatorDocument(JsonDocument json, std::string folder, Diagnostics& diagnostics);
  OperatorDocument(const OperatorDocument&) = delete;
  OperatorDocument& operator=(const OperatorDocument&) = delete;

  const JsonDocument& json() const { return json_; }
  bool has_operator() const { return object_.has_operator(); }
  OperatorDesc& op() { return object_.op(); }
  const OperatorDesc& op() const { return object_.op(); }

  // By the path of the tensor: "InputTensor", "OutputTensors/1".
  std::map<std::string, Binding>& bindings() { return bindings_; }
  const std::map<std::string, Binding>& bindings() const { return bindings_; }

  // How many entries the document's binding of an array of tensors has, those that are null, too.
  size_t BoundEntries(std::string_view field) const;

  // The values that outputs should have, by the path of the tensor.
  const std::map<std::string, JsonCursor>& expected() const { return expected_; }

  const std::optional<CaseTolerance>& tolerance() const { return tolerance_; }

  // What the case is called; empty where it has no name.
  const std::string& name() const { return name_; }

  // Gives an array of tensors that was left out `count` entries.
  void SizeLeftOutTensors(TensorRole role, size_t count);

  // Completes and validates the operator, and the values bound to it. Faults of values that could
  // not be read are not repeated.
  void Check(FeatureLevel level, Diagnostics& diagnostics);

  // What a valid operator has to say of the values that it is to run on.
  void WarnOfValues(std::span<const ConstTensorView> inputs, Diagnostics& diagnostics) const {
    object_.WarnOfValues(inputs, diagnostics);
  }

  // The elements of a tensor with a valid desc that stand in the document itself, after Check found
  // them fit. Random values that state no seed differ from tensor to tensor. Different values in
  // one place are reported.
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
  std::map<std::string, JsonCursor> expected_;
  std::optional<CaseTolerance> tolerance_;
  std::string name_;
};

// The document as text with everything filled in, for an operator that is valid.
std::string CompleteText(const OperatorDocument& document);

}  // namespace dmlop
