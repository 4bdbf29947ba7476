// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <nlohmann/json.hpp>

#include "core/schema/schema_parts.h"

namespace dmlop {
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
    const Json of_rank = {{"type", "array"}, {"minItems", rank}, {"maxItems", rank}};
    const Json strides = {{"anyOf", {of_rank, {{"maxItems", 0}}}}};  // none means packed
    ranks.push_back(IfThen(
        Has("Sizes", of_rank),
        {{"properties",
          {{"DimensionCount", dialect.Optional({{"const", rank}})}, {"Strides", strides}}}}));
  }
  return {{"allOf", ranks}};
}

Json Fields(const SchemaDialect& dialect, TensorRole role) {
  Json total = Ref("uint64");
  total["multipleOf"] = 4;
  return {
      {"DataType", dialect.Optional(Ref("data-type"))},
      {"Sizes", dialect.Optional(Dimensions(Integer(1, kMaxUint32), 1))},
      {"Strides", dialect.Optional(Dimensions(Ref("uint32"), 0))},
      {"DimensionCount", dialect.Optional(Integer(1, kMaxRank))},
      {"Flags", dialect.Optional(Flags(role))},
      {"TotalTensorSizeInBytes", dialect.Optional(total)},
      {"GuaranteedBaseOffsetAlignment", dialect.Optional(Alignments())},
  };
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
  return OfTensor({{"type", "object"},
                   {"properties", {{"DataType", NotNull()}, {"Sizes", NotNull()}}},
                   {"required", {"DataType", "Sizes"}}});
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
