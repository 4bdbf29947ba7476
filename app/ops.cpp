// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "app/commands.h"
#include "app/files/output.h"
#include "app/text/operator_words.h"
#include "app/text/table_text.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/document/document_json.h"
#include "core/ops/operator.h"
#include "core/ops/words.h"
#include "core/schema/schema_parts.h"

namespace dmlop {
namespace {

// A name in its own column with text beside it, or below it if the terminal is too narrow.
std::string Listed(std::string_view name, size_t width, std::string_view text) {
  constexpr size_t kLeast = 24;
  const size_t columns = TextColumns();
  const bool fits = width + 1 + kLeast <= columns;
  const size_t margin = fits ? width + 1 : 4;
  const std::string blanks(margin, ' ');
  const std::string below = name.empty() ? blanks : "\n" + blanks;
  return fmt::format("{:<{}}{}{}\n", name, fits ? margin : 0, fits ? "" : below,
                     WrappedText(text, columns - margin, blanks));
}

// One line for each group of tensors that the row describes.
std::string RowText(const SupportRow& row, const std::vector<TensorGroup>& groups) {
  std::string text;
  for (const std::string& words : RowWords(row, groups)) {
    text += Listed(text.empty() ? "  " + ToString(row.since) : "", 6, words);
  }
  return text;
}

std::string FieldText(const OperatorInfo& info, const Field& field, size_t width) {
  const std::string elsewhere = ArgumentWords(info, field);
  std::string text = Listed(fmt::format("  {}", field.name), width, TypeOf(field)) +
                     Listed("", width, MeaningOf(info, field));
  if (!elsewhere.empty()) text += Listed("", width, "Elsewhere: " + elsewhere);
  return text;
}

std::string FieldsText(const OperatorInfo& info) {
  size_t width = 15;
  for (const Field* field : info.fields) width = std::max(width, field->name.size());
  std::string text;
  for (const Field* field : info.fields) text += FieldText(info, *field, width + 2);
  return text;
}

std::string NamesElsewhereText(const OperatorInfo& info) {
  std::string text;
  for (const auto& [library, names] : NamesByLibrary(info)) {
    text += Listed(fmt::format("  {}", library), 17, fmt::format("{}", fmt::join(names, ", ")));
  }
  return text.empty() ? "" : "\nNames elsewhere\n" + text;
}

std::string SupportText(const OperatorInfo& info, std::optional<FeatureLevel> level) {
  std::string text;
  const std::vector<TensorGroup> groups = GroupsOf(info);
  for (const SupportTable& table : SupportOf(info)) {
    if (table.of != nullptr) text += Listed("", 1, AppliesTo(table));
    const auto rows = RowsOf(table, level);
    if (rows.empty()) text += fmt::format("  not available at {}\n", ToString(*level));
    for (const SupportRow& row : rows) text += RowText(row, groups);
  }
  return text;
}

std::string DescriptionText(const OperatorInfo& info, std::optional<FeatureLevel> level) {
  std::string text =
      WrappedText(fmt::format("{}{}: {}", kOperatorPrefix, info.name, SummaryOf(info)),
                  TextColumns(), "    ") +
      "\n\nFields\n" + FieldsText(info) + NamesElsewhereText(info) + "\nRules\n";
  for (const Rule& rule : RulesOf(info))
    text += Listed(fmt::format("  {}", rule.code), 10, rule.text);
  return text + "\nData types by feature level\n" + SupportText(info, level) + "\nExample\n" +
         ExampleText(info);
}

Json TypesJson(DataTypeSet set) {
  Json array = Json::array();
  for (size_t i = 0; i < DataTypeNames().size(); ++i) {
    if (set.Contains(static_cast<DataType>(i))) array.push_back(DataTypeNames()[i]);
  }
  return array;
}

// The types of the first tensor field and of the output, which may have only the first field's.
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
  Json json = {{"name", info.name}, {"summary", SummaryOf(info)}, {"inPlace", info.in_place}};
  json["fields"] = Json::array();
  for (const Field* field : info.fields) {
    const Argument argument = ArgumentOf(info, *field);
    json["fields"].push_back({{"name", field->name},
                              {"type", TypeOf(*field)},
                              {"meaning", MeaningOf(info, *field)},
                              {"arguments",
                               {{"onnx", argument.onnx},
                                {"webnn", argument.webnn},
                                {"pytorch", argument.pytorch},
                                {"note", argument.note}}}});
  }
  const OtherNames names = OtherNamesOf(info);
  json["otherNames"] = {{"onnx", names.onnx}, {"webnn", names.webnn}, {"pytorch", names.pytorch}};
  json["rules"] = Json::array();
  for (const Rule& rule : RulesOf(info)) {
    json["rules"].push_back({{"code", rule.code}, {"text", rule.text}});
  }
  json["support"] = Json::array();
  for (const SupportTable& table : SupportOf(info)) {
    for (const SupportRow& row : RowsOf(table, level)) {
      json["support"].push_back(RowJson(table, row, info));
    }
  }
  json["example"] = ExampleJson(info);
  return json;
}

std::string ManualPageOf(std::string_view name) {
  if (name == kOnnxPage) return OnnxManualPage();
  std::vector<std::string_view> names;
  for (const OperatorGroup& group : OperatorGroups()) {
    if (group.name == name) return ManualPage(group);
    names.push_back(group.name);
  }
  throw Error(ErrorKind::kUsage, "--manual {}: there is no such group of operators{}", name,
              DidYouMeanOneOf(name, names));
}

// Shows the page with man on a terminal.
void ShowManualPage(const std::string& page) {
  FILE* man = isatty(STDOUT_FILENO) == 0
                  ? nullptr
                  : popen("if command -v man > /dev/null; then man -l -; else cat; fi", "w");
  if (man == nullptr) return PrintResult(page);
  fputs(page.c_str(), man);
  pclose(man);
}

bool IsAt(const OperatorInfo& info, std::optional<FeatureLevel> level) {
  return !level || std::ranges::any_of(SupportOf(info), [&](const SupportTable& table) {
    return RowAt(table, *level) != nullptr;
  });
}

std::string ListText(const std::vector<const OperatorInfo*>& operators) {
  size_t width = 0;
  for (const OperatorInfo* info : operators) width = std::max(width, info->name.size());
  std::string text;
  for (const OperatorInfo* info : operators) text += Listed(info->name, width, SummaryOf(*info));
  return text;
}

// The fields of an operator with their counterparts in other libraries.
std::string ArgumentsText(const OperatorInfo& info, const Libraries& libraries) {
  size_t width = 0;
  for (const Field* field : info.fields) width = std::max(width, field->name.size());
  std::string text;
  for (const Field* field : info.fields) {
    const std::string words = ArgumentWords(info, *field, libraries);
    if (!words.empty()) text += Listed(fmt::format("  {}", field->name), width + 2, words);
  }
  return text.empty() ? "" : fmt::format("\n{}:\n{}", info.name, text);
}

std::string NoteText(std::string_view note) {
  return note.empty() ? "" : "\n" + WrappedText(note, TextColumns(), "") + "\n";
}

// `note` is about all operators, and `behind` follows in text only.
void PrintOperators(const std::vector<const OperatorInfo*>& operators, const OpsOptions& options,
                    std::string_view note = {}, std::string_view behind = {}) {
  if (options.format == TextFormat::kText)
    return PrintResult(ListText(operators) + NoteText(note) + std::string(behind));
  Json list = Json::array();
  for (const OperatorInfo* info : operators) {
    list.push_back(DescriptionJson(*info, options.level));
    if (!note.empty()) list.back()["note"] = note;
  }
  PrintResult(Utf8Text(list, 2) + "\n");
}

void PrintLike(const OpsOptions& options) {
  Likeness like = FindLike(options.like);
  if (like.operators.empty()) {
    throw Error(ErrorKind::kUsage, "no operator is called '{}' in ONNX, WebNN or PyTorch{}",
                options.like, DidYouMeanElsewhere(options.like));
  }
  std::erase_if(like.operators,
                [&](const OperatorInfo* info) { return !IsAt(*info, options.level); });
  std::string behind;
  for (const OperatorInfo* info : like.operators) behind += ArgumentsText(*info, like.libraries);
  PrintOperators(like.operators, options, like.note, behind);
}

void PrintAll(const OpsOptions& options) {
  std::vector<const OperatorInfo*> all(Operators().begin(), Operators().end());
  std::erase_if(all, [&](const OperatorInfo* info) { return !IsAt(*info, options.level); });
  PrintOperators(all, options);
}

// Lists the names of the operator and of each of its fields in other libraries.
std::string CounterpartsText(const OperatorInfo& info) {
  const std::string head = ListText({&info});
  if (NamesByLibrary(info).empty()) {
    return head + NoteText("ONNX, WebNN and PyTorch have no such operator.");
  }
  size_t width = 0;
  for (const Field* field : info.fields) width = std::max(width, field->name.size());
  std::string text = head + NamesElsewhereText(info) + "\nFields\n";
  for (const Field* field : info.fields) {
    const std::string words = ArgumentWords(info, *field);
    const std::string_view none = field->role == TensorRole::kOutput && field->is_tensor()
                                      ? "the result"
                                      : "no argument there";
    text += Listed(fmt::format("  {}", field->name), width + 2, words.empty() ? none : words);
  }
  return text;
}

const OperatorInfo* FindInAnyCase(const std::string& name) {
  const auto found = std::ranges::find_if(
      OperatorNames(), [&](std::string_view known) { return EqualIgnoringCase(known, name); });
  return FindOperator(found == OperatorNames().end() ? name : *found);
}

void PrintOne(const OpsOptions& options) {
  const OperatorInfo* info = FindInAnyCase(options.name);
  if (info == nullptr) {
    throw Error(ErrorKind::kUsage, "'{}' is not one of dmlop's operators{}", options.name,
                DidYouMeanOperator(options.name));
  }
  if (options.is_template) return PrintResult(TemplateText(*info));
  const bool is_json = options.format == TextFormat::kJson;
  PrintResult(is_json ? Utf8Text(DescriptionJson(*info, options.level), 2) + "\n"
              : options.lists_counterparts ? CounterpartsText(*info)
                                           : DescriptionText(*info, options.level));
}

// --like has a name, or is behind an operator.
void RequireOneName(const OpsOptions& options) {
  if (options.lists_counterparts && options.name.empty()) {
    throw Error(ErrorKind::kUsage,
                "--like needs a value: --like NAME, or an operator: OPERATOR --like");
  }
  if (!options.like.empty() && !options.name.empty()) {
    throw Error(ErrorKind::kUsage,
                "--like {} finds operators by a name; with the operator {} it takes no value",
                options.like, options.name);
  }
}

}  // namespace

ExitStatus OpsCommand(const OpsOptions& options) {
  RequireOneName(options);
  if (!options.manual.empty()) {
    ShowManualPage(ManualPageOf(options.manual));
  } else if (!options.like.empty()) {
    PrintLike(options);
  } else if (options.name.empty()) {
    PrintAll(options);
  } else {
    PrintOne(options);
  }
  return ExitStatus::kSuccess;
}

ExitStatus SchemaCommand() {
  PrintResult(SchemaText());
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
