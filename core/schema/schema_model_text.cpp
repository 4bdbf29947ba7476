// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/model/model_dispatchables.h"
#include "core/model/model_document.h"
#include "core/schema/schema_parts.h"

namespace dmlop {
namespace {

const SchemaDialect kModel(Dialect::kModel);

Json ModelObject(const Json& properties, const Json& required) {
  return kModel.Object(properties, required);
}

// Members that are read and then ignored must not be null.
void AddIgnored(std::span<const IgnoredKey> keys, Json& properties) {
  for (const IgnoredKey& key : keys) properties[std::string(key.name)] = NotNull();
}

// --- resources -----------------------------------------------------------------------------------

Json SourceFile(const Json& path) {
  return ModelObject({{"sourcePath", path}}, {"sourcePath"});
}

// Returns the schema of values of a known type: a list, or an object whose kind depends on the
// first of 'value', 'valueStart' and 'sourcePath' that it has.
Json InitialValues(const Json& value) {
  const Json count = Integer(1, std::numeric_limits<uint32_t>::max());
  Json list = ArrayOf(value);
  list["minItems"] = 1;
  return Filled(
      R"({"if": {"type": "array"}, "then": "$0", "else": {"type": "object",
          "if": {"required": ["value"]}, "then": {"type": "object", "properties": {
              "value": "$1", "valueCount": "$2", "valueStart": false, "sourcePath": false},
            "required": ["value", "valueCount"]},
          "else": {"if": {"required": ["valueStart"]}, "then": {"type": "object", "properties": {
              "valueStart": "$1", "valueDelta": "$1", "valueCount": "$2"},
            "required": ["valueStart", "valueDelta", "valueCount"]}, "else": "$3"}}})",
      {list, value, count, SourceFile(Ref("file-name"))});
}

// Returns the schema of one value with its type.
Json MixedValue() {
  std::vector<DataType> types = ElementTypes();
  std::erase_if(types, [](DataType type) { return !CanBeMixed(type); });
  Json choices = Json::array();
  for (const DataType type : types) {
    choices.push_back(IfThen(Has("type", OneName(kDataTypePrefix, Name(type))),
                             {{"properties", {{"value", kModel.Value(type)}}}}));
  }
  Json value = ModelObject({{"type", Names(kDataTypePrefix, NamesOf(types))}}, {"type", "value"});
  value["allOf"] = choices;
  return value;
}

// Returns the schema of values without a type: a list of mixed types, or an array in a file.
Json UntypedInitialValues() {
  constexpr std::string_view kNpy[] = {".npy"};
  constexpr std::string_view kNpz[] = {".npz"};
  Json list = ArrayOf(Ref("mixed-value"));
  list["minItems"] = 1;
  Json file = SourceFile(
      Filled(R"({"allOf": [{"$ref": "#/$defs/file-name"}, {"type": "string", "pattern": "$0"}]})",
             {HasExtension(kNpy) + "|" + HasExtension(kNpz, ":.+")}));
  file["properties"]["value"] = false;
  file["properties"]["valueStart"] = false;
  file["type"] = "object";
  return Filled(R"({"if": {"type": "array"}, "then": "$0", "else": "$1"})", {list, file});
}

void DefineResource(Json& definitions) {
  const auto initial_values = [](const std::string& value) { return value + "s-of-resource"; };
  const auto have = [](const std::string& definition) -> Json {
    return {{"properties", {{"initialValues", Ref(definition)}}}};
  };
  definitions["mixed-value"] = MixedValue();
  definitions["untyped-values-of-resource"] = UntypedInitialValues();
  Json choices = Json::array();
  std::vector<DataType> with_values = ElementTypes();
  std::erase_if(with_values, [](DataType type) { return !HasValues(type); });
  for (const DataType type : with_values) {
    const std::string values = initial_values(ValueDefinition(type));
    definitions[values] =
        Filled(R"({"if": {"type": "string"}, "then": {"const": "deferred"}, "else": "$0"})",
               {InitialValues(kModel.Value(type))});
    choices.push_back(
        IfThen(Has("initialValuesDataType", OneName(kDataTypePrefix, Name(type))), have(values)));
  }
  choices.push_back(
      Filled(R"({"if": "$0", "else": "$1"})",
             {Has("initialValuesDataType", Ref("data-type")), have("untyped-values-of-resource")}));
  // Pictures become tensors of four sizes, by scaling.
  const std::string picture = HasExtension(ExtensionsOf(FileFormat::kPicture));
  Json sizes = ArrayOf(Ref("uint32"));
  sizes["minItems"] = sizes["maxItems"] = 4;
  choices.push_back(
      IfThen(Has("initialValues",
                 Has("sourcePath", Filled(R"({"type": "string", "pattern": "$0"})", {picture}))),
             Filled(R"({"properties": {"resampleMode": {"const": "scale"}, "resampleSize": "$0"}})",
                    {sizes})));

  std::vector<std::string_view> types = NamesOf(with_values);
  types.push_back(Name(DataType::kUnknown));
  Json properties = Filled(
      R"({"initialValues": {"type": ["array", "object", "string"]}, "initialValuesDataType": "$0",
          "sizeInBytes": "$1", "initialValuesOffsetInBytes": "$1"})",
      {Names(kDataTypePrefix, types), Ref("uint64")});
  AddIgnored(kIgnoredResourceKeys, properties);
  Json resource = ModelObject(properties, {"initialValues"});
  resource["allOf"] = choices;
  definitions["resource"] = resource;
}

// --- bindings ------------------------------------------------------------------------------------

void DefineBindPoint(Json& definitions) {
  Json properties =
      Filled(R"({"name": {"type": "string"}, "elementOffset": "$0", "elementSizeInBytes": "$0"})",
             {Ref("uint64")});
  AddIgnored(kIgnoredBindingKeys, properties);
  definitions["bind-point"] =
      ItemOrArray(Filled(R"({"type": ["string", "object"], "properties": "$0",
                             "if": {"type": "object"}, "then": {"required": ["name"]}})",
                         {properties}));
}

// A command's bindings to bind points that the operator lacks are ignored. A schema cannot tell
// which operator it dispatches; but if all dispatchables have the bind point, so has that one.
Json BindPointRules() {
  std::map<std::string, std::vector<std::string_view>> operators;
  for (const OperatorInfo* info : Operators()) {
    for (const Field* field : TensorFieldsOf(*info)) {
      operators[std::string(field->name)].push_back(info->name);
    }
  }
  Json rules = Json::array();
  for (const auto& [bind_point, names] : operators) {
    const Json is_one = Names(kOperatorPrefix, names);
    rules.push_back(Filled(
        R"({"if": {"properties": {"dispatchables": {"additionalProperties": {
                "if": {"required": ["Type"]}, "then": "$0", "else": "$1"}}}},
            "then": {"properties": {"commands": {"items": {"properties": {"bindings": {
                "properties": {"$2": "$3"}}}}}}}})",
        {Has("Type", is_one), Has("type", is_one), bind_point, Ref("bind-point")}));
  }
  return rules;
}

// --- commands ------------------------------------------------------------------------------------

Json NameInAnyCase(std::string_view name) {
  return Filled(R"({"type": "string", "pattern": "$0"})", {fmt::format("^{}$", AnyCase(name))});
}

void DefineCommand(Json& definitions) {
  Json dispatch =
      Json::parse(R"({"dispatchable": {"type": "string"}, "bindings": {"type": "object"}})");
  AddIgnored(kIgnoredDispatchKeys, dispatch);
  const Json print =
      Json::parse(R"({"resource": {"type": "string"}, "verbose": {"type": "boolean"}})");
  const Json write =
      Filled(R"({"resource": {"type": "string"}, "targetPath": "$0", "dimensions": "$1"})",
             {Ref("file-name"), ArrayOf(Ref("uint32"))});
  const std::pair<std::string_view, Json> kinds[] = {
      {"dispatch", ModelObject(dispatch, {"dispatchable", "bindings"})},
      {"print", ModelObject(print, {"resource"})},
      {"writeFile", ModelObject(write, {"resource", "targetPath"})},
  };
  Json types = Json::array();
  Json choices = Json::array();
  for (const auto& [name, schema] : kinds) {
    const Json type = NameInAnyCase(name);
    types.push_back(type);
    choices.push_back(IfThen(Has("type", type), schema));
  }
  for (const std::string_view name : kIgnoredCommands) types.push_back(NameInAnyCase(name));
  Json command = ModelObject({{"type", {{"anyOf", types}}}}, {"type"});
  command["allOf"] = choices;
  definitions["command"] = command;
}

Json MapOf(const Json& values) {
  return {{"type", "object"}, {"additionalProperties", values}};
}

// Defines an operator, a graph in a file, or an ONNX model.
void DefineDispatchable(Json& definitions) {
  const Json type = NameInAnyCase(kGraphType);
  const Json onnx_type = NameInAnyCase(kOnnxType);
  definitions["dispatchable"] = Filled(
      R"({"if": "$0", "then": {"type": "object", "properties": {"type": "$1", "sourcePath": "$2",
              "freeDimensionNameOverrides": "$3", "freeDimensionDenotationOverrides": "$3"},
            "required": ["type", "sourcePath"]},
          "else": {"if": "$4", "then": {"type": "object",
              "properties": {"type": "$5", "sourcePath": "$2"},
              "required": ["type", "sourcePath"]}, "else": "$6"}})",
      {Has("type", onnx_type), onnx_type, Ref("file-name"), MapOf(Ref("uint32")), Has("type", type),
       type, Ref("model-operator")});
}

}  // namespace

void DefineModel(Json& definitions) {
  DefineResource(definitions);
  DefineBindPoint(definitions);
  DefineCommand(definitions);
  DefineDispatchable(definitions);
  Json model = ModelObject(
      Filled(R"({"resources": "$0", "dispatchables": "$1", "commands": "$2"})",
             {MapOf(Ref("resource")), MapOf(Ref("dispatchable")), ArrayOf(Ref("command"))}),
      {"resources", "dispatchables", "commands"});
  model["allOf"] = BindPointRules();
  definitions["model"] = model;
}

}  // namespace dmlop
