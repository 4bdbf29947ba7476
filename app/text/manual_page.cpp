// SPDX-License-Identifier: Apache-2.0
#include "app/text/operator_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <map>

#include "app/text/dmlop-onnx.5.in.h"
#include "app/text/table_text.h"
#include "core/base/text.h"
#include "core/onnx/onnx_node.h"

namespace dmlop {
namespace {

constexpr std::string_view kDate = "November 26, 2026";
constexpr size_t kColumns = 79;

// Breaks words into lines, with a new one for each sentence; no word is taken for a request.
std::string Filled(std::string_view text) {
  std::string filled;
  size_t column = 0;
  const std::vector<std::string_view> words = WordsOf(text);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word;
    for (const char c : words[i]) word += c == '\\' ? "\\e" : std::string(1, c);
    if (column > 0 && column + 1 + word.size() > kColumns) {
      filled += '\n';
      column = 0;
    }
    if (column > 0) {
      filled += ' ';
      ++column;
    } else if (word.front() == '.' || word.front() == '\'') {
      word.insert(0, "\\&");
    }
    filled += word;
    column += word.size();
    if (word.ends_with('.') && i + 1 < words.size()) {
      filled += '\n';
      column = 0;
    }
  }
  return filled + "\n";
}

std::string Sentence(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string FieldListText(const OperatorInfo& info) {
  std::string text = ".Pp\nFields:\n.Bl -tag -width DimensionCount -compact\n";
  for (const Field* field : info.fields) {
    const std::string elsewhere = ArgumentWords(info, *field);
    text += fmt::format(".It Ql {}\n{}{}{}", field->name, Filled(Sentence(TypeOf(*field))),
                        Filled(MeaningOf(info, *field)),
                        elsewhere.empty() ? "" : Filled(Sentence("Elsewhere: " + elsewhere)));
  }
  return text + ".El\n";
}

std::string RulesText(const OperatorInfo& info) {
  const std::vector<Rule> rules = RulesOf(info);
  if (rules.empty()) return "";
  std::string text = ".Pp\nRules:\n.Bl -tag -width RED-10 -compact\n";
  for (const Rule& rule : rules) {
    text += fmt::format(".It {}\n{}", rule.code, Filled(rule.text));
  }
  return text + ".El\n";
}

std::string SupportText(const OperatorInfo& info) {
  const std::vector<TensorGroup> groups = GroupsOf(info);
  std::string text;
  for (const SupportTable& table : SupportOf(info)) {
    const std::string form = AppliesTo(table);
    text += ".Pp\n" +
            Filled(fmt::format(
                "Data types{}{}, from each feature level on:", form.empty() ? "" : " for ", form));
    text += ".Bl -tag -width 6_4 -compact\n";
    for (const SupportRow& row : table.rows) {
      text += fmt::format(".It {}\n{}", ToString(row.since),
                          Filled(fmt::format("{}", fmt::join(RowWords(row, groups), "; "))));
    }
    text += ".El\n";
  }
  return text;
}

std::string ElsewhereText(const OperatorInfo& info) {
  std::vector<std::string> libraries;
  for (const auto& [library, names] : NamesByLibrary(info)) {
    libraries.push_back(fmt::format("{} {}", library, fmt::join(names, ", ")));
  }
  if (libraries.empty()) return "";
  return ".Pp\n" + Filled(fmt::format("Elsewhere: {}.", fmt::join(libraries, "; ")));
}

std::string ExampleBlock(const OperatorInfo& info) {
  return fmt::format(".Pp\nAn example:\n.Bd -literal -offset indent\n{}.Ed\n", ExampleText(info));
}

// --- ONNX ----------------------------------------------------------------------------------------

std::string OnnxRowText(const OnnxRow& row) {
  std::string text;
  if (!row.operators.empty()) text += fmt::format("{}", fmt::join(WordsOf(row.operators), ", "));
  if (!row.operators.empty() && !row.remark.empty()) text += "; ";
  text += row.remark;
  return fmt::format(".It Ql {} {}\n{}", row.name, row.versions, Filled(text + "."));
}

std::string OnnxTable(std::string_view domain) {
  std::map<std::string_view, const OnnxRow*> rows;
  for (const std::span<const OnnxRow> family : OnnxRows()) {
    for (const OnnxRow& row : family) {
      if (row.domain == domain) rows.emplace(row.name, &row);
    }
  }
  std::string text = ".Bl -tag -width Ds -compact\n";
  for (const auto& [name, row] : rows) text += OnnxRowText(*row);
  return text + ".El\n";
}

}  // namespace

std::string OnnxManualPage() {
  return WithParts(
      kOnnxManual,
      {{"@DATE@", std::string(kDate)},
       {"@OPERATORS@\n", OnnxTable("")},
       {"@CONTRIB@\n", OnnxTable("com.microsoft")},
       {"@WITHOUT@\n", Filled(fmt::format("{}.", fmt::join(OnnxNamesWithoutRow(), ", ")))}});
}

std::string ManualPage(const OperatorGroup& group) {
  const std::string name = fmt::format("dmlop-{}", group.name);
  std::string title;
  for (const char c : name) title += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string page = fmt::format(
      ".Dd {}\n.Dt {} 7\n.ds doc-volume dmlop Manual\n.Os\n.Sh NAME\n.Nm {}\n.Nd {}\n.Sh "
      "DESCRIPTION\n"
      "The fields, rules and data types of the operators, as\n.Ql dmlop ops\nprints them.\n"
      ".Xr dmlop-descriptor 5\nsays how documents are written, and\n.Xr dmlop-numerics 7\n"
      "how exact results are.\n",
      kDate, title, name, group.title);
  for (const OperatorInfo* info : group.operators) {
    page += fmt::format(".Ss {}\n{}", info->name, Filled(SummaryOf(*info)));
    page += FieldListText(*info) + RulesText(*info) + SupportText(*info) + ElsewhereText(*info) +
            ExampleBlock(*info);
  }
  return page +
         ".Sh SEE ALSO\n.Xr dmlop 1 ,\n.Xr dmlop-ops 1 ,\n.Xr dmlop-descriptor 5 ,\n"
         ".Xr dmlop-numerics 7\n";
}

}  // namespace dmlop
