#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/io/tensor_file.h"
#include "core/schema/schema_bindings.h"
#include "core/schema/schema_tensor.h"

namespace dmlop {
namespace {

// Seeded values; special ones have no range.
Json RandomValuesSchema(const std::string& value) {
  const SchemaDialect strict(Dialect::kDescriptor);
  Json special = {{"random", {{"const", "special"}}},
                  {"seed", strict.Optional(Ref("uint64"))},
                  {"valueCount", Ref("uint32")}};
  Json ranged = special;
  ranged["random"] = {{"enum", {"uniform", "integers"}}};
  for (const char* bound : {"low", "high"}) ranged[bound] = strict.Optional(Ref(value));
  return {{"if", Has("random", special["random"])},
          {"then", strict.Object(special, {"random"})},
          {"else", strict.Object(ranged, {"random"})}};
}

// Arrays of values or again of arrays, and initializers.
void DefineInlineValues(const std::string& value, Json& definitions) {
  const std::string array = value + "-array";
  const SchemaDialect strict(Dialect::kDescriptor);
  const Json count = {{"valueCount", Ref("uint32")}};
  Json constant = {{"value", Ref(value)}};
  Json sequence = {{"valueStart", Ref(value)}, {"valueDelta", Ref(value)}};
  constant.update(count);
  sequence.update(count);
  definitions[array] = {{"type", "array"},
                        {"minItems", 1},
                        {"if", {{"contains", {{"type", "array"}}}}},
                        {"then", {{"items", Ref(array)}}},
                        {"else", {{"items", Ref(value)}}}};
  definitions[value + "-initializer"] = {
      {"if", {{"required", {"random"}}}},
      {"then", RandomValuesSchema(value)},
      {"else",
       {{"if", {{"required", {"value"}}}},
        {"then", strict.Object(constant, {"value"})},
        {"else", strict.Object(sequence, {"valueStart", "valueDelta"})}}}};
  definitions[value + "-binding"] = {{"allOf",
                                      {IfThen({{"type", "array"}}, Ref(array)),
                                       IfThen({{"type", "object"}}, Ref(value + "-initializer"))}}};
}

// A condition on a field of a descriptor's operator, wherever its fields stand.
Json HasField(std::string_view name, const Json& schema) {
  const Json has = Has(name, schema);
  return {{"anyOf", {Has("desc", has), Has("Desc", has), has}}};
}

// What is bound to the inputs must go with their types: values in the document are of the type,
// and only .npy files tell it. The inputs of an array are all of one type.
Json RulesOf(const Field& input) {
  const bool is_array = input.kind == FieldKind::kTensors;
  const auto one_of = [&](const Json& schema) {
    return is_array ? Json{{"type", "array"}, {"contains", schema}} : schema;
  };
  const auto binding = [&](const Json& schema) -> Json {
    return {{"properties", {{"bindings", {{"properties", {{std::string(input.name), schema}}}}}}}};
  };
  Json rules = Json::array();
  rules.push_back(IfThen(Has("bindings", Has(input.name, one_of(Ref("untyped-binding")))),
                         HasField(input.name, one_of(Ref("complete-tensor")))));
  for (const DataType type : ElementTypes()) {
    if (IsFloat(type)) continue;
    const Json typed = Ref(ValueDefinition(type) + "-binding");
    rules.push_back(IfThen(HasField(input.name, one_of(Ref(fmt::format("{}-tensor", Name(type))))),
                           binding(is_array ? Json{{"items", typed}} : typed)));
  }
  return rules;
}

}  // namespace

void DefineBindings(Json& definitions) {
  definitions["complete-tensor"] = CompleteTensor();
  definitions["untyped-binding"] = {
      {"anyOf",
       {{{"type", {"array", "object"}}},
        {{"type", "string"}, {"pattern", HasExtension(kRawExtensions)}}}}};
  DefineInlineValues("number", definitions);
  for (const DataType type : ElementTypes()) {
    if (IsFloat(type)) continue;
    definitions[fmt::format("{}-tensor", Name(type))] = TensorOfType(type);
    DefineInlineValues(ValueDefinition(type), definitions);
  }
  Json input = Ref("number-binding");
  input["type"] = {"string", "array", "object", "null"};
  input["pattern"] = definitions["file-name"]["pattern"];
  definitions["input-binding"] = input;
  definitions["output-binding"] = {{"anyOf", {Ref("file-name"), {{"type", "null"}}}}};
}

Json BindingsSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields) {
  Json properties = Json::object();
  for (const Field* field : fields) {
    const bool is_array = field->kind == FieldKind::kTensors;
    const Json one = Ref(field->role == TensorRole::kInput ? "input-binding" : "output-binding");
    properties[std::string(field->name)] = is_array ? dialect.Optional(ArrayOf(one)) : one;
  }
  return dialect.Optional(dialect.Object(properties, Json::array()));
}

Json BindingRules(const std::vector<const Field*>& fields) {
  Json rules = Json::array();
  for (const Field* field : fields) {
    if (field->role != TensorRole::kInput) continue;
    for (const Json& rule : RulesOf(*field)) rules.push_back(rule);
  }
  return rules;
}

}  // namespace dmlop
