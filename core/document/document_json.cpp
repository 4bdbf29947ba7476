#include "core/document/document_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/utf8.h"
#include "core/document/operator_document.h"
#include "core/ops/field_visitor.h"

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

struct FieldWriter : FieldVisitor {
  Json json = Json::object();

  template <typename E>
  void Enum(std::string_view name, std::string_view prefix, std::span<const std::string_view> names,
            const std::optional<E>& field) {
    json[std::string(name)] = fmt::format("{}{}", prefix, names[static_cast<size_t>(*field)]);
  }
  void Tensor(std::string_view name, TensorRole, const TensorDesc& desc) {
    json[std::string(name)] = TensorJson(desc);
  }
  void Tensors(std::string_view name, TensorRole,
               const std::optional<std::vector<TensorDesc>>& descs) {
    Json& array = json[std::string(name)] = Json::array();
    for (const TensorDesc& desc : *descs) array.push_back(TensorJson(desc));
  }
  template <typename A>
  void Count(std::string_view name, const std::optional<uint32_t>& count, A&) {
    json[std::string(name)] = *count;
  }
  void Number(std::string_view name, const std::optional<uint32_t>& number) {
    json[std::string(name)] = *number;
  }
  void Numbers(std::string_view name, const std::optional<std::vector<uint32_t>>& numbers) {
    json[std::string(name)] = *numbers;
  }
  void ScaleAndBias(std::string_view name, const std::optional<ScaleBias>& field) {
    if (!field) return;
    json[std::string(name)] = {{"Scale", NumberJson(field->scale)},
                               {"Bias", NumberJson(field->bias)}};
  }

 private:
  static Json NumberJson(float value) {
    if (value != value) return "nan";
    if (value == INFINITY) return "inf";
    if (value == -INFINITY) return "-inf";
    return static_cast<double>(value);
  }
};

bool IsFlat(const Json& json) {
  return std::none_of(json.begin(), json.end(),
                      [](const Json& child) { return child.is_structured(); });
}

}  // namespace

Json OperatorJson(const OperatorDesc& op) {
  return {{"type", fmt::format("{}{}", kOperatorPrefix, Name(op))},
          {"desc", VisitAllFields(op, FieldWriter()).json}};
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
    default:
      return Json::parse(value.token());
  }
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

std::string Pretty(const Json& json, size_t indent) {
  if (!json.is_structured() || json.empty()) return Utf8Text(json);
  const bool one_line = json.is_array() && IsFlat(json);
  const std::string separator =
      one_line ? ", " : fmt::format(",\n{}", std::string(indent + 2, ' '));
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += separator;
    if (json.is_object()) text += Utf8Text(Json(key)) + ": ";
    text += Pretty(value, indent + 2);
  }
  if (one_line) return "[" + text + "]";
  return fmt::format("{}\n{}{}\n{}{}", json.is_array() ? '[' : '{', std::string(indent + 2, ' '),
                     text, std::string(indent, ' '), json.is_array() ? ']' : '}');
}

std::string CompleteText(const OperatorDocument& document) {
  Json json = OperatorJson(document.op());
  if (const auto bindings = document.json().root().Find("bindings")) {
    json["bindings"] = AsWritten(*bindings);
  }
  return Pretty(json) + "\n";
}

}  // namespace dmlop
