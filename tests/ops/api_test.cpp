// SPDX-License-Identifier: Apache-2.0
// The fields of the operators and what each feature level supports, compared with DirectML's.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/ops/operator.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

struct ApiField {
  std::string name, kind, presence;

  friend bool operator==(const ApiField&, const ApiField&) = default;
  friend void PrintTo(const ApiField& field, std::ostream* out) {
    *out << field.name << " " << field.kind << " " << field.presence;
  }
};

using Cells = std::vector<std::string>;

Cells Split(const std::string& text, char separator) {
  Cells cells;
  std::istringstream stream(text);
  for (std::string cell; std::getline(stream, cell, separator);) cells.push_back(cell);
  return cells;
}

std::vector<Cells> ReadTable(const std::string& name) {
  std::ifstream file(DMLOP_TESTDATA "/api/" + name);
  std::vector<Cells> table;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) table.push_back(Split(line, '\t'));
  }
  return table;
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
    case FieldKind::kEnum: {  // the prefix of its names is "DML_REDUCE_FUNCTION_"
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
  std::map<std::string, std::vector<ApiField>> api;
  for (const Cells& row : ReadTable("fields.tsv")) api[row[0]].push_back({row[1], row[2], row[3]});
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

// --- feature levels ------------------------------------------------------------------------------

// By field, such as "4-5: FLOAT32, FLOAT16". Empty if the level does not have the operator.
using Support = std::map<std::string, std::string>;

// The pages' statements, by operator and function, such as "REDUCE SUM", and by the first level of
// a row.
using ApiSupport = std::map<std::string, std::map<FeatureLevel, Support>>;

DataTypeSet TypesNamed(const std::string& names) {
  DataTypeSet set;
  for (const std::string& name : Split(names, ' ')) {
    const auto known = DataTypeNames();
    const auto found = std::find(known.begin(), known.end(), name);
    EXPECT_NE(found, known.end()) << name;
    set = set | DataTypeSet{static_cast<DataType>(found - known.begin())};
  }
  return set;
}

ApiSupport ReadSupport() {
  ApiSupport api;
  for (const Cells& row : ReadTable("support.tsv")) {
    Support support;
    const std::string ranks =
        row[3].find('-') == std::string::npos ? row[3] + "-" + row[3] : row[3];
    for (size_t i = 4; i < row.size(); ++i) {
      const size_t colon = row[i].find(": ");
      const std::string types = ToString(TypesNamed(row[i].substr(colon + 2)));
      for (const std::string& field : Split(row[i].substr(0, colon), ',')) {
        const size_t at = field.find('@');
        support[field.substr(0, at)] =
            (at == std::string::npos ? ranks : field.substr(at + 1)) + ": " + types;
      }
    }
    for (const std::string& function : Split(row[1], ' ')) {
      api[row[0] + " " + function][*ParseFeatureLevel(row[2])] = support;
    }
  }
  return api;
}

// A type variable without types has those of the first tensor.
Support SupportAt(const SupportTable& table, const OperatorInfo& info, FeatureLevel level) {
  Support support;
  const SupportRow* row = RowAt(table, level);
  if (row == nullptr) return support;
  const std::vector<const Field*> tensors = TensorFieldsOf(info);
  for (const Field* field : tensors) {
    const DataTypeSet own = row->TypesOf(*field);
    const DataTypeSet types = own.empty() ? row->TypesOf(tensors.front()->type) : own;
    const SupportRow::Ranks ranks = row->RanksOf(field->ranks);
    support[std::string(field->name)] =
        fmt::format("{}-{}: {}", ranks.min, ranks.max, ToString(types));
  }
  return support;
}

void ExpectSupport(const std::string& name, const SupportTable& table, const OperatorInfo& info,
                   const ApiSupport& api) {
  const auto rows = api.find(name);
  ASSERT_NE(rows, api.end()) << name << " is missing in testdata/api/support.tsv";
  for (const FeatureLevel level : FeatureLevels()) {
    const auto next = rows->second.upper_bound(level);
    const Support expected = next == rows->second.begin() ? Support() : std::prev(next)->second;
    EXPECT_EQ(SupportAt(table, info, level), expected) << name << " at " << ToString(level);
  }
}

TEST(Api, LevelsTakeWhatThePagesSay) {
  const ApiSupport api = ReadSupport();
  for (const OperatorInfo* info : Operators()) {
    std::map<std::string, const SupportTable*> tables;
    for (const SupportTable& table : SupportOf(*info)) {
      if (table.of == nullptr) tables["-"] = &table;
      for (uint32_t i = 0; table.of != nullptr && i < table.of->names.names.size(); ++i) {
        if (!table.Holds(i)) continue;
        const std::string function(table.of->names.names[i]);
        EXPECT_TRUE(tables.emplace(function, &table).second) << function << " has two tables";
      }
    }
    for (const auto& [function, table] : tables) {
      ExpectSupport(fmt::format("{} {}", info->name, function), *table, *info, api);
    }
  }
}

// Messages, listings and broken documents refer to rules by their codes.
TEST(Api, EachRuleHasItsCodeOnce) {
  for (const OperatorInfo* info : Operators()) {
    std::map<std::string_view, int> count;
    for (const Rule& rule : RulesOf(*info)) EXPECT_EQ(++count[rule.code], 1) << rule.code;
    EXPECT_TRUE(count.contains(info->type_rule)) << info->name;
  }
}

}  // namespace
}  // namespace dmlop
