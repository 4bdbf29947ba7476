// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/io/tensor_file.h"
#include "core/model/model_dispatchables.h"
#include "core/model/model_document.h"
#include "core/schema/reports.schema.json.h"
#include "core/schema/schema_parts.h"

namespace dmlop {
namespace {

// Matches a document with "dispatchables", or with another part of a model and no operator's type.
Json IsModel() {
  return Json::parse(R"({"anyOf": [{"required": ["dispatchables"]}, {"allOf": [
      {"anyOf": [{"required": ["resources"]}, {"required": ["commands"]}]},
      {"not": {"anyOf": [{"required": ["type"]}, {"required": ["Type"]}]}}]}]})");
}

}  // namespace

std::string SchemaText() {
  Json definitions = Json::object();
  DefineValues(definitions);
  DefineBindings(definitions);
  DefineOperators(SchemaDialect(Dialect::kDescriptor), definitions);
  DefineOperators(SchemaDialect(Dialect::kModel), definitions);
  DefineModel(definitions);
  // A line of batch --report, what diagnose prints, and their parts.
  definitions.update(Json::parse(kReportsSchema));
  const Json schema = Filled(R"({"$schema": "https://json-schema.org/draft/2020-12/schema",
      "title": "dmlop documents", "description": "operator descriptors and DxDispatch models",
      "type": "object", "if": "$0", "then": "$1", "else": "$2", "$defs": "$3"})",
                             {IsModel(), Ref("model"), Ref("operator"), definitions});
  return Pretty(schema) + "\n";
}

// --- bindings ------------------------------------------------------------------------------------

namespace {

// The definition for numbers of any type, floats included.
constexpr const char* kAnyValue = "number";

// Returns the schema of seeded values, with two parameters or none. Only floats can be normal.
Json RandomValuesSchema(const std::string& value, bool are_floats) {
  const SchemaDialect strict(Dialect::kDescriptor);
  const auto of_kind = [&](const Json& kind, std::initializer_list<const char*> parameters) {
    Json properties = Filled(R"({"random": "$0", "seed": "$1", "valueCount": "$2"})",
                             {kind, strict.Optional(Ref("uint64")), Ref("uint32")});
    for (const char* name : parameters) properties[name] = strict.Optional(Ref(value));
    return strict.Object(properties, {"random"});
  };
  const Json special = {{"const", "special"}};
  const Json normal = {{"const", "normal"}};
  const Json ranged = of_kind({{"enum", {"uniform", "integers"}}}, {"low", "high"});
  const auto either = [](const Json& kind, const Json& schema, const Json& others) {
    return Filled(R"({"if": "$0", "then": "$1", "else": "$2"})",
                  {Has("random", kind), schema, others});
  };
  const Json others =
      are_floats ? either(normal, of_kind(normal, {"mean", "deviation"}), ranged) : ranged;
  return either(special, of_kind(special, {}), others);
}

// Defines arrays of values or of arrays, and initializers.
void DefineInlineValues(const std::string& value, bool are_floats, Json& definitions) {
  const std::string array = value + "-array";
  const SchemaDialect strict(Dialect::kDescriptor);
  const Json constant =
      Filled(R"({"value": "$0", "valueCount": "$1"})", {Ref(value), Ref("uint32")});
  const Json sequence = Filled(R"({"valueStart": "$0", "valueDelta": "$0", "valueCount": "$1"})",
                               {Ref(value), Ref("uint32")});
  definitions[array] =
      Filled(R"({"type": "array", "minItems": 1, "if": {"contains": {"type": "array"}},
                 "then": {"items": "$0"}, "else": {"items": "$1"}})",
             {Ref(array), Ref(value)});
  definitions[value + "-initializer"] =
      Filled(R"({"if": {"required": ["random"]}, "then": "$0", "else": {
                 "if": {"required": ["value"]}, "then": "$1", "else": "$2"}})",
             {RandomValuesSchema(value, are_floats), strict.Object(constant, {"value"}),
              strict.Object(sequence, {"valueStart", "valueDelta"})});
  definitions[value + "-binding"] = Filled(R"({"allOf": [{"if": {"type": "array"}, "then": "$0"},
                           {"if": {"type": "object"}, "then": "$1"}]})",
                                           {Ref(array), Ref(value + "-initializer")});
  Json one = Ref(value + "-binding");
  one["type"] = {"array", "object"};
  const Json any = Filled(R"({"anyOf": {"type": "array", "minItems": 1, "items": "$0"}})", {one});
  definitions[value + "-expected"] =
      Filled(R"({"if": {"type": "object", "required": ["anyOf"]}, "then": "$0", "else": "$1"})",
             {strict.Object(any, {"anyOf"}), Ref(value + "-binding")});
}

// Returns a condition on a field of a descriptor's operator, in any place where fields may be.
Json HasField(std::string_view name, const Json& schema) {
  const Json has = Has(name, schema);
  return {{"anyOf", {Has("desc", has), Has("Desc", has), has}}};
}

// Returns a condition on the entry of an array: that it exists, and what it is.
Json EntryOf(size_t entry, const Json& schema) {
  Json items = Json::array();
  while (items.size() < entry) items.push_back(Json::object());
  items.push_back(schema);
  return Filled(R"({"type": "array", "minItems": "$0", "prefixItems": "$1"})", {entry + 1, items});
}

// Values in the document must be of the tensor's type, which only .npy files imply. The tensors of
// an array either all have one type, or are few and each has a type of its own.
Json RulesOf(const Field& tensor) {
  const bool is_input = tensor.role == TensorRole::kInput;
  const bool is_array = tensor.kind == FieldKind::kTensors;
  const std::string member = is_input ? "bindings" : "expect";
  const auto one_of = [&](const Json& schema) {
    return is_array ? Json{{"type", "array"}, {"contains", schema}} : schema;
  };
  const auto values = [&](const Json& schema) -> Json {
    return {{"properties", {{member, {{"properties", {{std::string(tensor.name), schema}}}}}}}};
  };
  Json rules = Json::array();
  if (is_input) {
    rules.push_back(IfThen(Has(member, Has(tensor.name, one_of(Ref("untyped-binding")))),
                           HasField(tensor.name, one_of(Ref("complete-tensor")))));
    rules.push_back(IfThen(Has(member, Has(tensor.name, one_of({{"type", "object"}}))),
                           HasField(tensor.name, one_of(Ref("sized-tensor")))));
    const Json floats = Ref(ValueDefinition(DataType::kFloat32) + "-binding");
    rules.push_back(IfThen({{"not", HasField(tensor.name, one_of(Ref("typed-tensor")))}},
                           values(is_array ? Json{{"items", floats}} : floats)));
  }
  for (const DataType type : ElementTypes()) {
    const Json typed = Ref(ValueDefinition(type) + (is_input ? "-binding" : "-expected"));
    const Json has_type = Ref(fmt::format("{}-tensor", Name(type)));
    if (tensor.other_entries != tensor.type) {
      for (size_t entry = 0; entry < tensor.limits.max_count; ++entry) {
        rules.push_back(IfThen(HasField(tensor.name, EntryOf(entry, has_type)),
                               values({{"prefixItems", EntryOf(entry, typed)["prefixItems"]}})));
      }
      continue;
    }
    rules.push_back(IfThen(HasField(tensor.name, one_of(has_type)),
                           values(is_array ? Json{{"items", typed}} : typed)));
  }
  return rules;
}

// Returns an object with a member for each tensor's field, an array if the field is one.
Json ByTensor(const SchemaDialect& dialect, const std::vector<const Field*>& fields,
              const std::function<Json(const Field&)>& schema_of) {
  Json properties = Json::object();
  for (const Field* field : fields) {
    const Json one = schema_of(*field);
    const bool is_array = field->kind == FieldKind::kTensors;
    properties[std::string(field->name)] = is_array ? dialect.Optional(ArrayOf(one)) : one;
  }
  return dialect.Optional(dialect.Object(properties, Json::array()));
}

}  // namespace

void DefineBindings(Json& definitions) {
  definitions["complete-tensor"] = CompleteTensor();
  definitions["sized-tensor"] = SizedTensor();
  definitions["typed-tensor"] = TypedTensor();
  definitions["untyped-binding"] =
      Filled(R"({"type": "string", "pattern": "$0"})",
             {HasExtension(ExtensionsOf(FileFormat::kRaw), "(@(0[xX][0-9a-fA-F]+|[0-9]+))?") + "|" +
              HasExtension(ExtensionsOf(FileFormat::kPicture))});
  DefineInlineValues(kAnyValue, /*are_floats=*/true, definitions);
  for (const DataType type : ElementTypes()) {
    definitions[fmt::format("{}-tensor", Name(type))] = TensorOfType(type);
    DefineInlineValues(ValueDefinition(type), IsFloat(type), definitions);
  }
  definitions.update(Filled(
      R"({"input-binding": {"$ref": "#/$defs/number-binding",
                            "type": ["string", "array", "object", "null"], "pattern": "$0"},
          "expected-values": {"$ref": "#/$defs/number-expected",
                              "type": ["array", "object", "null"]},
          "output-binding": {"anyOf": [{"$ref": "#/$defs/file-name"}, {"type": "null"}]}})",
      {definitions["file-name"]["pattern"]}));
}

Json BindingsSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields) {
  return ByTensor(dialect, fields, [](const Field& field) {
    return Ref(field.role == TensorRole::kInput ? "input-binding" : "output-binding");
  });
}

Json ExpectedSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields) {
  std::vector<const Field*> outputs = fields;
  std::erase_if(outputs, [](const Field* field) { return field->role != TensorRole::kOutput; });
  return ByTensor(dialect, outputs, [](const Field&) { return Ref("expected-values"); });
}

Json BindingRules(const std::vector<const Field*>& fields) {
  Json rules = Json::array();
  for (const Field* field : fields) {
    for (const Json& rule : RulesOf(*field)) rules.push_back(rule);
  }
  return rules;
}

// --- models --------------------------------------------------------------------------------------

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
