// SPDX-License-Identifier: Apache-2.0
#include "app/text/operator_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dmlop {
namespace {

// The kind of a field in words.
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

}  // namespace

std::string TypeOf(const Field& field) {
  return KindOf(field) + (field.optional ? ", may be left out" : "");
}

std::string ArgumentWords(const OperatorInfo& info, const Field& field,
                          const Libraries& libraries) {
  const Argument argument = ArgumentOf(info, field);
  std::vector<std::pair<std::string_view, std::string_view>> there;
  if (libraries.onnx) there.emplace_back("ONNX", argument.onnx);
  if (libraries.webnn) there.emplace_back("WebNN", argument.webnn);
  if (libraries.pytorch) there.emplace_back("PyTorch", argument.pytorch);
  const bool is_one = there.size() == 1;
  std::vector<std::string> words;
  for (const auto& [library, name] : there) {
    if (name.empty()) continue;
    words.push_back(is_one ? std::string(name) : fmt::format("{} {}", library, name));
  }
  std::string text = fmt::format("{}", fmt::join(words, ", "));
  if (!there.empty() && !argument.note.empty()) {
    text += (text.empty() ? "" : "; ") + std::string(argument.note);
  }
  return text;
}

std::vector<LibraryNames> NamesByLibrary(const OperatorInfo& info) {
  const OtherNames names = OtherNamesOf(info);
  std::vector<LibraryNames> libraries = {
      {"ONNX", names.onnx}, {"WebNN", names.webnn}, {"PyTorch", names.pytorch}};
  std::erase_if(libraries, [](const LibraryNames& library) { return library.names.empty(); });
  return libraries;
}

std::vector<SupportRow> RowsOf(const SupportTable& table, std::optional<FeatureLevel> level) {
  if (!level) return {table.rows.begin(), table.rows.end()};
  const SupportRow* row = RowAt(table, *level);
  return row == nullptr ? std::vector<SupportRow>() : std::vector{*row};
}

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

std::vector<std::string> RowWords(const SupportRow& row, const std::vector<TensorGroup>& groups) {
  std::vector<std::string> words;
  for (const TensorGroup& group : groups) {
    const DataTypeSet types = row.TypesOf(*group.first);
    if (types.empty()) continue;
    const SupportRow::Ranks ranks = row.RanksOf(group.first->ranks);
    if (words.empty()) {
      words.push_back(fmt::format("{}: {}", RanksText(ranks), ToString(types)));
      continue;
    }
    const bool has_own_ranks = ranks.min != row.min_rank || ranks.max != row.max_rank;
    words.push_back(fmt::format("{}{}: {}", fmt::join(group.names, ", "),
                                has_own_ranks ? ", " + RanksText(ranks) : "", ToString(types)));
  }
  return words;
}

}  // namespace dmlop
