// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/model/model_document.h"
#include "core/ops/words.h"
#include "core/schema/schema_parts.h"

namespace dmlop {
namespace {

// Indexed by ActivationHost.
constexpr std::string_view kFusedActivationNames[kActivationHosts] = {
    "fused-activation", "fused-activation-of-matrices", "fused-activation-of-convolution",
    "activation-of-networks"};

Json NumberWithin(const FieldLimits& limits) {
  return Integer(limits.min, limits.max);
}

Json ArrayWithin(const FieldLimits& limits, const Json& items) {
  Json array = ArrayOf(items);
  if (limits.min_count > 0) array["minItems"] = limits.min_count;
  if (limits.max_count < std::numeric_limits<uint32_t>::max()) array["maxItems"] = limits.max_count;
  if (limits.distinct) array["uniqueItems"] = true;
  return array;
}

// The fields of an operator as properties, which of them are required, and the rules between them.
class FieldSchemas {
 public:
  FieldSchemas(const SchemaDialect& dialect, const OperatorInfo& info,
               std::span<const Field* const> fields)
      : dialect_(dialect) {
    for (const Field* field : fields) Add(*field);
    for (const Field* field : fields) {
      const std::string_view meaning = MeaningOf(info, *field);
      if (!meaning.empty()) properties_[std::string(field->name)]["description"] = meaning;
    }
  }

  // Returns an object with the fields and other members.
  Json Object(const Json& others) const {
    Json properties = properties_;
    properties.update(others);
    Json object = dialect_.Object(properties, required_);
    Json rules = rules_;
    AddCountRules(rules);
    if (!rules.empty()) object["allOf"] = rules;
    return object;
  }

 private:
  void Add(const Field& field) {
    switch (field.kind) {
      case FieldKind::kTensor:
        return Imply(field, Ref(TensorDefinition(dialect_, field.role)));
      case FieldKind::kTensors:
        return AddTensors(field);
      case FieldKind::kCount:  // its array, which follows, has the limits
        count_ = field.name;
        properties_[count_] = {};
        counted_.clear();
        return;
      case FieldKind::kUints:
      case FieldKind::kInts:
      case FieldKind::kFloats:
        return AddNumbers(field);
      case FieldKind::kDataType:
        return Imply(field, Ref("data-type"));
      case FieldKind::kEnum:
        return field.names.names.size() == 1 ? Imply(field, ValueSchema(field))
                                             : Require(field, ValueSchema(field));
      case FieldKind::kActivations:
        Imply(field, ArrayOf(ValueSchema(field)));
        return Imply(count_, Integer(0, std::numeric_limits<uint32_t>::max()));
      default:
        return Require(field, ValueSchema(field));
    }
  }

  Json ValueSchema(const Field& field) const {
    switch (field.kind) {
      case FieldKind::kUint:
      case FieldKind::kUints:
        return NumberWithin(field.limits);
      case FieldKind::kInt:
      case FieldKind::kInts:
        return Filled(R"({"type": "integer", "minimum": "$0", "maximum": "$1"})",
                      {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
      case FieldKind::kFloat:
      case FieldKind::kFloats:
        return Float();
      case FieldKind::kBool:
        return {{"type", "boolean"}};
      case FieldKind::kEnum:
        return Names(field.names.prefix, field.names.names);
      case FieldKind::kScaleBias:
        return dialect_.Object(Filled(R"({"Scale": "$0", "Bias": "$0"})", {Float()}),
                               {"Scale", "Bias"});
      case FieldKind::kSize2d:
        return dialect_.Object(
            Filled(R"({"Width": "$0", "Height": "$0"})", {NumberWithin(field.limits)}),
            {"Width", "Height"});
      case FieldKind::kScalar:
        return Filled(R"({"anyOf": ["$0", {"type": "object", "maxProperties": 1}]})",
                      {Ref("number")});
      default:  // activations
        return Ref(dialect_.Definition(kFusedActivationNames[static_cast<size_t>(field.host)]));
    }
  }

  Json Float() const { return dialect_.Value(DataType::kFloat32); }

  void AddTensors(const Field& field) {
    const FieldLimits& limits = field.limits;
    const Json tensor = dialect_.Optional(Ref(TensorDefinition(dialect_, field.role)));
    Imply(field, ArrayWithin(limits, tensor));
    Imply(count_, Integer(limits.min_count, limits.max_count));
    if (dialect_.is_model()) return;
    const Json few = dialect_.Optional(Integer(limits.min_count, kMaxImpliedTensors));
    rules_.push_back(Filled(R"({"anyOf": ["$0", {"properties": {"$1": "$2"}}]})",
                            {dialect_.Present(field.name), count_, few}));
  }

  // All arrays of numbers after a count must have that length.
  void AddNumbers(const Field& field) {
    const Json array = ArrayWithin(field.limits, ValueSchema(field));
    const bool may_be_empty = field.limits.min_count == 0;
    may_be_empty ? ImplyByCount(field, array) : Require(field, array);
    if (counted_.empty()) Imply(count_, Integer(field.limits.min_count, field.limits.max_count));
    counted_.push_back(&field);
  }

  void Require(const Field& field, const Json& schema) {
    properties_[std::string(field.name)] = field.optional ? dialect_.Optional(schema) : schema;
    if (!field.optional) required_.push_back(field.name);
  }
  // Makes a field optional if a bound file or the other fields may imply it.
  void Imply(const Field& field, const Json& schema) {
    if (field.optional || !dialect_.is_model()) return Imply(std::string(field.name), schema);
    Require(field, schema);
  }
  void Imply(const std::string& name, const Json& schema) {
    if (dialect_.is_model() && name == count_) {
      properties_[name] = schema;
      required_.push_back(name);
    } else {
      properties_[name] = dialect_.Optional(schema);
    }
  }
  // A count of 0 may replace such an array.
  void ImplyByCount(const Field& field, const Json& schema) {
    Imply(field, schema);
    if (dialect_.is_model()) return;
    rules_.push_back(Filled(R"({"anyOf": ["$0", "$1"]})",
                            {dialect_.Present(field.name), Has(count_, {{"const", 0}})}));
  }
  void AddCountRules(Json& rules) const {
    constexpr uint32_t kMostRules = 16;
    if (counted_.empty() || counted_.front()->limits.max_count > kMostRules) return;
    const Field& first = *counted_.front();
    for (uint32_t count = first.limits.min_count; count <= first.limits.max_count; ++count) {
      const Json of_count =
          Filled(R"({"type": "array", "minItems": "$0", "maxItems": "$0"})", {count});
      Json others = {{count_, dialect_.Optional({{"const", count}})}};
      for (const Field* array : std::span(counted_).subspan(1)) {
        others[std::string(array->name)] = of_count;
      }
      rules.push_back(IfThen(Has(first.name, of_count), {{"properties", others}}));
    }
  }

  const SchemaDialect& dialect_;
  Json properties_ = Json::object();
  Json required_ = Json::array();
  Json rules_ = Json::array();
  std::string count_;
  std::vector<const Field*> counted_;  // arrays of numbers after the count
};

// --- members around the fields -------------------------------------------------------------------

// Returns the schema of the tolerance of a case's outputs.
Json ToleranceSchema(const SchemaDialect& dialect) {
  const Json number = dialect.Optional(Json::parse(
      R"({"anyOf": [{"type": "number", "minimum": 0},
                    {"type": "string", "pattern": "^[iI][nN][fF]$"}]})"));
  const Json rules =
      Filled(R"({"atol": "$0", "rtol": "$0", "ulp": "$1", "units": "$0", "bits": "$2"})",
             {number, dialect.Optional(Ref("uint64")), dialect.Optional({{"type", "boolean"}})});
  return dialect.Optional(Filled(
      R"({"anyOf": [{"pattern":
              "^(webnn|[sS][uU][mM][sS](=[fF][lL][oO][aA][tT](32|16))?|[nN][oO][iI][sS][eE])$",
            "type": "string"}, "$0"]})",
      {dialect.Object(rules, Json::array())}));
}

void AddDescriptorMembers(const SchemaDialect& dialect, const std::vector<const Field*>& fields,
                          Json& around) {
  around["$schema"] = Json::object();
  around["name"] = dialect.Optional({{"type", "string"}});
  around["bindings"] = BindingsSchema(dialect, fields);
  around["tolerance"] = ToleranceSchema(dialect);
  around["expect"] = ExpectedSchema(dialect, fields);
}

void AddDispatchableMembers(const std::vector<const Field*>& fields, Json& around) {
  Json bind_points = Json::object();
  for (const Field* field : fields) bind_points[std::string(field->name)] = Ref("bind-point");
  around["bindings"] = {{"type", "object"}, {"properties", bind_points}};
  around["dmlCompileType"] = Names("", kDmlCompileTypes);
  around["executionFlags"] = ItemOrArray(Names(kExecutionFlagPrefix, kExecutionFlags));
}

// --- operators -----------------------------------------------------------------------------------

// The fields may be in "Desc", in "desc", or, with others, next to the members around them.
Json WithFields(const SchemaDialect& dialect, const FieldSchemas& fields, const Json& others,
                const Json& inner, const Json& around) {
  const auto with_fields_in = [&](const Json& upper, const Json& lower) {
    Json members = around;
    members["Desc"] = upper;
    members["desc"] = lower;
    return members;
  };
  const Json other = dialect.NotCounting();
  Json beside = with_fields_in(other, other);
  beside.update(others);
  return {
      {"if", dialect.Present("Desc")},
      {"then", dialect.Object(with_fields_in(inner, other), Json::array())},
      {"else",
       {{"if", dialect.Present("desc")},
        {"then", dialect.Object(with_fields_in(other, inner), Json::array())},
        {"else", fields.Object(beside)}}},
  };
}

void DefineOperator(const SchemaDialect& dialect, const OperatorInfo& info, Json& definitions) {
  const FieldSchemas fields(dialect, info, info.fields);
  const std::vector<const Field*> tensors = TensorFieldsOf(info);
  const std::string inner = dialect.Definition(fmt::format("{}-fields", info.name));
  definitions[inner] = fields.Object(Json::object());

  Json around = {{"type", true}, {"Type", true}};
  if (dialect.is_model()) {
    AddDispatchableMembers(tensors, around);
  } else {
    AddDescriptorMembers(dialect, tensors, around);
  }
  Json schema = WithFields(dialect, fields, Json::object(), Ref(inner), around);
  const Json rules = BindingRules(tensors);
  if (!dialect.is_model() && !rules.empty()) schema["allOf"] = rules;
  definitions[dialect.Definition(info.name)] = schema;
}

// An operator as a fused activation has no tensors. Models may have some, which are ignored.
Json FusedActivation(const SchemaDialect& dialect, const OperatorInfo& info) {
  std::vector<const Field*> numbers;
  Json left_out = Json::object();
  for (const Field* field : info.fields) {
    if (field->kind != FieldKind::kTensor) {
      numbers.push_back(field);
    } else if (!dialect.is_model()) {
      left_out[std::string(field->name)] = dialect.NotCounting();
    }
  }
  const FieldSchemas fields(dialect, info, numbers);
  return WithFields(dialect, fields, left_out, fields.Object(left_out),
                    {{"type", true}, {"Type", true}});
}

// Returns an object whose type, under either key, is one of the names, with the schema of each.
Json ByType(const SchemaDialect& dialect, std::span<const std::string_view> names,
            const std::function<Json(std::string_view name)>& meaning) {
  const auto under = [&](const char* key, const char* other_key) -> Json {
    Json choices = Json::array();
    for (const std::string_view name : names) {
      choices.push_back(IfThen(Has(key, OneName(kOperatorPrefix, name)), meaning(name)));
    }
    return {
        {"properties", {{key, Names(kOperatorPrefix, names)}, {other_key, dialect.NotCounting()}}},
        {"required", {key}},
        {"allOf", choices}};
  };
  return {{"type", "object"},
          {"if", dialect.Present("Type")},
          {"then", under("Type", "type")},
          {"else", under("type", "Type")}};
}

void DefineFusedActivations(const SchemaDialect& dialect, ActivationHost host, Json& definitions) {
  std::vector<std::string_view> names;
  for (const OperatorInfo* info : Operators()) {
    if (info->fusable.In(host)) names.push_back(info->name);
  }
  definitions[dialect.Definition(kFusedActivationNames[static_cast<size_t>(host)])] =
      ByType(dialect, names,
             [&](std::string_view name) { return FusedActivation(dialect, *FindOperator(name)); });
}

// If "Type" is next to the "type" of an operator with a field of that name, it is the field;
// `other` is the schema of everything else.
Json WithTypeFields(const SchemaDialect& dialect, Json other) {
  for (const OperatorInfo* info : Operators()) {
    for (const Field* field : info->fields) {
      if (field->name != "Type") continue;
      const Json names = dialect.Optional(Names(field->names.prefix, field->names.names));
      other = Filled(
          R"({"if": "$0", "then": {"properties": {"Type": "$1"}, "allOf": ["$2"]}, "else": "$3"})",
          {Has("type", OneName(kOperatorPrefix, info->name)), names,
           Ref(dialect.Definition(info->name)), other});
    }
  }
  return other;
}

}  // namespace

void DefineOperators(const SchemaDialect& dialect, Json& definitions) {
  DefineTensors(dialect, definitions);
  for (const OperatorInfo* info : Operators()) DefineOperator(dialect, *info, definitions);
  for (size_t i = 0; i < kActivationHosts; ++i) {
    DefineFusedActivations(dialect, static_cast<ActivationHost>(i), definitions);
  }
  Json any = ByType(dialect, OperatorNames(), [&](std::string_view name) {
    return Ref(dialect.Definition(FindOperator(name)->name));
  });
  any["then"] = WithTypeFields(dialect, any["then"]);
  definitions[dialect.Definition("operator")] = any;
}

}  // namespace dmlop
