// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/graph/graph_file.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

namespace file = graph_file;

using Report = std::function<void(const std::string&)>;

template <typename T>
std::vector<T> Copied(const flatbuffers::Vector<T>* numbers) {
  return numbers == nullptr ? std::vector<T>() : std::vector<T>(numbers->begin(), numbers->end());
}

std::string_view Text(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

// --- tensors -------------------------------------------------------------------------------------

std::optional<DataType> DataTypeCalled(std::string_view name) {
  if (name.starts_with(kDataTypePrefix)) name.remove_prefix(kDataTypePrefix.size());
  const auto names = DataTypeNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<DataType>(found - names.begin());
}

std::optional<TensorDesc> TensorOf(const file::Tensor& tensor, const Field& field,
                                   const Report& report) {
  TensorDesc desc;
  desc.data_type = DataTypeCalled(Text(tensor.data_type()));
  if (!desc.data_type) {
    report(fmt::format("{}: '{}' is not a data type", field.name, Text(tensor.data_type())));
    return std::nullopt;
  }
  desc.sizes = Copied(tensor.sizes());
  if (tensor.strides() != nullptr) desc.strides = Copied(tensor.strides());
  desc.total_tensor_size_in_bytes = tensor.total_size();
  return desc;
}

// Hands out the tensors of one role in order; those left out have an empty name and no desc.
class TensorQueue {
 public:
  using Tensors = flatbuffers::Vector<flatbuffers::Offset<file::Tensor>>;

  TensorQueue(const Tensors* tensors, const std::vector<bool>& is_there, const Report& report)
      : tensors_(tensors), is_there_(is_there), report_(report) {}

  bool Take(const Field& field, FieldValue& value) {
    if (field.kind == FieldKind::kTensors) return TakeAll(field, value);
    if (slot_ == is_there_.size()) {
      if (field.optional) return true;
      report_(fmt::format("{} has no name", field.name));
      return false;
    }
    if (!is_there_[slot_++]) {
      value = std::monostate();
      return true;
    }
    auto desc = Next(field);
    if (!desc) return false;
    value = *std::move(desc);
    return true;
  }

  bool IsEmpty() const { return slot_ == is_there_.size() && next_ == count(); }

 private:
  bool TakeAll(const Field& field, FieldValue& value) {
    std::vector<TensorDesc> descs;
    for (; slot_ < is_there_.size(); ++slot_) {
      if (!is_there_[slot_]) {
        report_(fmt::format("a tensor of {} has no name", field.name));
        return false;
      }
      auto desc = Next(field);
      if (!desc) return false;
      descs.push_back(*std::move(desc));
    }
    value = std::move(descs);
    return true;
  }

  std::optional<TensorDesc> Next(const Field& field) {
    if (next_ == count() || tensors_->Get(next_) == nullptr) {
      report_(fmt::format("{} has a name and no desc", field.name));
      return std::nullopt;
    }
    return TensorOf(*tensors_->Get(next_++), field, report_);
  }

  uint32_t count() const { return tensors_ == nullptr ? 0 : tensors_->size(); }

  const Tensors* tensors_;
  const std::vector<bool>& is_there_;
  const Report& report_;
  size_t slot_ = 0;
  uint32_t next_ = 0;
};

// --- attributes ----------------------------------------------------------------------------------

using Attributes = flatbuffers::Vector<flatbuffers::Offset<file::Attribute>>;

bool FillAttributes(const Attributes* attributes, const Report& report, OperatorDesc& op);

std::optional<OperatorDesc> ActivationOf(const file::Activation* activation, const Field& host,
                                         const Report& report) {
  if (activation == nullptr) return std::nullopt;
  const OperatorInfo* info = FindOperator(Text(activation->type()));
  if (info == nullptr || !info->fusable.In(host.host)) {
    report(fmt::format("'{}' is no activation", Text(activation->type())));
    return std::nullopt;
  }
  OperatorDesc op(*info);
  for (const Field* tensor : TensorFieldsOf(*info)) op.Remove(*tensor);
  if (!FillAttributes(activation->attributes(), report, op)) return std::nullopt;
  return op;
}

std::optional<FieldValue> ActivationsOf(const file::ActivationArray* array, const Field& host,
                                        const Report& report) {
  if (array == nullptr || array->activations() == nullptr) return std::nullopt;
  std::vector<OperatorDesc> activations;
  for (const file::Activation* one : *array->activations()) {
    auto activation = ActivationOf(one, host, report);
    if (!activation) return std::nullopt;
    activations.push_back(*std::move(activation));
  }
  return activations;
}

std::optional<FieldValue> UintOf(const file::Attribute& attribute, const Field& field,
                                 const Report& report) {
  const auto* value = attribute.value_as_Uint32();
  if (value == nullptr) return std::nullopt;
  const uint32_t number = value->number();
  const auto is_below = [&](size_t count) {
    if (number < count) return true;
    report(fmt::format("{} is {}; expected 0 to {}", field.name, number, count - 1));
    return false;
  };
  switch (field.kind) {
    case FieldKind::kBool:
      return number != 0;
    case FieldKind::kDataType:
      if (!is_below(DataTypeNames().size())) return std::nullopt;
      return static_cast<DataType>(number);
    case FieldKind::kEnum:
      if (!is_below(field.names.names.size())) return std::nullopt;
      return number;
    default:
      return number;
  }
}

template <typename T, typename Array>
std::optional<FieldValue> NumbersOf(const Array* array) {
  if (array == nullptr) return std::nullopt;
  return Copied<T>(array->numbers());
}

std::optional<FieldValue> ScalarOf(const file::ScalarUnion* scalar) {
  if (scalar == nullptr || scalar->value_as_Bytes() == nullptr) return std::nullopt;
  Scalar value;
  const auto* bytes = scalar->value_as_Bytes()->bytes();
  static_assert(sizeof(value.bytes) >= 8);
  for (uint16_t i = 0; i < 8; ++i) value.bytes[i] = std::byte{bytes->Get(i)};
  return value;
}

// Returns nothing if the attribute is of another kind than the field, or if a fault is reported.
std::optional<FieldValue> ValueOf(const file::Attribute& attribute, const Field& field,
                                  const Report& report) {
  switch (field.kind) {
    case FieldKind::kInt:
      if (const auto* number = attribute.value_as_Int32()) return number->number();
      return std::nullopt;
    case FieldKind::kFloat:
      if (const auto* number = attribute.value_as_Float32()) return number->number();
      return std::nullopt;
    case FieldKind::kBool:
      if (const auto* number = attribute.value_as_Bool()) return number->number() != 0;
      return UintOf(attribute, field, report);
    case FieldKind::kUints:
      return NumbersOf<uint32_t>(attribute.value_as_UintArray());
    case FieldKind::kInts:
      return NumbersOf<int32_t>(attribute.value_as_IntArray());
    case FieldKind::kFloats:
      return NumbersOf<float>(attribute.value_as_FloatArray());
    case FieldKind::kScaleBias:
      if (const auto* linear = attribute.value_as_Linear()) {
        return ScaleBias{linear->scale(), linear->bias()};
      }
      return std::nullopt;
    case FieldKind::kSize2d:
      if (const auto* size = attribute.value_as_TwoSizes()) {
        return Size2d{size->width(), size->height()};
      }
      return std::nullopt;
    case FieldKind::kScalar:
      return ScalarOf(attribute.value_as_ScalarUnion());
    case FieldKind::kActivation:
      if (auto one = ActivationOf(attribute.value_as_Activation(), field, report)) {
        return std::vector<OperatorDesc>{*std::move(one)};
      }
      return std::nullopt;
    case FieldKind::kActivations:
      return ActivationsOf(attribute.value_as_ActivationArray(), field, report);
    default:
      return UintOf(attribute, field, report);
  }
}

// An optional attribute that is left out has no value, whatever the type of its union.
bool IsLeftOut(const file::Attribute* attribute) {
  return attribute == nullptr || attribute->value() == nullptr;
}

bool FillAttributes(const Attributes* attributes, const Report& report, OperatorDesc& op) {
  uint32_t next = 0;
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.is_tensor()) continue;
    const bool is_behind_the_end = attributes == nullptr || next == attributes->size();
    const file::Attribute* attribute = is_behind_the_end ? nullptr : attributes->Get(next++);
    if (IsLeftOut(attribute)) {
      if (field.optional) continue;
      report(fmt::format("{} is missing", field.name));
      return false;
    }
    bool is_told = false;
    const Report tell = [&](const std::string& fault) {
      is_told = true;
      report(fault);
    };
    auto value = ValueOf(*attribute, field, tell);
    if (!value) {
      if (!is_told) {
        report(fmt::format("{} has a value of another kind, {}", field.name,
                           file::EnumNameValue(attribute->value_type())));
      }
      return false;
    }
    op.values()[i] = *std::move(value);
  }
  if (attributes == nullptr || next == attributes->size()) return true;
  report(fmt::format("{}; {} has {}", Counted(attributes->size(), "attribute"), op.name(), next));
  return false;
}

// The file has only the bytes of scalars; other fields imply their type.
void TypeScalars(OperatorDesc& op) {
  FillInTypes(op);
  for (size_t i = 0; i < op.fields().size(); ++i) {
    auto* scalar = std::get_if<Scalar>(&op.values()[i]);
    if (scalar == nullptr) continue;
    scalar->type = StatedType(op, op.fields()[i]->type).value_or(DataType::kUnknown);
  }
}

}  // namespace

std::optional<OperatorDesc> OperatorOf(const file::OperatorNode& node,
                                       const std::vector<bool>& input_is_there,
                                       const std::vector<bool>& output_is_there,
                                       const Report& report) {
  const OperatorInfo* info = FindOperator(Text(node.type()));
  if (info == nullptr) {
    report(fmt::format("'{}' is not an operator that dmlop runs{}", Text(node.type()),
                       DidYouMeanOperator(Text(node.type()))));
    return std::nullopt;
  }
  OperatorDesc op(*info);
  TensorQueue inputs(node.inputs(), input_is_there, report);
  TensorQueue outputs(node.outputs(), output_is_there, report);
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (!field.is_tensor()) continue;
    TensorQueue& queue = field.role == TensorRole::kInput ? inputs : outputs;
    if (!queue.Take(field, op.values()[i])) return std::nullopt;
  }
  if (!inputs.IsEmpty() || !outputs.IsEmpty()) {
    report(fmt::format("more tensors than {} has", info->name));
    return std::nullopt;
  }
  if (!FillAttributes(node.attributes(), report, op)) return std::nullopt;
  TypeScalars(op);
  return op;
}

}  // namespace dmlop
