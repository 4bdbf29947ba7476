// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <limits>

#include "core/schema/schema_parts.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// The part that a text stands for; null if it is none.
const Json* PartOf(const std::string& text, std::initializer_list<Json> parts) {
  return text.size() == 2 && text[0] == '$' ? parts.begin() + (text[1] - '0') : nullptr;
}

void Fill(std::initializer_list<Json> parts, Json& json) {
  if (json.is_string()) {
    if (const Json* part = PartOf(json.get_ref<const std::string&>(), parts)) json = *part;
  } else if (json.is_array()) {
    for (Json& entry : json) Fill(parts, entry);
  } else if (json.is_object()) {
    Json object = Json::object();
    for (auto& [name, value] : json.items()) {
      Fill(parts, value);
      const Json* part = PartOf(name, parts);
      object[part == nullptr ? name : part->get<std::string>()] = std::move(value);
    }
    json = std::move(object);
  }
}

}  // namespace

Json Filled(std::string_view text, std::initializer_list<Json> parts) {
  Json json = Json::parse(text);
  Fill(parts, json);
  return json;
}

Json Ref(std::string_view definition) {
  return {{"$ref", fmt::format("#/$defs/{}", definition)}};
}

Json ArrayOf(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

Json ItemOrArray(const Json& item) {
  return {{"if", {{"type", "array"}}}, {"then", {{"items", item}}}, {"else", item}};
}

Json Text() {
  return {{"type", "string"}};
}

Json NotNull() {
  return {{"not", {{"type", "null"}}}};
}

Json Integer(uint64_t minimum, uint64_t maximum) {
  return {{"type", "integer"}, {"minimum", minimum}, {"maximum", maximum}};
}

Json Names(std::string_view prefix, std::span<const std::string_view> names) {
  Json both = Json::array();
  for (const std::string_view name : names) both.push_back(name);
  for (const std::string_view name : names) {
    if (!prefix.empty()) both.push_back(fmt::format("{}{}", prefix, name));
  }
  return {{"enum", both}};
}

Json OneName(std::string_view prefix, std::string_view name) {
  return Names(prefix, std::span(&name, 1));
}

std::string AnyCase(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter)) {
      pattern += {'[', static_cast<char>(std::toupper(letter)),
                  static_cast<char>(std::tolower(letter)), ']'};
    } else {
      pattern += c == '.' ? "\\." : std::string(1, c);
    }
  }
  return pattern;
}

std::string HasExtension(std::span<const std::string_view> extensions, std::string_view behind) {
  std::vector<std::string> patterns;
  for (const std::string_view extension : extensions) patterns.push_back(AnyCase(extension));
  return fmt::format("[^/]({}){}$", fmt::join(patterns, "|"), behind);
}

Json Has(std::string_view name, const Json& schema) {
  return {{"type", "object"}, {"properties", {{std::string(name), schema}}}, {"required", {name}}};
}

Json IfThen(const Json& condition, const Json& consequence) {
  return {{"if", condition}, {"then", consequence}};
}

std::vector<DataType> ElementTypes() {
  std::vector<DataType> types;
  for (size_t i = 0; i < DataTypeNames().size(); ++i) {
    const auto type = static_cast<DataType>(i);
    if (ByteWidth(type) > 0) types.push_back(type);
  }
  return types;
}

std::vector<std::string_view> NamesOf(std::span<const DataType> types) {
  std::vector<std::string_view> names;
  for (const DataType type : types) names.push_back(Name(type));
  return names;
}

std::string ValueDefinition(DataType type) {
  return fmt::format("{}-value", Name(type));
}

namespace {

// Numbers as text, and those that a float does not round to infinity.
Json FloatSchema(DataType type, const Json& number) {
  Json schema = number;
  if (type == DataType::kFloat64) {
    schema["minimum"] = std::numeric_limits<double>::lowest();
    schema["maximum"] = std::numeric_limits<double>::max();
    return schema;
  }
  const double least_too_large = type == DataType::kFloat16 ? 0x1.ffep15 : 0x1.ffffffp127;
  schema["exclusiveMinimum"] = -least_too_large;
  schema["exclusiveMaximum"] = least_too_large;
  return schema;
}

}  // namespace

void DefineValues(Json& definitions) {
  definitions["uint32"] = Integer(0, std::numeric_limits<uint32_t>::max());
  definitions["uint64"] = Integer(0, std::numeric_limits<uint64_t>::max());
  const std::string named = fmt::format("^({}|-?{})$", AnyCase("nan"), AnyCase("inf"));
  definitions["number"] = {{"type", {"number", "string"}}, {"pattern", named}};
  definitions["data-type"] = Names(kDataTypePrefix, NamesOf(ElementTypes()));
  definitions["file-name"] = {{"type", "string"}, {"pattern", "^[^\\u0000]+$"}};
  for (const DataType type : ElementTypes()) {
    VisitDataType(AllTypes(), type, [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        const auto [least, most] = RangeOf<T>(type);
        definitions[ValueDefinition(type)] = {
            {"type", "integer"}, {"minimum", least}, {"maximum", most}};
      } else {
        definitions[ValueDefinition(type)] = FloatSchema(type, definitions["number"]);
      }
    });
  }
}

Json SchemaDialect::Object(const Json& properties, const Json& required) const {
  Json object = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) object["required"] = required;
  if (!is_model()) object["additionalProperties"] = false;
  return object;
}

Json SchemaDialect::Optional(const Json& schema) const {
  if (is_model()) return schema;
  return {{"anyOf", {schema, {{"type", "null"}}}}};
}

Json SchemaDialect::Value(DataType type) const {
  return Ref(is_model() && IsFloat(type) ? "number" : ValueDefinition(type));
}

Json SchemaDialect::NotCounting() const {
  return is_model() ? NotNull() : Json{{"type", "null"}};
}

std::string SchemaDialect::Definition(std::string_view name) const {
  return fmt::format("{}{}", is_model() ? "model-" : "", name);
}

// --- tensor descs --------------------------------------------------------------------------------

namespace {

constexpr uint32_t kMaxUint32 = std::numeric_limits<uint32_t>::max();

// Only inputs can be OWNED_BY_DML.
Json Flags(TensorRole role) {
  const auto names = std::span(kTensorFlags);
  return ItemOrArray(Names(kTensorFlagPrefix, role == TensorRole::kInput ? names : names.first(1)));
}

Json Alignments() {
  Json powers = Json::array({0});
  for (uint64_t power = 1; power <= kMaxUint32; power *= 2) powers.push_back(power);
  return {{"enum", powers}};
}

// Returns an array of at most kMaxRank numbers.
Json Dimensions(Json numbers, size_t min_count) {
  Json array = ArrayOf(numbers);
  if (min_count > 0) array["minItems"] = min_count;
  array["maxItems"] = kMaxRank;
  return array;
}

// DimensionCount and Strides must agree with Sizes.
Json RanksAgree(const SchemaDialect& dialect) {
  Json ranks = Json::array();
  for (size_t rank = 1; rank <= kMaxRank; ++rank) {
    const Json of_rank = Filled(R"({"type": "array", "minItems": "$0", "maxItems": "$0"})", {rank});
    // No strides mean packed.
    ranks.push_back(IfThen(
        Has("Sizes", of_rank),
        Filled(
            R"({"properties": {"DimensionCount": "$0", "Strides": {"anyOf": ["$1", {"maxItems": 0}]}}})",
            {dialect.Optional({{"const", rank}}), of_rank})));
  }
  return {{"allOf", ranks}};
}

Json Fields(const SchemaDialect& dialect, TensorRole role) {
  Json fields = Filled(
      R"({"DataType": {"$ref": "#/$defs/data-type"}, "Sizes": "$0", "Strides": "$1",
          "DimensionCount": "$2", "Flags": "$3",
          "TotalTensorSizeInBytes": {"$ref": "#/$defs/uint64", "multipleOf": 4},
          "GuaranteedBaseOffsetAlignment": "$4"})",
      {Dimensions(Integer(1, kMaxUint32), 1), Dimensions(Ref("uint32"), 0), Integer(1, kMaxRank),
       Flags(role), Alignments()});
  for (Json& field : fields) field = dialect.Optional(field);
  return fields;
}

void DefineTensor(const SchemaDialect& dialect, TensorRole role, Json& definitions) {
  const std::string name = TensorDefinition(dialect, role);
  const Json ranks = Json::array({Ref(dialect.Definition("ranks"))});
  const Json required = dialect.is_model() ? Json{"DataType", "Sizes"} : Json::array();
  Json fields = Fields(dialect, role);
  Json inner = dialect.Object(fields, required);
  inner["allOf"] = ranks;
  definitions[name + "-fields"] = inner;

  const Json type = dialect.Optional(Names(kTensorTypePrefix, kTensorTypes));
  const Json nested = dialect.Object({{"Type", type}, {"Desc", Ref(name + "-fields")}}, {"Desc"});
  fields["Type"] = type;
  fields["Desc"] = dialect.NotCounting();
  Json flat = dialect.Object(fields, required);
  flat["allOf"] = ranks;
  definitions[name] = {{"if", dialect.Present("Desc")}, {"then", nested}, {"else", flat}};
}

// Matches a tensor with its fields in either place.
Json OfTensor(const Json& fields) {
  return {{"anyOf", {fields, Has("Desc", fields)}}};
}

}  // namespace

std::string TensorDefinition(const SchemaDialect& dialect, TensorRole role) {
  return dialect.Definition(role == TensorRole::kInput ? "input-tensor" : "output-tensor");
}

void DefineTensors(const SchemaDialect& dialect, Json& definitions) {
  definitions[dialect.Definition("ranks")] = RanksAgree(dialect);
  for (const TensorRole role : {TensorRole::kInput, TensorRole::kOutput}) {
    DefineTensor(dialect, role, definitions);
  }
}

Json CompleteTensor() {
  return OfTensor(Filled(R"({"type": "object", "properties": {"DataType": "$0", "Sizes": "$0"},
                             "required": ["DataType", "Sizes"]})",
                         {NotNull()}));
}

Json SizedTensor() {
  return OfTensor(Has("Sizes", NotNull()));
}

Json TypedTensor() {
  return OfTensor(Has("DataType", NotNull()));
}

Json TensorOfType(DataType type) {
  return OfTensor(Has("DataType", OneName(kDataTypePrefix, Name(type))));
}

}  // namespace dmlop
