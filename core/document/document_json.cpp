// SPDX-License-Identifier: Apache-2.0
#include "core/document/document_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/text.h"
#include "core/document/operator_document.h"
#include "core/tensor/element.h"
#include "core/tensor/half.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

Json TensorJson(const TensorDesc& desc) {
  const Layout layout = LayoutOf(desc);
  return {{"DataType", Name(*desc.data_type)},
          {"Flags", desc.owned_by_dml ? "OWNED_BY_DML" : "NONE"},
          {"DimensionCount", desc.rank()},
          {"Sizes", *desc.sizes},
          {"Strides", std::vector<int64_t>(layout.strides.begin(), layout.strides.end())},
          {"TotalTensorSizeInBytes", SizeInBytes(desc)},
          {"GuaranteedBaseOffsetAlignment", desc.guaranteed_base_offset_alignment}};
}

Json ScalarJson(const Scalar& scalar) {
  if (scalar.type == DataType::kFloat16) {
    const Half value = ElementOf<Half>(scalar.bytes);
    const bool is_nan = std::isnan(ToFloat(value));
    if (is_nan && value != ToHalf(NAN)) return {{"UInt16", value.bits}};  // "nan" has other bits
  }
  return ElementJson(scalar.type, scalar.bytes.data());
}

Json FieldsJson(const OperatorDesc& op);

// Writes a value that is present.
class ValueWriter {
 public:
  explicit ValueWriter(const Field& field) : field_(field) {}

  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const TensorDesc& desc) const { return TensorJson(desc); }
  Json operator()(const std::vector<TensorDesc>& descs) const {
    Json array = Json::array();
    for (const TensorDesc& desc : descs) array.push_back(TensorJson(desc));
    return array;
  }
  Json operator()(uint32_t number) const {
    if (field_.kind != FieldKind::kEnum) return number;
    return fmt::format("{}{}", field_.names.prefix, field_.names.names[number]);
  }
  Json operator()(int32_t number) const { return number; }
  Json operator()(float number) const { return NumberJson(number); }
  Json operator()(bool value) const { return value; }
  Json operator()(DataType type) const { return fmt::format("{}{}", kDataTypePrefix, Name(type)); }
  Json operator()(const std::vector<uint32_t>& numbers) const { return numbers; }
  Json operator()(const std::vector<int32_t>& numbers) const { return numbers; }
  Json operator()(const std::vector<float>& numbers) const {
    Json array = Json::array();
    for (const float number : numbers) array.push_back(NumberJson(number));
    return array;
  }
  Json operator()(const ScaleBias& factors) const {
    return {{"Scale", NumberJson(factors.scale)}, {"Bias", NumberJson(factors.bias)}};
  }
  Json operator()(const Size2d& size) const {
    return {{"Width", size.width}, {"Height", size.height}};
  }
  Json operator()(const Scalar& scalar) const { return ScalarJson(scalar); }
  Json operator()(const std::vector<OperatorDesc>& activations) const {
    if (field_.kind == FieldKind::kActivation) return OperatorJson(activations.front());
    Json array = Json::array();
    for (const OperatorDesc& activation : activations) array.push_back(OperatorJson(activation));
    return array;
  }

 private:
  const Field& field_;
};

Json FieldsJson(const OperatorDesc& op) {
  Json json = Json::object();
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (std::holds_alternative<std::monostate>(op.values()[i])) continue;
    json[std::string(field.name)] = std::visit(ValueWriter(field), op.values()[i]);
  }
  return json;
}

bool IsFlat(const Json& json) {
  return std::none_of(json.begin(), json.end(),
                      [](const Json& child) { return child.is_structured(); });
}

// Without an indent, the text is one line without blanks.
std::string WrittenText(const Json& json, std::optional<size_t> indent) {
  if (json.is_binary()) return {json.get_binary().begin(), json.get_binary().end()};
  if (!json.is_structured() || json.empty()) return Utf8Text(json);
  const bool one_line = !indent || (json.is_array() && IsFlat(json));
  const std::optional<size_t> inner = indent ? std::optional(*indent + 2) : std::nullopt;
  const auto new_line = [&](std::optional<size_t> blanks) {
    return one_line ? "" : "\n" + std::string(*blanks, ' ');
  };
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += indent && one_line ? ", " : "," + new_line(inner);
    if (json.is_object()) text += Utf8Text(Json(key)) + (indent ? ": " : ":");
    text += WrittenText(value, inner);
  }
  return fmt::format("{}{}{}{}{}", json.is_array() ? '[' : '{', new_line(inner), text,
                     new_line(indent), json.is_array() ? ']' : '}');
}

}  // namespace

bool IsJson(std::string_view text) {
  return Json::accept(text);
}

Json NumberJson(double value) {
  return std::isfinite(value) ? Json(value) : Json(NumberText(value));
}

Json ElementJson(DataType type, const std::byte* element) {
  Json json;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    const T value = ElementOf<T>(element);
    if constexpr (std::is_integral_v<T>) {
      json = value;
    } else {
      json = NumberJson(AsDouble(value));
    }
  });
  return json;
}

Json OperatorJson(const OperatorDesc& op) {
  return {{"type", fmt::format("{}{}", kOperatorPrefix, op.name())}, {"desc", FieldsJson(op)}};
}

void SetSlot(const std::string& slot_path, Json value, Json& fields) {
  const std::string field = slot_path.substr(0, slot_path.find('/'));
  if (field == slot_path) {
    fields[field] = std::move(value);
  } else {
    fields[field].push_back(std::move(value));
  }
}

Json AsWritten(JsonCursor value) {
  switch (value.kind()) {
    case JsonKind::kString:
      return value.string();
    case JsonKind::kArray: {
      Json array = Json::array();
      for (auto child = value.first_child(); child; child = child->next()) {
        array.push_back(AsWritten(*child));
      }
      return array;
    }
    case JsonKind::kObject: {
      Json object = Json::object();
      for (auto child = value.first_child(); child; child = child->next()) {
        object[child->key()] = AsWritten(*child);
      }
      return object;
    }
    case JsonKind::kInteger:
    case JsonKind::kFraction:
      return Json::binary({value.token().begin(), value.token().end()});
    case JsonKind::kBoolean:
      return value.boolean();
    case JsonKind::kNull:
      return nullptr;
  }
  return nullptr;
}

std::string Utf8Text(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

void SetPath(std::string_view name, const std::string& path, Json& json) {
  json[std::string(name)] = path;
  if (ValidCharacters(path) == path.size()) return;
  std::string hex;
  for (const char byte : path) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  json[fmt::format("{}Bytes", name)] = hex;
}

std::string OneLine(const Json& json) {
  return WrittenText(json, std::nullopt);
}

std::string Pretty(const Json& json) {
  return WrittenText(json, 0);
}

std::string CompleteText(const OperatorDocument& document) {
  Json json = OperatorJson(document.op());
  for (const std::string_view member : kDocumentKeys) {
    if (member == "$schema") continue;  // which is a link for editors, and has no meaning here
    const auto value = document.json().root().Find(member);
    if (value) json[std::string(member)] = AsWritten(*value);
  }
  return Pretty(json) + "\n";
}

}  // namespace dmlop
