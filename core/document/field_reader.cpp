// SPDX-License-Identifier: Apache-2.0
#include "core/document/operator_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/ops/inference.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

constexpr std::array<std::string_view, 2> kOperatorKeys = {"type", "desc"};
constexpr std::array<std::string_view, 2> kOtherSpellings = {"Type", "Desc"};

std::string OneOf(std::span<const OperatorInfo* const> operators) {
  if (operators.size() == Operators().size()) return "; 'dmlop ops' lists the operators";
  std::vector<std::string_view> names;
  for (const OperatorInfo* info : operators) names.push_back(info->name);
  return "; expected one of " + Listed(names);
}

// Suggests an alternative to an operator that cannot be fused: an activation of that name, or any.
std::string CounterpartOf(const OperatorInfo& info, std::span<const OperatorInfo* const> fusable) {
  const OperatorInfo* nearest = NearestOperator(info.name, fusable);
  return nearest == nullptr ? OneOf(fusable) : fmt::format(" (did you mean '{}'?)", nearest->name);
}

class FieldReader {
 public:
  FieldReader(const Field& field, const ValueReader& values) : field_(field), values_(values) {}

  FieldValue Read(JsonCursor value) const {
    switch (field_.kind) {
      case FieldKind::kTensor:
        return values_.Tensor(value);
      case FieldKind::kTensors:
        return Tensors(value);
      case FieldKind::kCount:
      case FieldKind::kUint:
        return OrNothing(values_.Uint32(value));
      case FieldKind::kInt:
        return OrNothing(values_.Int32(value));
      case FieldKind::kFloat:
        return OrNothing(values_.Float32(value));
      case FieldKind::kBool:
        return OrNothing(values_.Boolean(value));
      case FieldKind::kEnum:
        return Enumerator<uint32_t>(value, field_.names.prefix, field_.names.names);
      case FieldKind::kDataType:
        return Enumerator<DataType>(value, kDataTypePrefix, DataTypeNames());
      case FieldKind::kUints:
        return OrNothing(field_.limits.distinct ? values_.Uint32Array(value, kUnreadAxis)
                                                : values_.Uint32Array(value));
      case FieldKind::kInts:
        return OrNothing(values_.Int32Array(value));
      case FieldKind::kFloats:
        return OrNothing(values_.Float32Array(value));
      case FieldKind::kScaleBias:
        return Pair<float, ScaleBias>(value, {"Scale", "Bias"});
      case FieldKind::kSize2d:
        return Pair<uint32_t, Size2d>(value, {"Width", "Height"});
      case FieldKind::kScalar:
        return Scalar();
      case FieldKind::kActivation:
        return Activation(value);
      case FieldKind::kActivations:
        return ActivationList(value);
    }
    return {};
  }

 private:
  template <typename T>
  static FieldValue OrNothing(std::optional<T> value) {
    if (!value) return {};
    return *std::move(value);
  }

  template <typename T>
  FieldValue Enumerator(JsonCursor value, std::string_view prefix,
                        std::span<const std::string_view> names) const {
    const auto index = values_.Enum(value, prefix, names);
    if (!index) return {};
    return static_cast<T>(*index);
  }

  FieldValue Tensors(JsonCursor value) const {
    if (!values_.Expect(value, JsonKind::kArray)) return {};
    std::vector<TensorDesc> tensors;
    for (auto child = value.first_child(); child; child = child->next()) {
      if (child->is_null() && values_.dialect() == Dialect::kModel) {
        values_.Error(*child, "JSON-4", "null; leave the field out instead");
      }
      tensors.push_back(child->is_null() ? TensorDesc() : values_.Tensor(*child));
    }
    return tensors;
  }

  // Reads an object with two numbers.
  template <typename T, typename Struct>
  FieldValue Pair(JsonCursor value, const std::array<std::string_view, 2>& keys) const {
    const std::string example = fmt::format(R"({{"{}": 1, "{}": 1}})", keys[0], keys[1]);
    if (!values_.Expect(value, JsonKind::kObject, example)) return {};
    values_.CheckKeys(value, keys);
    std::array<std::optional<T>, 2> numbers;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (const auto member = values_.Require(value, keys[i])) numbers[i] = Number<T>(*member);
    }
    if (!numbers[0] || !numbers[1]) return {};
    return Struct{*numbers[0], *numbers[1]};
  }

  template <typename T>
  std::optional<T> Number(JsonCursor value) const {
    if constexpr (std::is_same_v<T, float>) {
      return values_.Float32(value);
    } else {
      return values_.Uint32(value);
    }
  }

  FieldValue Activation(JsonCursor value) const {
    std::optional<OperatorDesc> activation = ReadActivation(value);
    if (!activation) return {};
    return std::vector<OperatorDesc>{*std::move(activation)};
  }

  // Another operator takes the place of one that cannot be read, and has been reported.
  FieldValue ActivationList(JsonCursor value) const {
    if (!values_.Expect(value, JsonKind::kArray)) return {};
    std::vector<OperatorDesc> activations;
    for (auto child = value.first_child(); child; child = child->next()) {
      activations.push_back(ReadActivation(*child).value_or(OperatorDesc(CopyOperator())));
    }
    return activations;
  }

  std::optional<OperatorDesc> ReadActivation(JsonCursor value) const {
    const std::vector<const OperatorInfo*> fusable = FusableIn(field_.host);
    if (!values_.Expect(value, JsonKind::kObject, ExampleOf(value, fusable))) return std::nullopt;
    const OperatorInfo* info = ReadOperatorType(value, values_, fusable);
    if (info == nullptr) return std::nullopt;
    if (!info->fusable.In(field_.host)) {
      values_.Error(value, "FUS-2", "{} cannot be fused{}", info->name,
                    CounterpartOf(*info, fusable));
      return std::nullopt;
    }
    const auto desc = values_.FindEither(value, "Desc", "desc");
    const JsonCursor fields = desc.value_or(value);
    if (!values_.Expect(fields, JsonKind::kObject)) return std::nullopt;
    OperatorDesc activation(*info);
    ReadFields(fields, values_, activation, /*tensors=*/false);
    for (const Field* tensor : TensorFieldsOf(*info)) {
      const auto stated = fields.Find(tensor->name);
      if (stated && !stated->is_null()) ReportTensor(*stated);
      activation.Remove(*tensor);
    }
    CheckKeys(value, fields, *info, {}, values_, /*tensors=*/false);
    return activation;
  }

  // Returns an activation as an example for a value that is no object: the one it names, or any.
  static std::string ExampleOf(JsonCursor value, std::span<const OperatorInfo* const> fusable) {
    const OperatorInfo* named =
        value.is_string() ? NearestOperator(value.string(), fusable) : nullptr;
    return fmt::format(R"({{"type": "{}"}})", (named != nullptr ? named : fusable.front())->name);
  }

  // DxDispatch drops them.
  void ReportTensor(JsonCursor stated) const {
    if (values_.dialect() == Dialect::kModel) {
      values_.Warning(stated, "FUS-4", "ignored: a fused activation has no tensors of its own");
    } else {
      values_.Error(stated, "FUS-4", "a fused activation has no tensors of its own");
    }
  }

  const Field& field_;
  const ValueReader& values_;
};

// Returns whether the operator has a field "Type", which is next to "type" (RNG-6).
bool HasTypeField(JsonCursor object) {
  const auto type = object.Find("type");
  if (!type || !type->is_string() || !object.Find("Type")) return false;
  const OperatorInfo* info = FindOperator(type->string());
  return info != nullptr && std::any_of(info->fields.begin(), info->fields.end(),
                                        [](const Field* field) { return field->name == "Type"; });
}

// "Type" may name the operator if fields are next to it.
bool NamesOperator(JsonCursor value, const Field& field, const OperatorDesc& op) {
  return field.name == "Type" && value.is_string() && FindOperator(value.string()) == &op.info();
}

}  // namespace

std::vector<const OperatorInfo*> FusableIn(ActivationHost host) {
  std::vector<const OperatorInfo*> fusable(Operators().begin(), Operators().end());
  std::erase_if(fusable, [&](const OperatorInfo* info) { return !info->fusable.In(host); });
  return fusable;
}

const OperatorInfo* ReadOperatorType(JsonCursor object, const ValueReader& values,
                                     std::span<const OperatorInfo* const> among) {
  const auto type = HasTypeField(object) ? values.Find(object, "type")
                                         : values.FindEither(object, "Type", "type");
  if (!type) {
    const bool is_null = object.Find("Type") || object.Find("type");  // then reported
    if (!is_null || values.dialect() == Dialect::kDescriptor) values.MissingType(object);
    return nullptr;
  }
  if (!values.Expect(*type, JsonKind::kString)) return nullptr;
  const OperatorInfo* info = FindOperator(type->string());
  if (info == nullptr) {
    const std::string meant = DidYouMeanOperator(type->string(), among);
    values.Error(*type, "JSON-3", "'{}' is not a known name{}", type->string(),
                 meant.empty() ? OneOf(among) : meant);
  }
  return info;
}

void ReadFields(JsonCursor object, const ValueReader& values, OperatorDesc& op, bool tensors) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.is_tensor() && !tensors) continue;
    const auto value =
        field.optional ? values.Find(object, field.name) : values.FindField(object, field.name);
    if (!value || NamesOperator(*value, field, op)) continue;
    op.values()[i] = FieldReader(field, values).Read(*value);
  }
}

void CheckKeys(JsonCursor object, JsonCursor fields, const OperatorInfo& info,
               std::span<const std::string_view> others, const ValueReader& values, bool tensors) {
  std::vector<std::string_view> known;
  std::vector<std::string_view> unproposed;
  for (const Field* field : info.fields) {
    (tensors || !field->is_tensor() ? known : unproposed).push_back(field->name);
  }
  if (fields.offset() != object.offset()) {
    values.CheckKeys(fields, known, unproposed);
    known.clear();
    unproposed.clear();
  }
  known.insert(known.end(), kOperatorKeys.begin(), kOperatorKeys.end());
  known.insert(known.end(), others.begin(), others.end());
  unproposed.insert(unproposed.end(), kOtherSpellings.begin(), kOtherSpellings.end());
  values.CheckKeys(object, known, unproposed);
}

void ReadScalars(JsonCursor object, const ValueReader& values, OperatorDesc& op) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.kind != FieldKind::kScalar) continue;
    const auto value = values.Find(object, field.name);
    const auto type = StatedType(op, field.type);
    if (!value || !type || ByteWidth(*type) == 0) continue;
    if (const auto scalar = values.ScalarOf(*value, *type, field.limits.wraps)) {
      op.values()[i] = *scalar;
    } else {
      op.values()[i] = Scalar{*type, {}};
    }
  }
}

}  // namespace dmlop
