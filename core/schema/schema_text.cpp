// SPDX-License-Identifier: Apache-2.0
#include "core/schema/schema_parts.h"

#include <nlohmann/json.hpp>

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
  DefineReports(definitions);
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

// --- reports -------------------------------------------------------------------------------------

// The schema of what `batch --report` writes for a case, and of what `diagnose` prints.

void DefineReports(Json& definitions) {
  static constexpr const char* kDefinitions = R"json({
"count": {"type": "integer", "minimum": 0},
"found-number": {"description": "nan, inf and -inf are strings", "type": ["number", "string"]},
"reported-file": {
  "type": "object",
  "required": ["tensor", "path", "sha256"],
  "properties": {"tensor": {"type": "string"}, "path": {"type": "string"},
                 "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}},
"value-classes": {
  "type": "array",
  "items": {"type": "object", "required": ["id", "count"],
            "properties": {"id": {"type": "string"}, "text": {"type": "string"},
                           "count": {"$ref": "#/$defs/count"}},
            "additionalProperties": false}},
"place": {
  "type": "object", "required": ["box", "text"],
  "properties": {"box": {"type": "string"}, "text": {"type": "string"}},
  "additionalProperties": false},
"error-figures": {
  "type": ["object", "null"], "required": ["median", "p99", "max"],
  "additionalProperties": {"$ref": "#/$defs/found-number"}},
"histogram": {
  "type": "array",
  "items": {"type": "object", "required": ["count"],
            "additionalProperties": {"$ref": "#/$defs/found-number"}}},
"comparison": {
  "description": "an output beside a file",
  "type": "object",
  "required": ["tensor", "role", "equal"],
  "properties": {
    "tensor": {"type": "string"}, "path": {"type": "string"}, "sha256": {"type": "string"},
    "role": {"enum": ["actual", "expected"]}, "equal": {"type": "boolean"},
    "allowed": {"$ref": "#/$defs/count"}, "mismatch": {"type": "string"},
    "dataType": {"type": "string"}, "expectedDataType": {"type": "string"},
    "sizes": {"type": "array", "items": {"$ref": "#/$defs/count"}},
    "elementCount": {"$ref": "#/$defs/count"}, "differenceCount": {"$ref": "#/$defs/count"},
    "nanMismatches": {"$ref": "#/$defs/count"}, "infinityMismatches": {"$ref": "#/$defs/count"},
    "maxAbsoluteError": {"$ref": "#/$defs/found-number"},
    "maxRelativeError": {"$ref": "#/$defs/found-number"},
    "maxUlpError": {"$ref": "#/$defs/count"}, "medianUlpError": {"$ref": "#/$defs/count"},
    "p99UlpError": {"$ref": "#/$defs/count"}, "ulpHistogram": {"$ref": "#/$defs/histogram"},
    "actualSubnormals": {"$ref": "#/$defs/count"}, "expectedSubnormals": {"$ref": "#/$defs/count"},
    "where": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
    "classes": {"$ref": "#/$defs/value-classes"},
    "units": {"type": "object", "required": ["median", "p99", "max"],
              "properties": {"histogram": {"$ref": "#/$defs/histogram"}},
              "additionalProperties": {"$ref": "#/$defs/found-number"}},
    "terms": {"$ref": "#/$defs/count"}, "tolerance": {"type": "object"},
    "smallestPassingUlp": {"type": ["integer", "null"]},
    "headroom": {"type": ["number", "string", "null"]},
    "worst": {"type": ["object", "null"]}, "worstFinite": {"type": ["object", "null"]},
    "differences": {"type": "array", "items": {"type": "object"}},
    "bias": {"type": "object", "required": ["above", "below", "towardZero"],
             "additionalProperties": {"$ref": "#/$defs/count"}},
    "map": {"type": "object", "required": ["rows", "columns", "differenceCounts"]}},
  "additionalProperties": false,
  "if": {"required": ["mismatch"]},
  "then": {"required": ["classes"], "properties": {"equal": {"const": false}}},
  "else": {"required": ["dataType", "sizes", "elementCount", "differenceCount", "tolerance"]}},
"diagnosis": {
  "description": "what diagnose says of an output",
  "type": "object",
  "required": ["name", "elements", "different", "beyondNoise", "errors", "where", "classes",
               "verdict", "causes"],
  "properties": {
    "name": {"type": "string"}, "elements": {"$ref": "#/$defs/count"},
    "different": {"$ref": "#/$defs/count"}, "beyondNoise": {"$ref": "#/$defs/count"},
    "errors": {"type": "object",
               "properties": {"ulp": {"$ref": "#/$defs/error-figures"},
                              "units": {"$ref": "#/$defs/error-figures"},
                              "terms": {"type": ["integer", "null"]},
                              "towardZero": {"type": ["number", "null"]}}},
    "where": {"$ref": "#/$defs/place"}, "classes": {"$ref": "#/$defs/value-classes"},
    "verdict": {"enum": ["equal", "noise", "cause", "unknown"]}, "mismatch": {"type": "string"},
    "causes": {
      "type": "array",
      "items": {"type": "object",
                "required": ["ids", "text", "explains", "of", "exact", "sampled", "same", "check"],
                "properties": {
                  "ids": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                  "text": {"type": "string"}, "explains": {"$ref": "#/$defs/count"},
                  "of": {"$ref": "#/$defs/count"}, "exact": {"$ref": "#/$defs/count"},
                  "sampled": {"type": "boolean"}, "check": {"type": "string"},
                  "same": {"type": "array", "items": {"type": "string"}}}}}},
  "additionalProperties": false},
"report-line": {
  "description": "a line of batch --report, which dmlop report reads",
  "type": "object",
  "required": ["line", "dmlop", "status", "exitStatus", "inputs", "outputs"],
  "properties": {
    "line": {"type": "integer", "minimum": 1}, "dmlop": {"type": "string"},
    "name": {"type": "string"}, "operator": {"type": "string"}, "descriptor": {"type": "object"},
    "status": {"enum": ["done", "up-to-date", "different", "failed", "missing"]},
    "exitStatus": {"enum": [0, 1, 2, 3, 4, 5, 70]}, "missing": {"$ref": "#/$defs/count"},
    "inputs": {"type": "array", "items": {"$ref": "#/$defs/reported-file"}},
    "outputs": {"type": "array", "items": {"$ref": "#/$defs/reported-file"}},
    "comparisons": {"type": "array", "items": {"$ref": "#/$defs/comparison"}},
    "diagnoses": {"type": "array", "items": {"$ref": "#/$defs/diagnosis"}},
    "seconds": {"type": "object", "properties": {"load": {"type": "number"},
                                                 "run": {"type": "number"}}},
    "warnings": {"type": "array", "items": {"type": "string"}}, "error": {"type": "string"}},
  "additionalProperties": false}
})json";
  definitions.update(Json::parse(kDefinitions));
}

}  // namespace dmlop
