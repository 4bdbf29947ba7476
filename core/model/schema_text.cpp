#include "core/model/schema_text.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/document/document_json.h"
#include "core/document/value_reader.h"
#include "core/ops/field_visitor.h"

namespace dmlop {
namespace {

Json Ref(std::string_view name) {
  return {{"$ref", fmt::format("#/$defs/{}", name)}};
}

Json ArrayOf(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

// Every name as it is and with its prefix.
Json Names(std::string_view prefix, std::span<const std::string_view> names) {
  Json both = Json::array();
  for (const std::string_view name : names) both.push_back(name);
  for (const std::string_view name : names) both.push_back(fmt::format("{}{}", prefix, name));
  return {{"enum", both}};
}

Json OneName(std::string_view prefix, std::string_view name) {
  return Names(prefix, std::span(&name, 1));
}

template <typename T>
Json IntegerOf() {
  return {{"type", "integer"},
          {"minimum", std::numeric_limits<T>::min()},
          {"maximum", std::numeric_limits<T>::max()}};
}

// What the two kinds of document do differently: a descriptor knows no other members, and null
// means left out; a model must have every field, and other members are passed over.
class SchemaDialect {
 public:
  explicit SchemaDialect(Dialect dialect) : dialect_(dialect) {}

  bool is_model() const { return dialect_ == Dialect::kModel; }

  Json Object(const Json& properties, const Json& required = Json::array()) const {
    Json object = {{"type", "object"}, {"properties", properties}};
    if (!required.empty()) object["required"] = required;
    if (!is_model()) object["additionalProperties"] = false;
    return object;
  }

  Json Optional(const Json& schema) const {
    if (is_model()) return schema;
    return {{"anyOf", {schema, {{"type", "null"}}}}};
  }

  // The name of a definition that exists once for each kind.
  std::string Definition(std::string_view name) const {
    return fmt::format("{}{}", is_model() ? "model " : "", name);
  }

 private:
  Dialect dialect_;
};

// The fields of an operator as properties, and which of them must be there.
struct FieldSchemas : FieldVisitor {
  explicit FieldSchemas(const SchemaDialect& d) : dialect(d) {}

  const SchemaDialect& dialect;
  Json properties = Json::object();
  Json required = Json::array();
  bool has_count = false;  // for the array that comes next

  void Require(std::string_view name, const Json& schema) {
    properties[std::string(name)] = schema;
    required.push_back(name);
  }
  // What a bound file or the other fields may tell a descriptor.
  void Imply(std::string_view name, const Json& schema) {
    if (dialect.is_model()) return Require(name, schema);
    properties[std::string(name)] = dialect.Optional(schema);
  }

  template <typename E>
  void Enum(std::string_view name, std::string_view prefix, std::span<const std::string_view> names,
            E&) {
    Require(name, Names(prefix, names));
  }
  template <typename T>
  void Tensor(std::string_view name, TensorRole, T&) {
    Imply(name, Ref(dialect.Definition("tensor")));
  }
  template <typename T>
  void Tensors(std::string_view name, TensorRole, T&) {
    Imply(name, ArrayOf(dialect.Optional(Ref(dialect.Definition("tensor")))));
  }
  template <typename C, typename A>
  void Count(std::string_view name, C&, A&) {
    Imply(name, Ref("uint32"));
    has_count = true;
  }
  template <typename N>
  void Number(std::string_view name, N&) {
    Require(name, Ref("uint32"));
  }
  // An array that a count of 0 stands for may be left out.
  template <typename A>
  void Numbers(std::string_view name, A&) {
    has_count ? Imply(name, ArrayOf(Ref("uint32"))) : Require(name, ArrayOf(Ref("uint32")));
    has_count = false;
  }
  template <typename S>
  void ScaleAndBias(std::string_view name, S&) {
    properties[std::string(name)] = dialect.Optional(Ref(dialect.Definition("scaleBias")));
  }
};

// The bindings of a descriptor's tensors.
struct BindingSchemas : FieldVisitor {
  Json properties = Json::object();

  static Json Of(TensorRole role) {
    return Ref(role == TensorRole::kInput ? "inputBinding" : "outputBinding");
  }
  template <typename T>
  void Tensor(std::string_view name, TensorRole role, T&) {
    properties[std::string(name)] = Of(role);
  }
  template <typename T>
  void Tensors(std::string_view name, TensorRole role, T&) {
    properties[std::string(name)] = ArrayOf(Of(role));
  }
};

class SchemaWriter {
 public:
  std::string Write() {
    AddNumbers();
    AddInitializers();
    for (const Dialect dialect : {Dialect::kDescriptor, Dialect::kModel}) {
      const SchemaDialect schema(dialect);
      AddTensor(schema);
      AddOperators(schema);
    }
    AddModel();
    const Json schema = {
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"title", "dmlop documents"},
        {"description", "operator descriptors and DxDispatch models"},
        {"type", "object"},
        {"if", {{"required", {"dispatchables"}}}},
        {"then", Ref("model")},
        {"else", Ref("operator")},
        {"$defs", definitions_},
    };
    return Pretty(schema) + "\n";
  }

 private:
  void Define(const std::string& name, const Json& schema) { definitions_[name] = schema; }

  void AddNumbers() {
    Define("uint32", IntegerOf<uint32_t>());
    Define("uint64", IntegerOf<uint64_t>());
    Define("number", {{"anyOf",
                       {{{"type", "number"}},
                        {{"type", "string"}, {"pattern", "^([Nn][Aa][Nn]|-?[Ii][Nn][Ff])$"}}}}});
    Define("dataType", Names(kDataTypePrefix, DataTypeNames()));
    Define("fileName", {{"type", "string"}, {"minLength", 1}});
  }

  void AddInitializers() {
    const Json count = Ref("uint32");
    const SchemaDialect strict(Dialect::kDescriptor);
    Define("values", {{"type", "array"}, {"items", {{"anyOf", {Ref("number"), Ref("values")}}}}});
    Define("initializer",
           {{"anyOf",
             {strict.Object({{"value", Ref("number")}, {"valueCount", count}}, {"value"}),
              strict.Object({{"valueStart", Ref("number")},
                             {"valueDelta", Ref("number")},
                             {"valueCount", count}},
                            {"valueStart", "valueDelta"})}}});
    Define("inputBinding",
           {{"anyOf", {Ref("fileName"), Ref("values"), Ref("initializer"), {{"type", "null"}}}}});
    Define("outputBinding", {{"anyOf", {Ref("fileName"), {{"type", "null"}}}}});
  }

  void AddTensor(const SchemaDialect& dialect) {
    const Json flag = Names(kTensorFlagPrefix, kTensorFlags);
    const Json uint32s = ArrayOf(Ref("uint32"));
    const Json fields = {
        {"DataType", dialect.Optional(Ref("dataType"))},
        {"Sizes", dialect.Optional(uint32s)},
        {"Strides", dialect.Optional(uint32s)},
        {"DimensionCount", dialect.Optional(Ref("uint32"))},
        {"Flags", dialect.Optional({{"anyOf", {flag, ArrayOf(flag)}}})},
        {"TotalTensorSizeInBytes", dialect.Optional(Ref("uint64"))},
        {"GuaranteedBaseOffsetAlignment", dialect.Optional(Ref("uint32"))},
    };
    const Json required = dialect.is_model() ? Json{"DataType", "Sizes"} : Json::array();
    Json flat = fields;
    const std::string inner = dialect.Definition("tensor fields");
    Define(inner, dialect.Object(fields, required));
    flat["Type"] = dialect.Optional(Names(kTensorTypePrefix, kTensorTypes));
    const Json nested = dialect.Object({{"Type", flat["Type"]}, {"Desc", Ref(inner)}}, {"Desc"});
    if (!dialect.is_model()) flat["Desc"] = {{"type", "null"}};
    Define(dialect.Definition("tensor"),
           {{"if", HasObject("Desc")}, {"then", nested}, {"else", dialect.Object(flat, required)}});
    Define(dialect.Definition("scaleBias"),
           dialect.Object({{"Scale", Ref("number")}, {"Bias", Ref("number")}}, {"Scale", "Bias"}));
  }

  static Json HasObject(std::string_view name) {
    const std::string key(name);
    return {{"properties", {{key, {{"type", "object"}}}}}, {"required", {key}}};
  }

  // One definition an operator, chosen by its type.
  void AddOperators(const SchemaDialect& dialect) {
    Json choices = Json::array();
    for (const std::string_view name : OperatorNames()) {
      AddOperator(dialect, name);
      const Json type = OneName(kOperatorPrefix, name);
      for (const char* key : {"type", "Type"}) {
        choices.push_back({{"if", {{"properties", {{key, type}}}, {"required", {key}}}},
                           {"then", Ref(dialect.Definition(name))}});
      }
    }
    Json any = {{"type", "object"}, {"allOf", choices}};
    const Json all_names = Names(kOperatorPrefix, OperatorNames());
    any["properties"] = {{"type", all_names}, {"Type", all_names}};
    any["anyOf"] = {{{"required", {"type"}}}, {{"required", {"Type"}}}};
    Define(dialect.Definition("operator"), any);
  }

  void AddOperator(const SchemaDialect& dialect, std::string_view name) {
    const OperatorDesc desc = *MakeOperator(name);
    const FieldSchemas fields = VisitAllFields(desc, FieldSchemas(dialect));
    const std::string inner = dialect.Definition(fmt::format("{} fields", name));
    Define(inner, dialect.Object(fields.properties, fields.required));

    Json around = {{"type", {{"type", "string"}}}, {"Type", {{"type", "string"}}}};
    if (dialect.is_model()) {
      around["bindings"] = Ref("modelBindings");
      around["dmlCompileType"] = {{"enum", {"DmlCompileOp", "DmlCompileGraph"}}};
    } else {
      around["$schema"] = Json::object();
      const auto bindings = VisitAllFields(desc, BindingSchemas()).properties;
      around["bindings"] = dialect.Optional(dialect.Object(bindings));
    }
    Json nested = around;
    nested["desc"] = dialect.Optional(Ref(inner));
    nested["Desc"] = dialect.Optional(Ref(inner));
    Json flat = around;
    flat.update(fields.properties);
    if (!dialect.is_model()) flat["desc"] = flat["Desc"] = {{"type", "null"}};
    const Json has_level = {{"anyOf", {HasObject("desc"), HasObject("Desc")}}};
    Define(dialect.Definition(name), {{"if", has_level},
                                      {"then", dialect.Object(nested)},
                                      {"else", dialect.Object(flat, fields.required)}});
  }

  void AddModel() {
    const SchemaDialect model(Dialect::kModel);
    const Json text = {{"type", "string"}};
    Define("modelBinding", {{"anyOf",
                             {text, model.Object({{"name", text},
                                                  {"elementOffset", Ref("uint64")},
                                                  {"elementSizeInBytes", Ref("uint64")}},
                                                 {"name"})}}});
    Define("modelBindings", {{"type", "object"},
                             {"additionalProperties",
                              {{"anyOf", {Ref("modelBinding"), ArrayOf(Ref("modelBinding"))}}}}});
    AddResource(model);
    Define("model", model.Object({{"resources", MapOf(Ref("resource"))},
                                  {"dispatchables", MapOf(Ref(model.Definition("operator")))},
                                  {"commands", ArrayOf(CommandSchema(model))}},
                                 {"resources", "dispatchables", "commands"}));
  }

  static Json MapOf(const Json& values) {
    return {{"type", "object"}, {"additionalProperties", values}};
  }

  void AddResource(const SchemaDialect& model) {
    const Json count = {{"type", "integer"}, {"minimum", 1}, {"maximum", UINT32_MAX}};
    const Json mixed =
        model.Object({{"type", Ref("dataType")}, {"value", Ref("number")}}, {"type", "value"});
    const Json list = {
        {"type", "array"}, {"minItems", 1}, {"items", {{"anyOf", {Ref("number"), mixed}}}}};
    const Json constant =
        model.Object({{"value", Ref("number")}, {"valueCount", count}}, {"value", "valueCount"});
    const Json sequence = model.Object(
        {{"valueStart", Ref("number")}, {"valueDelta", Ref("number")}, {"valueCount", count}},
        {"valueStart", "valueDelta", "valueCount"});
    const Json file = model.Object({{"sourcePath", Ref("fileName")}}, {"sourcePath"});
    Define("resource",
           model.Object({{"initialValues", {{"anyOf", {list, constant, sequence, file}}}},
                         {"initialValuesDataType", Ref("dataType")},
                         {"sizeInBytes", Ref("uint64")},
                         {"initialValuesOffsetInBytes", Ref("uint64")}},
                        {"initialValues"}));
  }

  // Commands are told apart by their type, in any case.
  static Json CommandSchema(const SchemaDialect& model) {
    const Json text = {{"type", "string"}};
    const auto command = [&](const char* pattern, Json properties, Json required) {
      properties["type"] = {{"type", "string"}, {"pattern", pattern}};
      required.push_back("type");
      return model.Object(properties, required);
    };
    return {{"anyOf",
             {command("^[Dd][Ii][Ss][Pp][Aa][Tt][Cc][Hh]$",
                      {{"dispatchable", text}, {"bindings", Ref("modelBindings")}},
                      {"dispatchable", "bindings"}),
              command("^[Pp][Rr][Ii][Nn][Tt]$",
                      {{"resource", text}, {"verbose", {{"type", "boolean"}}}}, {"resource"}),
              command("^[Ww][Rr][Ii][Tt][Ee][Ff][Ii][Ll][Ee]$",
                      {{"resource", text},
                       {"targetPath", Ref("fileName")},
                       {"dimensions", ArrayOf(Ref("uint32"))}},
                      {"resource", "targetPath"})}}};
  }

  Json definitions_ = Json::object();
};

}  // namespace

std::string SchemaText() {
  return SchemaWriter().Write();
}

}  // namespace dmlop
