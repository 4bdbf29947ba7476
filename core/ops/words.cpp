// SPDX-License-Identifier: Apache-2.0
#include "core/ops/words.h"

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/ops/words/arguments.txt.h"
#include "core/ops/words/compositions.txt.h"
#include "core/ops/words/examples.txt.h"
#include "core/ops/words/meanings.txt.h"
#include "core/ops/words/names.txt.h"
#include "core/ops/words/rules.txt.h"
#include "core/ops/words/support.txt.h"

namespace dmlop {
namespace {

// --- tables --------------------------------------------------------------------------------------

// A row of a table: its cells, and the operators in the brackets before it; none and "*" are all.
struct WordRow {
  std::string_view operators;
  std::vector<std::string_view> cells;

  // An empty text if the row ends before that cell.
  std::string_view operator[](size_t cell) const {
    return cell < cells.size() ? cells[cell] : std::string_view();
  }
  bool IsOf(const OperatorInfo& info) const {
    return operators.empty() || operators == "*" || HasWord(operators, info.name);
  }
};

std::string_view Trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// A text in rows, one a line, with bars between cells. A line that begins with blanks continues the
// one before, and # begins a comment.
class WordTable {
 public:
  explicit WordTable(std::string_view text) : lines_(LinesOf(text)) {
    std::string_view operators;
    for (const std::string_view line : lines_) {
      if (line.front() == '[') {
        operators = line.substr(1, line.size() - 2);
      } else {
        rows_.push_back({operators, CellsOf(line)});
      }
    }
  }

  const std::vector<WordRow>& rows() const { return rows_; }

  // The first row that is for the operator and begins with `name`; null if there is none.
  const WordRow* Find(const OperatorInfo& info, std::string_view name) const {
    const auto found = std::ranges::find_if(
        rows_, [&](const WordRow& row) { return row[0] == name && row.IsOf(info); });
    return found == rows_.end() ? nullptr : &*found;
  }

 private:
  static std::vector<std::string> LinesOf(std::string_view text) {
    std::vector<std::string> lines;
    for (size_t end = 0; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
      end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      if (line.empty() || line.front() == '#') continue;
      if (line.front() == ' ') {
        lines.back().append(" ").append(Trimmed(line));
      } else {
        lines.emplace_back(line);
      }
    }
    return lines;
  }

  static std::vector<std::string_view> CellsOf(std::string_view line) {
    std::vector<std::string_view> cells;
    while (true) {
      const size_t bar = line.find(" | ");
      cells.push_back(Trimmed(line.substr(0, bar)));
      if (bar == line.npos) return cells;
      line.remove_prefix(bar + 2);
    }
  }

  std::vector<std::string> lines_;
  std::vector<WordRow> rows_;
};

// --- names ---------------------------------------------------------------------------------------

// The operators of ONNX that become an operator alone, by the name of that.
std::map<std::string, std::vector<std::string_view>> NamesInOnnx() {
  std::map<std::string, std::vector<std::string_view>> names;
  for (const OnnxOperator& one : OnnxOperators()) {
    if (one.is_sequence) continue;
    for (const std::string_view op : WordsOf(one.operators)) {
      std::vector<std::string_view>& known = names[std::string(op)];
      if (std::ranges::find(known, one.name) == known.end()) known.push_back(one.name);
    }
  }
  return names;
}

// The operators of ONNX that become an operator, behind those that its row has besides; those of
// another version are right if there is neither.
std::vector<std::string_view> NamesInOnnxOf(std::string_view name, std::string_view besides) {
  static const auto kNames = NamesInOnnx();
  std::vector<std::string_view> names = WordsOf(besides);
  const std::string unversioned(name.substr(0, name.find_last_not_of("0123456789") + 1));
  for (const std::string& version :
       {std::string(name), unversioned, unversioned + "1", unversioned + "2", unversioned + "3"}) {
    const auto found = kNames.find(version);
    if (found != kNames.end())
      names.insert(names.begin(), found->second.begin(), found->second.end());
    if (!names.empty()) break;
  }
  return names;
}

const WordRow& NamesRowOf(const OperatorInfo& info) {
  static const WordTable kNames(kNamesText);
  static const WordRow kNone{};
  const WordRow* row = kNames.Find(info, info.name);
  return row == nullptr ? kNone : *row;
}

}  // namespace

std::string_view SummaryOf(const OperatorInfo& info) {
  return NamesRowOf(info)[1];
}

OtherNames OtherNamesOf(const OperatorInfo& info) {
  const WordRow& row = NamesRowOf(info);
  return {NamesInOnnxOf(info.name, row[4]), WordsOf(row[2]), WordsOf(row[3])};
}

std::span<const Composition> Compositions() {
  static const WordTable kTable(kCompositionsText);
  static const std::vector<Composition> kCompositions = [] {
    std::vector<Composition> all;
    for (const WordRow& row : kTable.rows()) all.push_back({row[0], row[1], row[2]});
    return all;
  }();
  return kCompositions;
}

// --- fields --------------------------------------------------------------------------------------

Argument ArgumentOf(const OperatorInfo& info, const Field& field) {
  static const WordTable kArguments(kArgumentsText);
  const WordRow* row = kArguments.Find(info, field.name);
  const OtherNames names = OtherNamesOf(info);
  if (row == nullptr || (names.onnx.empty() && names.webnn.empty() && names.pytorch.empty())) {
    return {};
  }
  const auto in = [](const std::vector<std::string_view>& library, std::string_view argument) {
    return library.empty() ? std::string_view() : argument;
  };
  return {in(names.onnx, (*row)[1]), in(names.webnn, (*row)[2]), in(names.pytorch, (*row)[3]),
          (*row)[4]};
}

std::string_view MeaningOf(const OperatorInfo& info, const Field& field) {
  static const WordTable kMeanings(kMeaningsText);
  const WordRow* row = kMeanings.Find(info, field.name);
  return row == nullptr ? std::string_view() : (*row)[1];
}

// --- rules ---------------------------------------------------------------------------------------

std::vector<Rule> RulesOf(const OperatorInfo& info) {
  static const WordTable kRules(kRulesText);
  std::vector<Rule> rules;
  for (const WordRow& row : kRules.rows()) {
    const bool is_own = row.operators != "*";
    if (is_own && row.IsOf(info)) rules.push_back({row[0], row[1]});
  }
  if (std::ranges::find(rules, info.type_rule, &Rule::code) != rules.end()) return rules;
  if (const WordRow* row = kRules.Find(info, info.type_rule)) {
    rules.insert(rules.begin(), {(*row)[0], (*row)[1]});
  }
  return rules;
}

// --- support -------------------------------------------------------------------------------------

namespace {

// Names of several data types; each alone has its own name.
constexpr std::pair<std::string_view, DataTypeSet> kTypeGroups[] = {
    {"ALL", types::kAll},       {"UP_TO_32", types::kUpTo32}, {"FLOATS", types::kFloats},
    {"INT64S", types::kInt64s}, {"INT32S", types::kInt32s},   {"INT16S", types::kInt16s},
    {"INT8S", types::kInt8s},   {"-", DataTypeSet()},
};

DataTypeSet TypesNamed(std::string_view word) {
  for (const auto& [name, set] : kTypeGroups) {
    if (name == word) return set;
  }
  const auto names = DataTypeNames();
  const auto type = std::ranges::find(names, word) - names.begin();
  return {static_cast<DataType>(type)};
}

// Ranks as "4" or "1-8"; they have one digit.
SupportRow::Ranks RanksIn(std::string_view word) {
  return {static_cast<size_t>(word.front() - '0'), static_cast<size_t>(word.back() - '0')};
}

SupportRow SupportRowOf(const WordRow& words) {
  const std::vector<std::string_view> ranks = WordsOf(words[1]);
  const SupportRow::Ranks main = RanksIn(ranks.front());
  SupportRow row{*ParseFeatureLevel(words[0]), main.min, main.max};
  for (size_t group = 1; group < ranks.size(); ++group) {
    row.other_ranks[group - 1] = RanksIn(ranks[group]);
  }
  for (size_t i = 2; i < words.cells.size(); ++i) {
    for (const std::string_view word : WordsOf(words[i])) {
      row.types[i - 2] = row.types[i - 2] | TypesNamed(word);
    }
  }
  return row;
}

// The table for enumerators of the field that the row begins with.
SupportTable TableOf(const OperatorInfo& info, const WordRow& words) {
  const auto field = std::ranges::find(info.fields, words[0], &Field::name);
  SupportTable table{.of = static_cast<const FieldOf<uint32_t>*>(*field)};
  const auto& names = table.of->names.names;
  for (const std::string_view word : WordsOf(words[1])) {
    table.enumerators |= uint32_t{1} << (std::ranges::find(names, word) - names.begin());
  }
  return table;
}

using SupportTables = std::map<std::string_view, std::vector<SupportTable>>;

SupportTables ReadSupport() {
  static const WordTable kSupport(kSupportText);
  SupportTables all;
  for (const WordRow& words : kSupport.rows()) {
    for (const std::string_view name : WordsOf(words.operators)) {
      std::vector<SupportTable>& tables = all[name];
      const bool is_row = ParseFeatureLevel(words[0]).has_value();
      if (!is_row) tables.push_back(TableOf(*FindOperator(name), words));
      if (is_row && tables.empty()) tables.emplace_back();
      if (is_row) tables.back().rows.push_back(SupportRowOf(words));
    }
  }
  return all;
}

}  // namespace

std::span<const SupportTable> SupportOf(const OperatorInfo& info) {
  static const SupportTables kTables = ReadSupport();
  return kTables.at(info.name);
}

// --- examples ------------------------------------------------------------------------------------

std::vector<ExampleValue> ExampleValuesOf(const OperatorInfo& info) {
  static const WordTable kExamples(kExamplesText);
  std::vector<ExampleValue> values;
  for (const WordRow& row : kExamples.rows()) {
    if (row.IsOf(info)) values.push_back({row[0], row[1].empty() ? "{}" : row[1]});
  }
  return values;
}

}  // namespace dmlop
