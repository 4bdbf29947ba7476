#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/files/output.h"
#include "core/base/error.h"
#include "core/document/document_json.h"
#include "core/ops/operator.h"
#include "core/ops/other_names.h"
#include "core/schema/schema_text.h"

namespace dmlop {
namespace {

// What a field is, in words.
std::string KindOf(const Field& field) {
  const std::string_view direction = field.role == TensorRole::kInput ? "input" : "output";
  switch (field.kind) {
    case FieldKind::kTensor:
      return fmt::format("{} tensor", direction);
    case FieldKind::kTensors:
      return fmt::format("array of {} tensors", direction);
    case FieldKind::kCount:
      return "UINT, may be left out";
    case FieldKind::kUint:
      return "UINT";
    case FieldKind::kInt:
      return "INT";
    case FieldKind::kFloat:
      return "FLOAT";
    case FieldKind::kBool:
      return "BOOL";
    case FieldKind::kEnum:
      return fmt::format("one of {}", fmt::join(field.names.names, ", "));
    case FieldKind::kDataType:
      return "data type, may be left out";
    case FieldKind::kUints:
      return "array of UINT";
    case FieldKind::kInts:
      return "array of INT";
    case FieldKind::kFloats:
      return "array of FLOAT";
    case FieldKind::kScaleBias:
      return "{\"Scale\": FLOAT, \"Bias\": FLOAT}";
    case FieldKind::kSize2d:
      return "{\"Width\": UINT, \"Height\": UINT}";
    case FieldKind::kScalar:
      return "number of the data type";
    case FieldKind::kActivation:
      return "activation operator without tensors";
    case FieldKind::kActivations:
      return "array of activation operators without tensors";
  }
  return "";
}

std::string TypeOf(const Field& field) {
  return KindOf(field) + (field.optional ? ", may be left out" : "");
}

// The rows to list: all, or the one in force at `level`.
std::vector<SupportRow> RowsOf(const SupportTable& table, std::optional<FeatureLevel> level) {
  if (!level) return {table.rows.begin(), table.rows.end()};
  const SupportRow* row = RowAt(table, *level);
  return row == nullptr ? std::vector<SupportRow>() : std::vector{*row};
}

// "ARGMIN, ARGMAX"; empty for the whole operator.
std::string AppliesTo(const SupportTable& table) {
  std::vector<std::string_view> names;
  if (table.of == nullptr) return "";
  for (uint32_t value = 0; value < table.of->names.names.size(); ++value) {
    if (table.Holds(value)) names.push_back(table.of->names.names[value]);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string RanksText(const SupportRow::Ranks& ranks) {
  return ranks.min == ranks.max ? fmt::format("rank {}", ranks.min)
                                : fmt::format("ranks {} to {}", ranks.min, ranks.max);
}

// The fields that have the same types and ranks at every level, each kind with its first one.
struct TensorGroup {
  std::vector<std::string_view> names;
  const Field* first;
};
std::vector<TensorGroup> GroupsOf(const OperatorInfo& info) {
  std::vector<TensorGroup> groups;
  for (const Field* field : TensorFieldsOf(info)) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const TensorGroup& group) {
      return group.first->type == field->type &&
             group.first->other_entries == field->other_entries &&
             group.first->ranks == field->ranks;
    });
    if (same != groups.end()) {
      same->names.push_back(field->name);
    } else {
      groups.push_back({{field->name}, field});
    }
  }
  return groups;
}

// One line for each group that the row says something of.
std::string RowText(const SupportRow& row, const std::vector<TensorGroup>& groups) {
  std::string text;
  for (const TensorGroup& group : groups) {
    const DataTypeSet types = row.TypesOf(*group.first);
    if (types.empty()) continue;
    const SupportRow::Ranks ranks = row.RanksOf(group.first->ranks);
    if (text.empty()) {
      text = fmt::format("  {}  {}: {}\n", ToString(row.since), RanksText(ranks), ToString(types));
      continue;
    }
    const bool has_own_ranks = ranks.min != row.min_rank || ranks.max != row.max_rank;
    text += fmt::format("       {}{}: {}\n", fmt::join(group.names, ", "),
                        has_own_ranks ? ", " + RanksText(ranks) : "", ToString(types));
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

ExitStatus SchemaCommand() {
  PrintResult(SchemaText());
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
