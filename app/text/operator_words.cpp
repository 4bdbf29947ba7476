// SPDX-License-Identifier: Apache-2.0
#include "app/text/operator_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/text/table_text.h"

namespace dmlop {
namespace {

constexpr std::pair<FieldKind, std::string_view> kKinds[] = {
    {FieldKind::kCount, "UINT, may be left out"},
    {FieldKind::kUint, "UINT"},
    {FieldKind::kInt, "INT"},
    {FieldKind::kFloat, "FLOAT"},
    {FieldKind::kBool, "BOOL"},
    {FieldKind::kDataType, "data type, may be left out"},
    {FieldKind::kUints, "array of UINT"},
    {FieldKind::kInts, "array of INT"},
    {FieldKind::kFloats, "array of FLOAT"},
    {FieldKind::kScaleBias, "{\"Scale\": FLOAT, \"Bias\": FLOAT}"},
    {FieldKind::kSize2d, "{\"Width\": UINT, \"Height\": UINT}"},
    {FieldKind::kScalar, "number of the data type"},
    {FieldKind::kActivation, "activation operator without tensors"},
    {FieldKind::kActivations, "array of activation operators without tensors"}};

// The kind of a field in words.
std::string KindOf(const Field& field) {
  if (field.kind == FieldKind::kEnum) {
    return fmt::format("one of {}", fmt::join(field.names.names, ", "));
  }
  for (const auto& [kind, words] : kKinds) {
    if (kind == field.kind) return std::string(words);
  }
  const bool is_one = field.kind == FieldKind::kTensor;
  const std::string_view direction = field.role == TensorRole::kInput ? "input" : "output";
  return is_one ? fmt::format("{} tensor", direction)
                : fmt::format("array of {} tensors", direction);
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
  if (!level) return table.rows;
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

// --- templates -----------------------------------------------------------------------------------

namespace {

constexpr size_t kCommentColumns = 90;
constexpr size_t kLineColumns = 64;  // limit for literal text in a manual page
constexpr std::string_view kAnySizes = "...";

// One line with blanks; the placeholder for any sizes is printed without quotes.
std::string SpacedText(const Json& json) {
  std::string text;
  bool in_string = false;
  for (const char c : Utf8Text(json)) {
    text += c;
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == ',' || c == ':')) text += ' ';
  }
  const std::string any = fmt::format("\"{}\"", kAnySizes);
  if (const size_t at = text.find(any); at != text.npos) text.replace(at, any.size(), kAnySizes);
  return text;
}

// The stated example values for the operator; the first row that states a member decides.
Json Stated(const OperatorInfo& info, std::string_view ExampleValue::*members) {
  Json stated = Json::object();
  for (const ExampleValue& value : ExampleValuesOf(info)) {
    const Json more = Json::parse(value.*members);
    for (const auto& [name, member] : more.items()) {
      if (!stated.contains(name)) stated[name] = member;
    }
  }
  return stated;
}

// Values for an operator's fields, and the bindings of its inputs.
class Example {
 public:
  explicit Example(const OperatorInfo& info)
      : info_(info),
        stated_(Stated(info, &ExampleValue::fields)),
        stated_bindings_(Stated(info, &ExampleValue::bindings)),
        row_(NewestRow()) {
    for (const Field* field : info.fields) AddField(*field);
    CountEntries();
  }

  struct Line {
    const Field* field;
    Json value;
    bool is_given;
  };
  const std::vector<Line>& lines() const { return lines_; }
  const Json& bindings() const { return bindings_; }

 private:
  bool IsStated(const Field& field) const { return stated_.contains(field.name); }
  Json StatedOr(const Field& field, Json otherwise) const {
    return IsStated(field) ? stated_[std::string(field.name)] : otherwise;
  }

  const SupportRow& NewestRow() const {
    const auto table = std::ranges::find_if(SupportOf(info_), [&](const SupportTable& candidate) {
      if (candidate.of == nullptr) return true;
      const auto& names = candidate.of->names.names;
      const auto name = std::ranges::find(names, StatedOr(*candidate.of, names.front()));
      return candidate.Holds(static_cast<uint32_t>(name - names.begin()));
    });
    return table->rows.back();
  }

  std::string_view TypeOfTensor(TypeVariable variable) const {
    constexpr DataType kPreferred[] = {DataType::kFloat32, DataType::kUint8, DataType::kUint32,
                                       DataType::kInt32};
    DataTypeSet types = row_.TypesOf(variable);
    if (types.empty()) types = row_.TypesOf(TypeVariable::kT);
    return Name(
        *std::ranges::find_if(kPreferred, [&](DataType type) { return types.Contains(type); }));
  }

  Json SizesOf(const Field& field) const {
    const SupportRow::Ranks ranks = row_.RanksOf(field.ranks);
    std::vector<uint32_t> sizes(std::clamp<size_t>(2, ranks.min, ranks.max), 1);
    sizes.back() = 3;
    if (sizes.size() > 1) sizes[sizes.size() - 2] = 2;
    return sizes;
  }

  // Outputs have sizes only if these are stated.
  Json TensorOf(const Field& field, const Json& stated, size_t entry = 0) const {
    Json tensor = stated.is_object() ? stated : Json::object();
    if (!tensor.contains("DataType")) tensor["DataType"] = TypeOfTensor(field.TypeOfEntry(entry));
    if (stated.is_array()) tensor["Sizes"] = stated;
    if (field.role == TensorRole::kOutput || tensor.contains("Sizes")) return tensor;
    tensor["Sizes"] = SizesOf(field);
    return tensor;
  }

  // The length of an array, known once the first tensor has been added.
  size_t EntriesOf(const Field& field) const {
    const size_t rank = lines_.front().value["Sizes"].size();
    return field.limits.per_dimension ? rank : rank - 2;
  }

  Json ValueOf(const Field& field) const {
    switch (field.kind) {
      case FieldKind::kTensor:
        return TensorOf(field, StatedOr(field, nullptr));
      case FieldKind::kTensors: {
        Json array = Json::array();
        for (const Json& stated : StatedOr(field, Json::array())) {
          array.push_back(TensorOf(field, stated, array.size()));
        }
        return array;
      }
      case FieldKind::kBool:
        return StatedOr(field, false);
      case FieldKind::kEnum:
        return StatedOr(field, field.names.names.front());
      case FieldKind::kDataType:
        return TypeOfTensor(TypeVariable::kT);
      case FieldKind::kUints:
        if (IsStated(field)) return StatedOr(field, nullptr);
        return std::vector<uint32_t>(EntriesOf(field), field.limits.min);
      default:
        return StatedOr(field, field.limits.min);
    }
  }

  void AddField(const Field& field) {
    const bool follows = field.kind == FieldKind::kCount || field.kind == FieldKind::kDataType;
    Line line{&field, ValueOf(field), !field.optional && !follows};
    if (field.is_tensor()) {
      const bool is_output = field.role == TensorRole::kOutput;
      line.is_given = IsStated(field) || (line.is_given && !is_output);
      if (!line.is_given) line.value["Sizes"] = {kAnySizes};
      if (line.is_given && !is_output) Bind(line);
    }
    lines_.push_back(std::move(line));
  }

  void CountEntries() {
    for (size_t i = 0; i + 1 < lines_.size(); ++i) {
      if (lines_[i].field->kind == FieldKind::kCount) lines_[i].value = lines_[i + 1].value.size();
    }
  }

  void Bind(const Line& line) {
    const std::string name(line.field->name);
    const Json tensors = line.value.is_array() ? line.value : Json::array({line.value});
    Json values = Json::array();
    for (const Json& tensor : tensors) values.push_back(RandomValues(tensor));
    Json& bound = bindings_[name] = line.value.is_array() ? values : values.front();
    if (!stated_bindings_.contains(name)) return;
    const Json& stated = stated_bindings_[name];
    if (stated.contains("random")) {
      bound.update(stated);  // but for the seed, of which each tensor has its own
    } else {
      bound = stated;
    }
  }

  Json RandomValues(const Json& tensor) {
    const bool is_float = tensor["DataType"] == Name(DataType::kFloat32);
    Json values = {{"random", is_float ? "uniform" : "integers"}, {"seed", ++seed_}};
    if (!is_float) values.update({{"low", 0}, {"high", 9}});
    return values;
  }

  const OperatorInfo& info_;
  const Json stated_, stated_bindings_;
  const SupportRow& row_;
  std::vector<Line> lines_;
  Json bindings_ = Json::object();
  int seed_ = 0;
};

std::string CommentText(std::string_view text, std::string_view margin = "    ") {
  const std::string begin = fmt::format("{}// ", margin);
  return begin + WrappedText(text, kCommentColumns, begin) + "\n";
}

std::string AboutText(const OperatorInfo& info, const Example::Line& line) {
  const Field& field = *line.field;
  std::string text(MeaningOf(info, field));
  if (field.kind == FieldKind::kEnum) {
    text += fmt::format(" One of {}.", fmt::join(field.names.names, ", "));
  }
  return CommentText(text + (line.is_given ? "" : " May be left out."));
}

std::string MemberText(std::string_view begin, std::string_view name, const Json& value,
                       bool is_last) {
  const std::string text = fmt::format("\"{}\": {}{}", name, SpacedText(value), is_last ? "" : ",");
  return fmt::format("{}{}\n", begin,
                     WrappedText(text, kLineColumns, fmt::format("{}    ", begin)));
}

// The last given line goes last, because JSON allows no comma after it.
std::string LinesText(const OperatorInfo& info, std::vector<Example::Line> lines,
                      bool is_template) {
  const auto given = std::ranges::find_if(lines.rbegin(), lines.rend(), &Example::Line::is_given);
  std::rotate(given.base() - 1, given.base(), lines.end());
  std::string text;
  for (const Example::Line& line : lines) {
    if (is_template) text += AboutText(info, line);
    if (!is_template && !line.is_given) continue;
    text += MemberText(line.is_given ? "    " : "    // ", line.field->name, line.value,
                       &line == &lines.back());
  }
  return text;
}

std::string BindingsText(const Json& bindings, bool is_template) {
  if (bindings.empty()) return "";
  std::string text = ",\n  \"bindings\": {\n";
  if (is_template) text += CommentText("Values of the inputs. A string is the name of a file.");
  size_t left = bindings.size();
  for (const auto& [name, value] : bindings.items()) {
    text += MemberText("    ", name, value, --left == 0);
  }
  return text + "  }";
}

std::string Text(const OperatorInfo& info, bool is_template) {
  const Example example(info);
  return fmt::format("{{\n  \"type\": \"{}\",\n  \"desc\": {{\n{}  }}{}\n}}\n", info.name,
                     LinesText(info, example.lines(), is_template),
                     BindingsText(example.bindings(), is_template));
}

}  // namespace

Json ExampleJson(const OperatorInfo& info) {
  return Json::parse(ExampleText(info));
}

std::string ExampleText(const OperatorInfo& info) {
  return Text(info, /*is_template=*/false);
}

std::string TemplateText(const OperatorInfo& info) {
  return CommentText(fmt::format("{}: {}. 'dmlop ops {}' has its rules and data types.", info.name,
                                 SummaryOf(info), info.name),
                     "") +
         Text(info, /*is_template=*/true);
}

}  // namespace dmlop
