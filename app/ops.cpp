#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/output.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/document/document_json.h"
#include "core/model/schema_text.h"
#include "core/ops/field_visitor.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

struct Field {
  std::string name;
  std::string type;
};

struct FieldLister : FieldVisitor {
  std::vector<Field> fields;

  void Add(std::string_view name, std::string type) {
    fields.push_back({std::string(name), std::move(type)});
  }
  static std::string_view Direction(TensorRole role) {
    return role == TensorRole::kInput ? "input" : "output";
  }

  template <typename E>
  void Enum(std::string_view name, std::string_view, std::span<const std::string_view> names, E&) {
    Add(name, fmt::format("one of {}", fmt::join(names, ", ")));
  }
  template <typename T>
  void Tensor(std::string_view name, TensorRole role, T&) {
    Add(name, fmt::format("{} tensor", Direction(role)));
  }
  template <typename T>
  void Tensors(std::string_view name, TensorRole role, T&) {
    Add(name, fmt::format("array of {} tensors", Direction(role)));
  }
  template <typename C, typename A>
  void Count(std::string_view name, C&, A&) {
    Add(name, "UINT, may be left out");
  }
  template <typename N>
  void Number(std::string_view name, N&) {
    Add(name, "UINT");
  }
  template <typename A>
  void Numbers(std::string_view name, A&) {
    Add(name, "array of UINT");
  }
  template <typename S>
  void ScaleAndBias(std::string_view name, S&) {
    Add(name, "{\"Scale\": FLOAT, \"Bias\": FLOAT}, may be left out");
  }
};

std::vector<Field> FieldsOf(const OperatorDesc& desc) {
  return VisitAllFields(desc, FieldLister()).fields;
}

// The rows to list: all, or the one in force at `level`.
std::vector<SupportRow> RowsOf(const SupportTable& table, std::optional<FeatureLevel> level) {
  if (!level) return {table.rows.begin(), table.rows.end()};
  const SupportRow* row = RowAt(table, *level);
  return row == nullptr ? std::vector<SupportRow>() : std::vector{*row};
}

std::string RanksText(const SupportRow& row) {
  return row.min_rank == row.max_rank ? fmt::format("rank {}", row.min_rank)
                                      : fmt::format("ranks {} to {}", row.min_rank, row.max_rank);
}

std::string DescriptionText(const OperatorDesc& desc, std::optional<FeatureLevel> level) {
  std::string text =
      fmt::format("{}{}: {}\n\nFields\n", kOperatorPrefix, Name(desc), Summary(desc));
  for (const Field& field : FieldsOf(desc)) {
    text += fmt::format("  {:<15} {}\n", field.name, field.type);
  }
  text += "\nRules\n";
  for (const Rule& rule : Rules(desc)) text += fmt::format("  {:<8} {}\n", rule.code, rule.text);
  text += "\nData types by feature level\n";
  for (const SupportTable& table : SupportTables(desc)) {
    if (!table.applies_to.empty()) text += fmt::format("  {}\n", table.applies_to);
    const auto rows = RowsOf(table, level);
    if (rows.empty()) text += fmt::format("  not available at {}\n", ToString(*level));
    for (const SupportRow& row : rows) {
      text +=
          fmt::format("  {}  {}: {}\n", ToString(row.since), RanksText(row), ToString(row.input));
      if (!row.output.empty()) text += fmt::format("       output: {}\n", ToString(row.output));
    }
  }
  return text;
}

Json TypesJson(DataTypeSet set) {
  Json array = Json::array();
  for (size_t i = 0; i < DataTypeNames().size(); ++i) {
    if (set.Contains(static_cast<DataType>(i))) array.push_back(DataTypeNames()[i]);
  }
  return array;
}

Json DescriptionJson(const OperatorDesc& desc, std::optional<FeatureLevel> level) {
  Json json = {{"name", Name(desc)}, {"summary", Summary(desc)}};
  json["fields"] = Json::array();
  for (const Field& field : FieldsOf(desc)) {
    json["fields"].push_back({{"name", field.name}, {"type", field.type}});
  }
  json["rules"] = Json::array();
  for (const Rule& rule : Rules(desc)) {
    json["rules"].push_back({{"code", rule.code}, {"text", rule.text}});
  }
  json["support"] = Json::array();
  for (const SupportTable& table : SupportTables(desc)) {
    for (const SupportRow& row : RowsOf(table, level)) {
      json["support"].push_back({{"appliesTo", table.applies_to},
                                 {"since", ToString(row.since)},
                                 {"minRank", row.min_rank},
                                 {"maxRank", row.max_rank},
                                 {"input", TypesJson(row.input)},
                                 {"output", TypesJson(row.output.empty() ? row.input : row.output)},
                                 {"outputIsInputType", row.output.empty()}});
    }
  }
  return json;
}

}  // namespace

ExitStatus OpsCommand(const OpsOptions& options) {
  const bool json = options.format == TextFormat::kJson;
  if (options.name.empty()) {
    std::string text;
    Json list = Json::array();
    for (const std::string_view name : OperatorNames()) {
      const OperatorDesc desc = *MakeOperator(name);
      text += fmt::format("{:<22} {}\n", name, Summary(desc));
      list.push_back(DescriptionJson(desc, options.level));
    }
    PrintResult(json ? Utf8Text(list, 2) + "\n" : text);
    return ExitStatus::kSuccess;
  }
  const auto desc = MakeOperator(options.name);
  if (!desc) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is not one of dmlop's operators{}", options.name,
                            DidYouMean(options.name, OperatorNames())));
  }
  PrintResult(json ? Utf8Text(DescriptionJson(*desc, options.level), 2) + "\n"
                   : DescriptionText(*desc, options.level));
  return ExitStatus::kSuccess;
}

ExitStatus SchemaCommand() {
  PrintResult(SchemaText());
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
