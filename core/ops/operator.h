// SPDX-License-Identifier: Apache-2.0
// An operator is a row of a table; a descriptor is a row with values for its fields.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/family.h"
#include "core/ops/field.h"
#include "core/ops/support.h"
#include "core/tensor/unit_tolerance.h"

namespace dmlop {

class Inference;
class OperatorDesc;
struct Signature;

inline constexpr std::string_view kOperatorPrefix = "DML_OPERATOR_";

// The hosts in which an operator may be fused, and the level that this needs besides its own.
struct Fusable {
  uint8_t hosts = 0;  // a bit for each ActivationHost
  FeatureLevel since = {};

  constexpr bool In(ActivationHost host) const {
    return (hosts >> static_cast<unsigned>(host) & 1) != 0;
  }
  // Networks accept an activation as soon as it exists.
  constexpr FeatureLevel SinceIn(ActivationHost host) const {
    return host == ActivationHost::kNetwork ? FeatureLevel{} : since;
  }
};
constexpr uint8_t HostBit(ActivationHost host) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(host));
}
inline constexpr Fusable kFusableEverywhere = {(1u << kActivationHosts) - 1};

// A row of the table of operators.
struct OperatorInfo {
  std::string_view name = {};                 // without the prefix DML_OPERATOR_
  std::span<const Field* const> fields = {};  // in DirectML's order
  std::string_view type_rule = {};  // that tensors and data types of one type variable agree
  // States what the outputs must be, and checks how the fields relate. Called only if every field
  // is there and within its limits; only outputs may be incomplete.
  void (*infer)(const OperatorDesc& op, Inference& infer) = nullptr;
  const Signature* shapes = nullptr;  // how the sizes of its tensors hang together, if it says so
  Family family = {};
  bool reads_by_index = false;   // values, such as indices, decide what is read
  bool in_place = false;         // an output may overwrite an input
  bool implies_outputs = false;  // if none of its optional outputs is given, all are (REC-8)
  Fusable fusable = {};
  // The tolerance that the WebNN conformance suite grants every backend for float results (RED-26,
  // ID-8). Null: elements must be equal.
  Tolerance (*hardware_tolerance)(const OperatorDesc& op) = nullptr;
  std::string_view alias = {};  // another name of the same type, accepted but never written
};

// The part of a row that says what a descriptor must be.
struct OperatorForm {
  std::span<const Field* const> fields;
  std::string_view type_rule;
  void (*infer)(const OperatorDesc& op, Inference& infer);
  const Signature* shapes = nullptr;
};

// `rest` has the properties that few operators have.
constexpr OperatorInfo OperatorRow(std::string_view name, const OperatorForm& form,
                                   const Family& family, OperatorInfo rest = {}) {
  rest.name = name;
  rest.fields = form.fields;
  rest.type_rule = form.type_rule;
  rest.infer = form.infer;
  rest.shapes = form.shapes;
  rest.family = family;
  return rest;
}

std::span<const OperatorInfo* const> Operators();
std::span<const std::string_view> OperatorNames();  // in the same order, then aliases

// Finds an operator by name or alias, with or without its prefix; null if there is none.
const OperatorInfo* FindOperator(std::string_view name);

// The operator that copies the elements of InputTensor to OutputTensor, in any layouts.
const OperatorInfo& CopyOperator();

// Returns the operator that brings pictures to other sizes: RESAMPLE3, linear with antialiasing;
// centres of elements lie at halves.
OperatorDesc PictureScale(DataType type, const std::vector<uint32_t>& from,
                          const std::vector<uint32_t>& to);

// It is a bug to ask for a field that the operator does not have.
class OperatorDesc {
 public:
  // All fields are left out, except for required tensors, which have neither type nor sizes.
  explicit OperatorDesc(const OperatorInfo& info);

  const OperatorInfo& info() const { return *info_; }
  std::string_view name() const { return info_->name; }

  // A value that is there; in a checked descriptor, every required one is.
  template <typename T>
  const T& operator[](const FieldOf<T>& field) const {
    return std::get<T>(values_[IndexOf(field)]);
  }
  // Null if left out.
  template <typename T>
  const T* find(const FieldOf<T>& field) const {
    return std::get_if<T>(&values_[IndexOf(field)]);
  }
  template <typename T>
  void set(const FieldOf<T>& field, T value) {
    values_[IndexOf(field)] = std::move(value);
  }
  template <typename T>
  T& at(const FieldOf<T>& field) {
    return std::get<T>(values_[IndexOf(field)]);
  }
  bool Has(const Field& field) const;

  // Null if left out, or if the operator has no such field.
  template <typename T>
  const T* find_if_known(const FieldOf<T>& field) const {
    return std::find(info_->fields.begin(), info_->fields.end(), &field) == info_->fields.end()
               ? nullptr
               : find(field);
  }

  // Adds a tensor that was left out, without type and sizes, since a file is bound to it.
  void AddTensor(const Field& field);

  // Adds all optional outputs if none is there and the operator implies them.
  void AddImpliedOutputs();

  void Remove(const Field& field) { values_[IndexOf(field)] = std::monostate(); }

  // The sizes of a tensor, which must be known.
  const std::vector<uint32_t>& sizes(const FieldOf<TensorDesc>& tensor) const {
    return *(*this)[tensor].sizes;
  }

  // In the order of the operator's row.
  std::span<const Field* const> fields() const { return info_->fields; }
  std::span<const FieldValue> values() const { return values_; }
  std::span<FieldValue> values() { return values_; }

 private:
  size_t IndexOf(const Field& field) const;

  const OperatorInfo* info_;
  std::vector<FieldValue> values_;
};

// The activation that is applied to an operator's own result; null if there is none.
const OperatorDesc* FusedActivationOf(const OperatorDesc& host);

// The fields that are tensors or arrays of tensors.
std::vector<const Field*> TensorFieldsOf(const OperatorInfo& info);

// A tensor of an operator, and its path: "InputTensor", "OutputTensors/1".
template <typename Desc>
struct BasicTensorSlot {
  std::string path;
  const Field* field;
  Desc* desc;
  TypeVariable type;

  TensorRole role() const { return field->role; }
};
using TensorSlot = BasicTensorSlot<const TensorDesc>;
using MutableTensorSlot = BasicTensorSlot<TensorDesc>;

// Views of tensors by role, in the order in which they were added.
struct RoleViews {
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;

  void Add(TensorRole role, const TensorView& view) {
    if (role == TensorRole::kInput) {
      inputs.push_back(AsConst(view));
    } else {
      outputs.push_back(view);
    }
  }
};

// "InputTensors[1]" for "InputTensors/1".
std::string DisplayName(std::string_view path);

// The tensors that are there, in the order of the fields.
std::vector<TensorSlot> TensorSlots(const OperatorDesc& op);
std::vector<MutableTensorSlot> TensorSlots(OperatorDesc& op);
std::vector<TensorSlot> TensorSlots(const OperatorDesc& op, TensorRole role);
// The number of a tensor among those that are there.
size_t SlotNumber(const OperatorDesc& op, const TensorSlot& slot);
// The number of a tensor among those of its role that are there; none if it is left out.
std::optional<size_t> NumberInRole(const OperatorDesc& op, const Field& field);

// Views of tensors by field. A tensor that is left out has no data.
class FieldViews {
 public:
  FieldViews(const OperatorDesc& op, InputViews inputs, OutputViews outputs)
      : op_(op), inputs_(inputs), outputs_(outputs) {}

  ConstTensorView input(const Field& field) const { return Find(field, inputs_); }
  TensorView output(const Field& field) const { return Find(field, outputs_); }

 private:
  template <typename View>
  View Find(const Field& field, std::span<const View> views) const {
    const std::optional<size_t> number = NumberInRole(op_, field);
    return number ? views[*number] : View();
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  OutputViews outputs_;
};

// A count alone implies at most this many tensors of an array that was left out.
inline constexpr size_t kMaxImpliedTensors = 1 << 16;

// Fills in what the rest implies (counts, data types, outputs), and reports every rule that the
// descriptor breaks at `level`. `diagnostics` has no errors before. Pointers are relative to the
// descriptor. Scalars whose type is still unknown are not judged.
void Check(OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics);

// Only the first step of Check: fills in counts, enumerations with a single name, and the data
// types that type variables and fields imply.
void FillInTypes(OperatorDesc& op);

// The type that tensors and fields state for a type variable; empty if none does.
std::optional<DataType> StatedType(const OperatorDesc& op, TypeVariable variable);

// The lowest level at which a valid descriptor runs.
FeatureLevel MinimumFeatureLevel(const OperatorDesc& op);

Tolerance WebnnTolerance(const OperatorDesc& op);

// --- checks against levels -----------------------------------------------------------------------

// The tables of an operator: one, or one for each kind of enumerator.
std::span<const SupportTable> SupportOf(const OperatorInfo& info);

// Returns the table for the descriptor; null if the field that selects the table is left out.
const SupportTable* SupportFor(const OperatorDesc& op);

// Reports an operator that needs a later level than `level`.
void RequireLevel(const OperatorDesc& op, FeatureLevel since, std::string_view pointer,
                  FeatureLevel level, Diagnostics& diagnostics);

// Returns whether no level allows a second type for the variable.
bool HasOneType(const OperatorDesc& op, TypeVariable variable);

// Reports an operator, types, ranks and enumerators that the level does not support.
void CheckSupport(const OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics);

}  // namespace dmlop
