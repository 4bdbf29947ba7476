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
  const Json constant = ModelObject(
      {{"value", value}, {"valueCount", count}, {"valueStart", false}, {"sourcePath", false}},
      {"value", "valueCount"});
  const Json sequence =
      ModelObject({{"valueStart", value}, {"valueDelta", value}, {"valueCount", count}},
                  {"valueStart", "valueDelta", "valueCount"});
  const Json file = SourceFile(Ref("file-name"));
  return {
      {"if", {{"type", "array"}}},
      {"then", list},
      {"else",
       {{"type", "object"},
        {"if", {{"required", {"value"}}}},
        {"then", constant},
        {"else", {{"if", {{"required", {"valueStart"}}}}, {"then", sequence}, {"else", file}}}}}};
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
  Json file = SourceFile({{"allOf",
                           {Ref("file-name"),
                            {{"type", "string"},
                             {"pattern", HasExtension(kNpy) + "|" + HasExtension(kNpz, ":.+")}}}}});
  file["properties"]["value"] = false;
  file["properties"]["valueStart"] = false;
  file["type"] = "object";
  return {{"if", {{"type", "array"}}}, {"then", list}, {"else", file}};
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
    definitions[values] = {{"if", {{"type", "string"}}},
                           {"then", {{"const", "deferred"}}},
                           {"else", InitialValues(kModel.Value(type))}};
    choices.push_back(
        IfThen(Has("initialValuesDataType", OneName(kDataTypePrefix, Name(type))), have(values)));
  }
  choices.push_back({{"if", Has("initialValuesDataType", Ref("data-type"))},
                     {"else", have("untyped-values-of-resource")}});
  // Pictures become tensors of four sizes, by scaling.
  const std::string picture = HasExtension(ExtensionsOf(FileFormat::kPicture));
  Json sizes = ArrayOf(Ref("uint32"));
  sizes["minItems"] = sizes["maxItems"] = 4;
  choices.push_back(
      IfThen(Has("initialValues", Has("sourcePath", {{"type", "string"}, {"pattern", picture}})),
             {{"properties", {{"resampleMode", {{"const", "scale"}}}, {"resampleSize", sizes}}}}));

  std::vector<std::string_view> types = NamesOf(with_values);
  types.push_back(Name(DataType::kUnknown));
  Json properties = {{"initialValues", {{"type", {"array", "object", "string"}}}},
                     {"initialValuesDataType", Names(kDataTypePrefix, types)},
                     {"sizeInBytes", Ref("uint64")},
                     {"initialValuesOffsetInBytes", Ref("uint64")}};
  AddIgnored(kIgnoredResourceKeys, properties);
  Json resource = ModelObject(properties, {"initialValues"});
  resource["allOf"] = choices;
  definitions["resource"] = resource;
}

// --- bindings ------------------------------------------------------------------------------------

void DefineBindPoint(Json& definitions) {
  Json properties = {
      {"name", Text()}, {"elementOffset", Ref("uint64")}, {"elementSizeInBytes", Ref("uint64")}};
  AddIgnored(kIgnoredBindingKeys, properties);
  const Json binding = {{"type", {"string", "object"}},
                        {"properties", properties},
                        {"if", {{"type", "object"}}},
                        {"then", {{"required", {"name"}}}}};
  definitions["bind-point"] = ItemOrArray(binding);
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
    const Json all_have_it = {{"if", {{"required", {"Type"}}}},
                              {"then", Has("Type", is_one)},
                              {"else", Has("type", is_one)}};
    const Json bindings = {{"properties", {{bind_point, Ref("bind-point")}}}};
    rules.push_back(IfThen(
        {{"properties", {{"dispatchables", {{"additionalProperties", all_have_it}}}}}},
        {{"properties", {{"commands", {{"items", {{"properties", {{"bindings", bindings}}}}}}}}}}));
  }
  return rules;
}

// --- commands ------------------------------------------------------------------------------------

Json NameInAnyCase(std::string_view name) {
  return {{"type", "string"}, {"pattern", fmt::format("^{}$", AnyCase(name))}};
}

void DefineCommand(Json& definitions) {
  Json dispatch = {{"dispatchable", Text()}, {"bindings", {{"type", "object"}}}};
  AddIgnored(kIgnoredDispatchKeys, dispatch);
  const Json print = {{"resource", Text()}, {"verbose", {{"type", "boolean"}}}};
  const Json write = {{"resource", Text()},
                      {"targetPath", Ref("file-name")},
                      {"dimensions", ArrayOf(Ref("uint32"))}};
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
  const Json graph =
      ModelObject({{"type", type}, {"sourcePath", Ref("file-name")}}, {"type", "sourcePath"});
  const Json onnx_type = NameInAnyCase(kOnnxType);
  const Json onnx = ModelObject({{"type", onnx_type},
                                 {"sourcePath", Ref("file-name")},
                                 {"freeDimensionNameOverrides", MapOf(Ref("uint32"))},
                                 {"freeDimensionDenotationOverrides", MapOf(Ref("uint32"))}},
                                {"type", "sourcePath"});
  const Json others = {{"if", Has("type", type)}, {"then", graph}, {"else", Ref("model-operator")}};
  definitions["dispatchable"] = {{"if", Has("type", onnx_type)}, {"then", onnx}, {"else", others}};
}

}  // namespace

void DefineModel(Json& definitions) {
  DefineResource(definitions);
  DefineBindPoint(definitions);
  DefineCommand(definitions);
  DefineDispatchable(definitions);
  Json model = ModelObject({{"resources", MapOf(Ref("resource"))},
                            {"dispatchables", MapOf(Ref("dispatchable"))},
                            {"commands", ArrayOf(Ref("command"))}},
                           {"resources", "dispatchables", "commands"});
  model["allOf"] = BindPointRules();
  definitions["model"] = model;
}

}  // namespace dmlop
