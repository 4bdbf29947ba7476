// SPDX-License-Identifier: Apache-2.0
#include "core/schema/schema_parts.h"

#include <nlohmann/json.hpp>

#include "core/schema/reports.schema.json.h"

namespace dmlop {

namespace {

Json HasKey(const char* key) {
  return {{"required", {key}}};
}

// Matches a document with "dispatchables", or with another part of a model and no operator's type.
Json IsModel() {
  const Json has_part = {{"anyOf", {HasKey("resources"), HasKey("commands")}}};
  const Json has_type = {{"anyOf", {HasKey("type"), HasKey("Type")}}};
  const Json is_unfinished = {{"allOf", {has_part, {{"not", has_type}}}}};
  return {{"anyOf", {HasKey("dispatchables"), is_unfinished}}};
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
  const Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "dmlop documents"},
      {"description", "operator descriptors and DxDispatch models"},
      {"type", "object"},
      {"if", IsModel()},
      {"then", Ref("model")},
      {"else", Ref("operator")},
      {"$defs", definitions},
  };
  return Pretty(schema) + "\n";
}

}  // namespace dmlop
