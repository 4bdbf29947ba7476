// SPDX-License-Identifier: Apache-2.0
#include "core/ops/operator.h"

#include <fmt/format.h>

#include <array>
#include <cassert>

namespace dmlop {
namespace {

// The tensors of a role, or of both; those of the other, perhaps very many, are not looked at.
template <typename Slot, typename Op>
std::vector<Slot> SlotsOf(Op& op, std::optional<TensorRole> role = std::nullopt) {
  std::vector<Slot> slots;
  slots.reserve(4);  // enough for most operators
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (role && field.role != *role) continue;
    auto& value = op.values()[i];
    if (auto* tensor = std::get_if<TensorDesc>(&value)) {
      slots.push_back({std::string(field.name), &field, tensor, field.type});
    } else if (auto* tensors = std::get_if<std::vector<TensorDesc>>(&value)) {
      for (size_t k = 0; k < tensors->size(); ++k) {
        slots.push_back(
            {fmt::format("{}/{}", field.name, k), &field, &(*tensors)[k], field.TypeOfEntry(k)});
      }
    }
  }
  return slots;
}

size_t TensorCountOf(const FieldValue& value) {
  if (const auto* tensors = std::get_if<std::vector<TensorDesc>>(&value)) return tensors->size();
  return std::holds_alternative<TensorDesc>(value) ? 1 : 0;
}

void FillInCounts(OperatorDesc& op) {
  for (size_t i = 0; i + 1 < op.fields().size(); ++i) {
    if (op.fields()[i]->kind != FieldKind::kCount) continue;
    FieldValue& count = op.values()[i];
    FieldValue& array = op.values()[i + 1];
    const bool is_left_out = std::holds_alternative<std::monostate>(array);
    if (const auto* number = std::get_if<uint32_t>(&count)) {
      const FieldKind kind = op.fields()[i + 1]->kind;
      if (is_left_out && *number == 0 && kind == FieldKind::kUints) {
        array.emplace<std::vector<uint32_t>>();
      }
    } else if (const auto length = LengthOf(array)) {
      count = static_cast<uint32_t>(*length);
    }
  }
}

void FillInCountsOfActivations(OperatorDesc& op) {
  for (FieldValue& value : op.values()) {
    auto* activations = std::get_if<std::vector<OperatorDesc>>(&value);
    if (activations == nullptr) continue;
    for (OperatorDesc& activation : *activations) FillInCounts(activation);
  }
}

// Fills in fields whose enumeration has a single name.
void FillInOnlyNames(OperatorDesc& op) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const bool is_only = op.fields()[i]->names.names.size() == 1;
    if (is_only && std::holds_alternative<std::monostate>(op.values()[i])) {
      op.values()[i] = uint32_t{0};
    }
  }
}

// Returns the first type that tensors or fields state for each type variable.
std::array<std::optional<DataType>, kTypeVariables> StatedTypes(const OperatorDesc& op) {
  std::array<std::optional<DataType>, kTypeVariables> types;
  const auto state = [&](TypeVariable variable, std::optional<DataType> type) {
    auto& of_variable = types[static_cast<size_t>(variable)];
    if (!of_variable) of_variable = type;
  };
  for (const TensorSlot& slot : TensorSlots(op)) state(slot.type, slot.desc->data_type);
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const auto* type = std::get_if<DataType>(&op.values()[i]);
    if (type != nullptr) state(op.fields()[i]->type, *type);
  }
  return types;
}

}  // namespace

std::optional<size_t> LengthOf(const FieldValue& value) {
  return std::visit(
      []<typename T>(const T& entries) -> std::optional<size_t> {
        if constexpr (requires { entries.size(); }) return entries.size();
        return std::nullopt;
      },
      value);
}

const OperatorInfo* FindOperator(std::string_view name) {
  if (name.starts_with(kOperatorPrefix)) name.remove_prefix(kOperatorPrefix.size());
  const auto operators = Operators();
  const auto found =
      std::find_if(operators.begin(), operators.end(), [&](const OperatorInfo* info) {
        return info->name == name || (!info->alias.empty() && info->alias == name);
      });
  return found == operators.end() ? nullptr : *found;
}

const OperatorInfo& CopyOperator() {
  return *FindOperator("ELEMENT_WISE_IDENTITY");
}

OperatorDesc::OperatorDesc(const OperatorInfo& info) : info_(&info), values_(info.fields.size()) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Field& field = *info.fields[i];
    if (field.kind == FieldKind::kTensor && !field.optional) values_[i].emplace<TensorDesc>();
  }
}

bool OperatorDesc::Has(const Field& field) const {
  return !std::holds_alternative<std::monostate>(values_[IndexOf(field)]);
}

void OperatorDesc::AddTensor(const Field& field) {
  if (!Has(field)) values_[IndexOf(field)].emplace<TensorDesc>();
}

void OperatorDesc::AddImpliedOutputs() {
  if (!info_->implies_outputs || !TensorSlots(*this, TensorRole::kOutput).empty()) return;
  for (const Field* field : TensorFieldsOf(*info_)) {
    if (field->optional && field->role == TensorRole::kOutput) AddTensor(*field);
  }
}

size_t OperatorDesc::IndexOf(const Field& field) const {
  const auto found = std::find(info_->fields.begin(), info_->fields.end(), &field);
  assert(found != info_->fields.end());
  return static_cast<size_t>(found - info_->fields.begin());
}

const OperatorDesc* FusedActivationOf(const OperatorDesc& host) {
  for (size_t i = 0; i < host.fields().size(); ++i) {
    if (host.fields()[i]->kind != FieldKind::kActivation) continue;
    const auto* activation = std::get_if<std::vector<OperatorDesc>>(&host.values()[i]);
    return activation == nullptr ? nullptr : &activation->front();
  }
  return nullptr;
}

std::vector<const Field*> TensorFieldsOf(const OperatorInfo& info) {
  std::vector<const Field*> fields(info.fields.begin(), info.fields.end());
  std::erase_if(fields, [](const Field* field) { return !field->is_tensor(); });
  return fields;
}

std::string DisplayName(std::string_view path) {
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::string(path);
  return fmt::format("{}[{}]", path.substr(0, slash), path.substr(slash + 1));
}

std::vector<TensorSlot> TensorSlots(const OperatorDesc& op) {
  return SlotsOf<TensorSlot>(op);
}

std::vector<MutableTensorSlot> TensorSlots(OperatorDesc& op) {
  return SlotsOf<MutableTensorSlot>(op);
}

std::vector<TensorSlot> TensorSlots(const OperatorDesc& op, TensorRole role) {
  return SlotsOf<TensorSlot>(op, role);
}

// Operators may have very many tensors, so the others are not looked at.
size_t SlotNumber(const OperatorDesc& op, const TensorSlot& slot) {
  size_t number = 0;
  for (size_t i = 0; i < op.fields().size() && op.fields()[i] != slot.field; ++i) {
    number += TensorCountOf(op.values()[i]);
  }
  const size_t slash = slot.path.find('/');
  return slash == std::string::npos ? number : number + std::stoull(slot.path.substr(slash + 1));
}

std::optional<size_t> NumberInRole(const OperatorDesc& op, const Field& field) {
  size_t number = 0;
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const size_t count = op.fields()[i]->role == field.role ? TensorCountOf(op.values()[i]) : 0;
    if (count > 0 && op.fields()[i] == &field) return number;
    number += count;
  }
  return std::nullopt;
}

void FillInTypes(OperatorDesc& op) {
  FillInCounts(op);
  FillInCountsOfActivations(op);
  FillInOnlyNames(op);
  const auto known = StatedTypes(op);
  // The type of an input comes only from the descriptor or a file.
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.role() == TensorRole::kInput || slot.desc->data_type) continue;
    slot.desc->data_type = known[static_cast<size_t>(slot.type)];
  }
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.kind != FieldKind::kDataType || op.Has(field)) continue;
    if (const auto type = known[static_cast<size_t>(field.type)]) op.values()[i] = *type;
  }
}

std::optional<DataType> StatedType(const OperatorDesc& op, TypeVariable variable) {
  return StatedTypes(op)[static_cast<size_t>(variable)];
}

}  // namespace dmlop
