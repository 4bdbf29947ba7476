// An operator is a row of a table, and a descriptor is a row with the values of its fields.
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
#include "core/tensor/tolerance.h"

namespace dmlop {

class Inference;

inline constexpr std::string_view kOperatorPrefix = "DML_OPERATOR_";

// Where an operator may be a fused activation, and from which level on besides its own.
struct Fusable {
  uint8_t hosts = 0;  // a bit for each ActivationHost
  FeatureLevel since = {};

  constexpr bool In(ActivationHost host) const {
    return (hosts >> static_cast<unsigned>(host) & 1) != 0;
  }
  // Networks take what there is.
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
  std::string_view name;  // without its prefix
  std::string_view summary;
  std::span<const Field* const> fields;  // in DirectML's order
  std::span<const SupportTable> support;
  std::string_view type_rule;   // tensors and data types of one type variable agree
  std::span<const Rule> rules;  // besides those of tensors alone
  // Says what the outputs must be and checks what the fields must be to one another. Called when
  // every field is there and keeps to its limits; only outputs may be incomplete.
  void (*infer)(const OperatorDesc& op, Inference& infer);
  Family family;
  bool values_choose = false;    // which of the sources count, as indices and lengths say
  bool in_place = false;         // an output may take the place of an input
  bool implies_outputs = false;  // where none of its optional outputs is there, all are (REC-8)
  Fusable fusable = {};
  // What the WebNN conformance suite grants every backend for results from floats (RED-26, ID-8).
  // Null: elements must be equal.
  Tolerance (*hardware_tolerance)(const OperatorDesc& op) = nullptr;
  std::string_view alias = {};  // another name of the same type, which is read and never written
};

std::span<const OperatorInfo* const> Operators();
std::span<const std::string_view> OperatorNames();  // in the same order, then aliases

// By a name or an alias, with or without its prefix; null where there is none.
const OperatorInfo* FindOperator(std::string_view name);

// That whose OutputTensor has the elements of its InputTensor, in any layout.
const OperatorInfo& CopyOperator();

// Asking for a field that the operator does not have is a bug.
class OperatorDesc {
 public:
  // With nothing filled in. Tensors that must be there are there, without type and sizes.
  explicit OperatorDesc(const OperatorInfo& info);

  const OperatorInfo& info() const { return *info_; }
  std::string_view name() const { return info_->name; }

  // A value that is there, as all are that must be once a descriptor is checked.
  template <typename T>
  const T& operator[](const FieldOf<T>& field) const {
    return std::get<T>(values_[IndexOf(field)]);
  }
  // Null where it is left out.
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

  // Null also where the operator has no such field.
  template <typename T>
  const T* find_if_known(const FieldOf<T>& field) const {
    return std::find(info_->fields.begin(), info_->fields.end(), &field) == info_->fields.end()
               ? nullptr
               : find(field);
  }

  // Puts a tensor that is left out in its place, without type and sizes: a file is bound to it.
  void AddTensor(const Field& field);

  // Puts all optional outputs there where none is, if the operator implies them.
  void AddImpliedOutputs();

  void Remove(const Field& field) { values_[IndexOf(field)] = std::monostate(); }

  // The sizes of a tensor that has them.
  const std::vector<uint32_t>& sizes(const FieldOf<TensorDesc>& tensor) const {
    return *(*this)[tensor].sizes;
  }

  // In the order of the row's fields.
  std::span<const Field* const> fields() const { return info_->fields; }
  std::span<const FieldValue> values() const { return values_; }
  std::span<FieldValue> values() { return values_; }

 private:
  size_t IndexOf(const Field& field) const;

  const OperatorInfo* info_;
  std::vector<FieldValue> values_;
};

// The activation that follows an operator's own result; null where there is none.
const OperatorDesc* FusedActivationOf(const OperatorDesc& host);

// A sentence about a field of the operator, for people.
std::string_view MeaningOf(const OperatorInfo& info, const Field& field);

// The fields that are tensors, or arrays of them.
std::vector<const Field*> TensorFieldsOf(const OperatorInfo& info);

// A tensor of an operator, by its path: "InputTensor", "OutputTensors/1".
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

// Views of tensors, one after another.
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

// Inputs and outputs that are there, in the order of the fields.
std::vector<TensorSlot> TensorSlots(const OperatorDesc& op);
std::vector<MutableTensorSlot> TensorSlots(OperatorDesc& op);
std::vector<TensorSlot> TensorSlots(const OperatorDesc& op, TensorRole role);
// The number of an input among those that are there.
std::optional<size_t> InputNumber(const OperatorDesc& op, const Field& field);

// More tensors than this of an array that was left out are not made up from a count alone.
inline constexpr size_t kMaxImpliedTensors = 1 << 16;

// Fills in what was left out as far as the rest implies it, counts, data types, and what the
// outputs must be, and reports every rule that the descriptor breaks at `level`, into a list that
// has no errors yet. Pointers are relative to the descriptor. Scalars that have no type yet are not
// judged.
void Check(OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics);

// The first part of that alone: counts, enumerators where there is one only, and the data types
// that type variables and fields tell.
void FillInTypes(OperatorDesc& op);

// What tensors and fields say of a type variable; empty where none of them does.
std::optional<DataType> StatedType(const OperatorDesc& op, TypeVariable variable);

// The lowest level at which a valid descriptor runs.
FeatureLevel MinimumFeatureLevel(const OperatorDesc& op);

Tolerance WebnnTolerance(const OperatorDesc& op);

}  // namespace dmlop
