#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/model/model_document.h"
#include "core/model/schema_bindings.h"
#include "core/model/schema_operator.h"
#include "core/model/schema_tensor.h"
#include "core/ops/field_visitor.h"

namespace dmlop {
namespace {

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

// The fields of an operator as properties, which of them must be there, and what must hold between
// them.
class FieldSchemas : public FieldVisitor {
 public:
  FieldSchemas(const SchemaDialect& dialect, std::span<const FieldLimits> limits)
      : dialect_(dialect), limits_(limits) {}

  template <typename E>
  void Enum(std::string_view name, std::string_view prefix, std::span<const std::string_view> names,
            E&) {
    Require(name, Names(prefix, names));
  }
  template <typename T>
  void Tensor(std::string_view name, TensorRole role, T&) {
    Imply(name, Ref(TensorDefinition(dialect_, role)));
  }
  template <typename T>
  void Tensors(std::string_view name, TensorRole role, T&) {
    const FieldLimits limits = LimitsOf(name, limits_);
    Imply(name, ArrayWithin(limits, dialect_.Optional(Ref(TensorDefinition(dialect_, role)))));
    Imply(count_, Integer(limits.min_count, limits.max_count));
    if (dialect_.is_model()) return;
    const Json few = dialect_.Optional(Integer(limits.min_count, kMaxImpliedTensors));
    rules_.push_back({{"anyOf", {dialect_.Present(name), {{"properties", {{count_, few}}}}}}});
  }
  template <typename C, typename A>
  void Count(std::string_view name, C&, A&) {
    count_ = name;
    properties_[count_] = {};  // its array, which comes next, has the limits
  }
  template <typename N>
  void Number(std::string_view name, N&) {
    Require(name, NumberWithin(LimitsOf(name, limits_)));
  }
  // All arrays of numbers of an operator have the same count.
  template <typename A>
  void Numbers(std::string_view name, A&) {
    const FieldLimits limits = LimitsOf(name, limits_);
    const Json array = ArrayWithin(limits, NumberWithin(limits));
    limits.min_count == 0 ? ImplyByCount(name, array) : Require(name, array);
    if (counted_.empty()) Imply(count_, Integer(limits.min_count, limits.max_count));
    counted_.push_back(limits);
  }
  template <typename S>
  void ScaleAndBias(std::string_view name, S&) {
    const Json number = Ref(dialect_.is_model() ? "number" : "float32");
    properties_[std::string(name)] = dialect_.Optional(
        dialect_.Object({{"Scale", number}, {"Bias", number}}, {"Scale", "Bias"}));
  }

  // An object with the fields and other members.
  Json Object(Json properties) const {
    properties.update(properties_);
    Json object = dialect_.Object(properties, required_);
    Json rules = rules_;
    AddCountRules(rules);
    if (!rules.empty()) object["allOf"] = rules;
    return object;
  }

 private:
  void Require(std::string_view name, const Json& schema) {
    properties_[std::string(name)] = schema;
    required_.push_back(name);
  }
  // What a bound file or the other fields may tell a descriptor.
  void Imply(std::string_view name, const Json& schema) {
    if (dialect_.is_model()) return Require(name, schema);
    properties_[std::string(name)] = dialect_.Optional(schema);
  }
  // An array that a count of 0 may stand for.
  void ImplyByCount(std::string_view name, const Json& schema) {
    Imply(name, schema);
    if (dialect_.is_model()) return;
    rules_.push_back({{"anyOf", {dialect_.Present(name), Has(count_, {{"const", 0}})}}});
  }
  void AddCountRules(Json& rules) const {
    if (counted_.empty()) return;
    const FieldLimits& first = counted_.front();
    for (uint32_t count = first.min_count; count <= first.max_count; ++count) {
      const Json of_count = {{"type", "array"}, {"minItems", count}, {"maxItems", count}};
      Json others = {{count_, dialect_.Optional({{"const", count}})}};
      for (const FieldLimits& array : std::span(counted_).subspan(1)) {
        others[std::string(array.field)] = of_count;
      }
      rules.push_back(IfThen(Has(first.field, of_count), {{"properties", others}}));
    }
  }

  const SchemaDialect& dialect_;
  std::span<const FieldLimits> limits_;
  Json properties_ = Json::object();
  Json required_ = Json::array();
  Json rules_ = Json::array();
  std::string count_;
  std::vector<FieldLimits> counted_;  // arrays of numbers
};

// --- what stands around the fields ---------------------------------------------------------------

void AddDescriptorMembers(const SchemaDialect& dialect, const std::vector<TensorField>& fields,
                          Json& around) {
  around["$schema"] = Json::object();
  around["bindings"] = BindingsSchema(dialect, fields);
}

void AddDispatchableMembers(const std::vector<TensorField>& fields, Json& around) {
  Json bind_points = Json::object();
  for (const TensorField& field : fields) bind_points[std::string(field.name)] = Ref("bind-point");
  around["bindings"] = {{"type", "object"}, {"properties", bind_points}};
  around["dmlCompileType"] = Names("", kDmlCompileTypes);
  around["executionFlags"] = ItemOrArray(Names(kExecutionFlagPrefix, kExecutionFlags));
}

// --- operators -----------------------------------------------------------------------------------

// The fields stand in "Desc", in "desc", or beside the type.
void DefineOperator(const SchemaDialect& dialect, std::string_view name, Json& definitions) {
  const OperatorDesc desc = *MakeOperator(name);
  const auto fields = VisitAllFields(desc, FieldSchemas(dialect, Limits(desc)));
  const auto tensors = TensorFieldsOf(desc);
  const std::string inner = dialect.Definition(fmt::format("{}-fields", name));
  definitions[inner] = fields.Object(Json::object());

  Json around = {{"type", true}, {"Type", true}};
  if (dialect.is_model()) {
    AddDispatchableMembers(tensors, around);
  } else {
    AddDescriptorMembers(dialect, tensors, around);
  }
  const auto with_fields_in = [&](const Json& upper, const Json& lower) {
    Json members = around;
    members["Desc"] = upper;
    members["desc"] = lower;
    return members;
  };
  const Json other = dialect.NotCounting();
  Json schema = {
      {"if", dialect.Present("Desc")},
      {"then", dialect.Object(with_fields_in(Ref(inner), other), Json::array())},
      {"else",
       {{"if", dialect.Present("desc")},
        {"then", dialect.Object(with_fields_in(other, Ref(inner)), Json::array())},
        {"else", fields.Object(with_fields_in(other, other))}}},
  };
  if (!dialect.is_model()) schema["allOf"] = BindingRules(tensors);
  definitions[dialect.Definition(name)] = schema;
}

// An operator whose type is under `key`.
Json OperatorByType(const SchemaDialect& dialect, const char* key, const char* other_key) {
  Json choices = Json::array();
  for (const std::string_view name : OperatorNames()) {
    choices.push_back(
        IfThen(Has(key, OneName(kOperatorPrefix, name)), Ref(dialect.Definition(name))));
  }
  return {{"properties",
           {{key, Names(kOperatorPrefix, OperatorNames())}, {other_key, dialect.NotCounting()}}},
          {"required", {key}},
          {"allOf", choices}};
}

}  // namespace

void DefineOperators(const SchemaDialect& dialect, Json& definitions) {
  DefineTensors(dialect, definitions);
  for (const std::string_view name : OperatorNames()) DefineOperator(dialect, name, definitions);
  definitions[dialect.Definition("operator")] = {{"type", "object"},
                                                 {"if", dialect.Present("Type")},
                                                 {"then", OperatorByType(dialect, "Type", "type")},
                                                 {"else", OperatorByType(dialect, "type", "Type")}};
}

}  // namespace dmlop
