#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/files/output.h"
#include "app/text/manual_page.h"
#include "app/text/operator_words.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/document/document_json.h"
#include "core/ops/groups.h"
#include "core/ops/operator.h"
#include "core/ops/other_names.h"

namespace dmlop {
namespace {

// One line for each group that the row says something of.
std::string RowText(const SupportRow& row, const std::vector<TensorGroup>& groups) {
  std::string text;
  for (const std::string& words : RowWords(row, groups)) {
    text += text.empty() ? fmt::format("  {}  {}\n", ToString(row.since), words)
                         : fmt::format("       {}\n", words);
  }
  return text;
}

std::string OtherNamesText(const OperatorInfo& info) {
  const OtherNames names = OtherNamesOf(info);
  std::string text;
  const auto add = [&](std::string_view library, const std::vector<std::string_view>& words) {
    if (!words.empty()) text += fmt::format("  {:<15} {}\n", library, fmt::join(words, ", "));
  };
  add("ONNX", names.onnx);
  add("WebNN", names.webnn);
  add("PyTorch", names.pytorch);
  return text.empty() ? "" : "\nNames elsewhere\n" + text;
}

std::string DescriptionText(const OperatorInfo& info, std::optional<FeatureLevel> level) {
  std::string text = fmt::format("{}{}: {}\n\nFields\n", kOperatorPrefix, info.name, info.summary);
  size_t width = 15;
  for (const Field* field : info.fields) width = std::max(width, field->name.size());
  for (const Field* field : info.fields) {
    text += fmt::format("  {:<{}} {}\n", field->name, width, TypeOf(*field));
  }
  text += OtherNamesText(info);
  text += "\nRules\n";
  for (const Rule& rule : info.rules) text += fmt::format("  {:<8} {}\n", rule.code, rule.text);
  text += "\nData types by feature level\n";
  const std::vector<TensorGroup> groups = GroupsOf(info);
  for (const SupportTable& table : info.support) {
    if (table.of != nullptr) text += fmt::format("  {}\n", AppliesTo(table));
    const auto rows = RowsOf(table, level);
    if (rows.empty()) text += fmt::format("  not available at {}\n", ToString(*level));
    for (const SupportRow& row : rows) text += RowText(row, groups);
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

// What a row says of each tensor field; those without types of their own have the first one's.
Json RowJson(const SupportTable& table, const SupportRow& row, const OperatorInfo& info) {
  Json json = {{"appliesTo", AppliesTo(table)},
               {"since", ToString(row.since)},
               {"minRank", row.min_rank},
               {"maxRank", row.max_rank}};
  const std::vector<const Field*> tensors = TensorFieldsOf(info);
  const auto types_of = [&](const Field& field) {
    const DataTypeSet own = row.TypesOf(field);
    return TypesJson(own.empty() ? row.TypesOf(tensors.front()->type) : own);
  };
  const Field& first = *tensors.front();
  const Field& output = **std::find_if(tensors.begin(), tensors.end(), [](const Field* field) {
    return field->role == TensorRole::kOutput;
  });
  json["input"] = first.role == TensorRole::kInput ? types_of(first) : Json::array();
  json["output"] = types_of(output);
  json["outputIsInputType"] = first.role == TensorRole::kInput &&
                              (output.type == first.type || row.TypesOf(output.type).empty());
  for (const Field* field : tensors) {
    const SupportRow::Ranks ranks = row.RanksOf(field->ranks);
    json["tensors"][std::string(field->name)] = {
        {"types", types_of(*field)}, {"minRank", ranks.min}, {"maxRank", ranks.max}};
  }
  return json;
}

Json DescriptionJson(const OperatorInfo& info, std::optional<FeatureLevel> level) {
  Json json = {{"name", info.name}, {"summary", info.summary}, {"inPlace", info.in_place}};
  json["fields"] = Json::array();
  for (const Field* field : info.fields) {
    json["fields"].push_back({{"name", field->name}, {"type", TypeOf(*field)}});
  }
  const OtherNames names = OtherNamesOf(info);
  json["otherNames"] = {{"onnx", names.onnx}, {"webnn", names.webnn}, {"pytorch", names.pytorch}};
  json["rules"] = Json::array();
  for (const Rule& rule : info.rules) {
    json["rules"].push_back({{"code", rule.code}, {"text", rule.text}});
  }
  json["support"] = Json::array();
  for (const SupportTable& table : info.support) {
    for (const SupportRow& row : RowsOf(table, level)) {
      json["support"].push_back(RowJson(table, row, info));
    }
  }
  return json;
}

std::string ManualPageOf(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OperatorGroup& group : OperatorGroups()) {
    if (group.name == name) return ManualPage(group);
    names.push_back(group.name);
  }
  throw Error(ErrorKind::kUsage, fmt::format("--manual {}: there is no such group of operators{}",
                                             name, DidYouMeanOneOf(name, names)));
}

// All operators, or those that another library has under a name; of a level, if it is given.
std::vector<const OperatorInfo*> Listed(const OpsOptions& options) {
  const auto of_level = [&](std::vector<const OperatorInfo*> listed) {
    std::erase_if(listed, [&](const OperatorInfo* info) {
      return options.level && std::all_of(info->support.begin(), info->support.end(),
                                          [&](const SupportTable& table) {
                                            return RowAt(table, *options.level) == nullptr;
                                          });
    });
    return listed;
  };
  if (options.like.empty()) return of_level({Operators().begin(), Operators().end()});
  const std::vector<const OperatorInfo*> like = OperatorsLike(options.like);
  if (like.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("no operator is called '{}' in ONNX, WebNN or PyTorch", options.like));
  }
  return of_level(like);
}

}  // namespace

ExitStatus OpsCommand(const OpsOptions& options) {
  if (!options.manual.empty()) {
    PrintResult(ManualPageOf(options.manual));
    return ExitStatus::kSuccess;
  }
  const bool json = options.format == TextFormat::kJson;
  if (options.name.empty()) {
    std::string text;
    Json list = Json::array();
    const std::vector<const OperatorInfo*> listed = Listed(options);
    size_t width = 0;
    for (const OperatorInfo* info : listed) width = std::max(width, info->name.size());
    for (const OperatorInfo* info : listed) {
      text += fmt::format("{:<{}} {}\n", info->name, width, info->summary);
      list.push_back(DescriptionJson(*info, options.level));
    }
    PrintResult(json ? Utf8Text(list, 2) + "\n" : text);
    return ExitStatus::kSuccess;
  }
  const OperatorInfo* info = FindOperator(options.name);
  if (info == nullptr) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is not one of dmlop's operators{}",
                                               options.name, DidYouMeanOperator(options.name)));
  }
  PrintResult(json ? Utf8Text(DescriptionJson(*info, options.level), 2) + "\n"
                   : DescriptionText(*info, options.level));
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
