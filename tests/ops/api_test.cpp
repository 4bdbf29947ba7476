// The fields of the operators against those of DirectML, field by field.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {
namespace {

struct ApiField {
  std::string name, kind, presence;

  friend bool operator==(const ApiField&, const ApiField&) = default;
  friend void PrintTo(const ApiField& field, std::ostream* out) {
    *out << field.name << " " << field.kind << " " << field.presence;
  }
};

std::map<std::string, std::vector<ApiField>> ReadApi() {
  std::ifstream file(DMLOP_TESTDATA "/api/fields.tsv");
  std::map<std::string, std::vector<ApiField>> api;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream cells(line);
    std::string name;
    ApiField field;
    std::getline(cells, name, '\t');
    std::getline(cells, field.name, '\t');
    std::getline(cells, field.kind, '\t');
    std::getline(cells, field.presence, '\t');
    api[name].push_back(field);
  }
  return api;
}

std::string KindOf(const Field& field) {
  const std::string role = field.role == TensorRole::kInput ? "in" : "out";
  switch (field.kind) {
    case FieldKind::kTensor:
      return role;
    case FieldKind::kTensors:
      return role + "[]";
    case FieldKind::kCount:
    case FieldKind::kUint:
      return "uint";
    case FieldKind::kInt:
      return "int";
    case FieldKind::kFloat:
      return "float";
    case FieldKind::kBool:
      return "bool";
    case FieldKind::kEnum: {  // "DML_REDUCE_FUNCTION_" is the prefix of its names
      const std::string prefix(field.names.prefix);
      return "enum " + prefix.substr(4, prefix.size() - 5);
    }
    case FieldKind::kDataType:
      return "enum TENSOR_DATA_TYPE";
    case FieldKind::kUints:
      return "uint[]";
    case FieldKind::kInts:
      return "int[]";
    case FieldKind::kFloats:
      return "float[]";
    case FieldKind::kScaleBias:
      return "scalebias";
    case FieldKind::kSize2d:
      return "size2d";
    case FieldKind::kScalar:
      return "scalar";
    case FieldKind::kActivation:
      return "op";
    case FieldKind::kActivations:
      return "op[]";
  }
  return "";
}

TEST(Api, FieldsAreThoseOfDirectMl) {
  const auto api = ReadApi();
  EXPECT_EQ(api.size(), 177u);
  for (const OperatorInfo* info : Operators()) {
    const auto found = api.find(std::string(info->name));
    ASSERT_NE(found, api.end()) << info->name;
    std::vector<ApiField> fields;
    for (const Field* field : info->fields) {
      fields.push_back(
          {std::string(field->name), KindOf(*field), field->optional ? "optional" : "required"});
    }
    EXPECT_EQ(fields, found->second) << info->name;
  }
}

// So that a message, a listing and a broken document can be found by it.
TEST(Api, EachRuleHasItsCodeOnce) {
  for (const OperatorInfo* info : Operators()) {
    std::map<std::string_view, int> count;
    for (const Rule& rule : info->rules) EXPECT_EQ(++count[rule.code], 1) << rule.code;
    EXPECT_TRUE(count.contains(info->type_rule)) << info->name;
  }
}

}  // namespace
}  // namespace dmlop
