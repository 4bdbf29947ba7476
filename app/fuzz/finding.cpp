// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/files/output.h"
#include "app/shell_word.h"
#include "core/base/text.h"
#include "core/fuzz/setting.h"

namespace dmlop {
namespace {

constexpr CaseClass kClasses[] = {CaseClass::kEngine, CaseClass::kHang,    CaseClass::kMissing,
                                  CaseClass::kShape,  CaseClass::kCompany, CaseClass::kUnsteady,
                                  CaseClass::kWrong};

// "/desc/Axes" for "/desc/Axes/0=[4]", and "sums-float16" for "sums-float16:pairs".
std::string WithoutDetails(const std::string& id) {
  std::string key = id.substr(0, id.find_first_of("=:"));
  while (key.starts_with('/') && !key.empty() &&
         std::isdigit(static_cast<unsigned char>(key.back()))) {
    const size_t slash = key.find_last_of('/');
    if (key.find_first_not_of("0123456789", slash + 1) != std::string::npos) break;
    key.resize(slash);
  }
  return key;
}

// The first class of wrong values, as batches group by it.
std::string ClassOf(const std::vector<DiagnosedFile>& diagnoses) {
  for (const DiagnosedFile& file : diagnoses) {
    if (!file.diagnosis.classes.empty()) return file.diagnosis.classes.front().id;
  }
  return "";
}

// The JSON of a field as text: an activation is its name.
std::string TextOfValue(const Json& value) {
  if (value.is_object() && value.contains("type")) {
    return value.at("type").get<std::string>().substr(kOperatorPrefix.size());
  }
  if (!value.is_array()) return OneLine(value);
  std::string list;
  for (const Json& entry : value) list += (list.empty() ? "" : ", ") + TextOfValue(entry);
  return "[" + list + "]";
}

// The fields that are not at their defaults, and those that the conditions name.
std::vector<std::string> ToldFields(const Finding& finding) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view path) {
    const std::string name(path.substr(0, path.find('/')));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const PlainValue& plain : PlainValuesOf(finding.smallest.computation.op)) {
    const bool is_told =
        std::ranges::any_of(finding.conditions.list, [&](const Condition& condition) {
          return condition.kind != ConditionKind::kAny &&
                 std::ranges::any_of(condition.of, [&](const std::string& of) {
                   return of == "/desc/" + plain.path;
                 });
        });
    if (plain.path.find("/Sizes/") != std::string::npos) continue;
    if (is_told || plain.value != DefaultOf(plain)) add(plain.path);
  }
  for (const Field* field : finding.smallest.computation.op.fields()) {
    const bool is_extra = field->optional && (field->kind == FieldKind::kActivation ||
                                              field->kind == FieldKind::kScaleBias);
    if (is_extra && finding.smallest.computation.op.Has(*field)) add(field->name);
  }
  return names;
}

// "InputTensor {1, 1, 1}, StartPadding [0], EndPadding [1], FLOAT32"
std::string SmallestText(const Finding& finding) {
  const OperatorDesc& op = finding.smallest.computation.op;
  std::string text;
  const std::vector<TensorSlot> inputs = TensorSlots(op, TensorRole::kInput);
  for (const TensorSlot& slot : inputs) {
    text += fmt::format("{} {}, ", DisplayName(slot.path), ToString(LayoutOf(*slot.desc).sizes));
  }
  const Json desc = OperatorJson(op).at("desc");
  for (const std::string& name : ToldFields(finding)) {
    const auto plain = ValueAt(op, name);
    text += fmt::format("{} {}, ", name, plain ? ToText(*plain) : TextOfValue(desc.at(name)));
  }
  return fmt::format("{}{}", text, Name(*TensorSlots(op).front().desc->data_type));
}

std::string CauseText(const Finding& finding) {
  const Cause* cause = FirstCause(finding.diagnoses);
  if (cause == nullptr) return "";
  if (cause->of == 0) return cause->text;  // a folder of an earlier version
  return fmt::format("{:<44}  {} of {}", cause->text, cause->explains,
                     Counted(cause->of, "element"));
}

std::string Indented(std::string_view title, const std::string& text, const std::string& rest) {
  std::string line = fmt::format("   {:<10} {}", title, text);
  if (!rest.empty()) line = fmt::format("{:<100}  {}", line, rest);
  return line + "\n";
}

std::string RunsText(const Finding& finding) {
  if (!finding.company.empty()) return "";
  const std::string runs = Counted(finding.shrink_runs, "run");
  return finding.is_minimal || finding.shrink_runs == 0 ? runs : runs + ", not minimal";
}

// Tells a reader how to see the fault again.
std::string CommandOf(const Finding& finding, const std::string& folder) {
  const std::string own = folder + "/" + finding.folder();
  if (!finding.company.empty()) {
    return fmt::format("dmlop batch {} --judge", PathWord(own + "/" + kCaseList));
  }
  std::string command = "dmlop run " + PathWord(own + "/" + kCaseFile);
  std::error_code ignored;
  using Entries = std::filesystem::directory_iterator;
  // The folder of a finding that was read has the outputs that the finding itself has not.
  const bool has_outputs =
      !finding.verdict.outputs.empty() || Entries(own + "/actual", ignored) != Entries();
  if (!has_outputs) return command;
  command += " --judge " + PathWord(own + "/actual");
  for (const std::string& word : finding.judging) command += " " + ShellWord(word);
  return command;
}

bool HaveSameInputs(const Computation& a, const Computation& b) {
  Computation owner{a.op, {}};
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const ConstTensorView of_a = AsConst(PackedCopy(a.inputs[i], owner));
    const ConstTensorView of_b = AsConst(PackedCopy(b.inputs[i], owner));
    const auto size = static_cast<size_t>(of_a.element_bytes());
    if (std::memcmp(of_a.data, of_b.data, size) != 0) return false;
  }
  return true;
}

bool AreEqual(const Computation& a, const Computation& b) {
  return OperatorJson(a.op) == OperatorJson(b.op) && HaveSameInputs(a, b);
}

// Returns whether all that is wrong is one value.
bool HasOneWrongValue(const DeviceVerdict& verdict) {
  std::optional<double> value;
  for (const JudgedOutput& output : verdict.outputs) {
    for (const Difference& wrong : output.judgement.comparison.listed) {
      if (value.value_or(wrong.actual) != wrong.actual) return false;
      value = wrong.actual;
    }
  }
  return true;
}

bool HaveSameConditions(const Conditions& a, const Conditions& b) {
  Json of_a, of_b;
  SetConditions(a, of_a);
  SetConditions(b, of_b);
  return of_a["conditions"] == of_b["conditions"];
}

}  // namespace

const Cause* FirstCause(const std::vector<DiagnosedFile>& diagnoses) {
  for (const DiagnosedFile& file : diagnoses) {
    if (!file.diagnosis.causes.empty()) return &file.diagnosis.causes.front();
  }
  return nullptr;
}

const Cause* TellingCause(const DeviceVerdict& verdict,
                          const std::vector<DiagnosedFile>& diagnoses) {
  const Cause* cause = FirstCause(diagnoses);
  if (cause == nullptr) return nullptr;
  const bool is_of_descriptor =
      std::ranges::all_of(cause->ids, [](const std::string& id) { return id.starts_with('/'); });
  return is_of_descriptor && HasOneWrongValue(verdict) ? nullptr : cause;
}

void PreferCause(const std::string& key, std::vector<DiagnosedFile>& diagnoses) {
  for (DiagnosedFile& file : diagnoses) {
    std::vector<Cause>& causes = file.diagnosis.causes;
    const auto found = std::ranges::find_if(causes, [&](const Cause& cause) {
      return KeyOfCause(cause.ids) == key && cause.explains >= causes.front().explains;
    });
    if (found != causes.end()) std::rotate(causes.begin(), found, found + 1);
  }
}

std::string KeyOfCause(const std::vector<std::string>& ids) {
  std::string key;
  for (const std::string& id : ids) key += (key.empty() ? "" : " ") + WithoutDetails(id);
  return key;
}

FailureKey KeyOf(const NamedCase& one, const DeviceVerdict& verdict,
                 const std::vector<DiagnosedFile>& diagnoses) {
  FailureKey key{std::string(one.computation.op.name()), verdict.what, verdict.code};
  if (verdict.what != CaseClass::kWrong) return key;
  const Cause* cause = TellingCause(verdict, diagnoses);
  key.code = cause != nullptr ? KeyOfCause(cause->ids) : ClassOf(diagnoses);
  return key;
}

bool IsAccepted(const std::vector<DiagnosedFile>& diagnoses,
                const std::vector<std::string>& accepted) {
  const auto is_known = [&](const std::string& id) {
    return std::ranges::find(accepted, id) != accepted.end() ||
           std::ranges::find(accepted, WithoutDetails(id)) != accepted.end();
  };
  const auto explains_all = [&](const Cause& cause) {
    return cause.explains == cause.of && ((cause.ids.size() == 1 && is_known(cause.ids.front())) ||
                                          std::ranges::any_of(cause.same, is_known));
  };
  return !diagnoses.empty() && std::ranges::all_of(diagnoses, [&](const DiagnosedFile& file) {
    return std::ranges::any_of(file.diagnosis.causes, explains_all);
  });
}

std::string Finding::folder() const {
  return fmt::format("{}-{}", number, key.op);
}

bool Finding::has_cause() const {
  const Cause* cause = FirstCause(diagnoses);
  return cause != nullptr && KeyOfCause(cause->ids) == key.code;
}

bool Finding::Covers(const NamedCase& other) const {
  return Holds(conditions, smallest.computation.op, other.computation.op);
}

bool Finding::HasKey(const FailureKey& one) const {
  const FailureKey with_code{key.op, key.what, one.code};
  return one == key ||
         (one == with_code && std::ranges::find(other_codes, one.code) != other_codes.end());
}

bool Finding::Includes(const Finding& other) const {
  if (key.op != other.key.op || key.what != other.key.what || conditions.list.empty()) return false;
  return (key == other.key || !has_cause() || !other.has_cause()) && Covers(other.smallest);
}

bool Finding::IsLike(const Finding& other) const {
  if (key.op != other.key.op || key.what != other.key.what) return false;
  if (!company.empty() || Includes(other)) return true;
  if (AreEqual(smallest.computation, other.smallest.computation)) return true;
  if (conditions.list.empty() || other.conditions.list.empty()) return key == other.key;
  return HaveSameConditions(conditions, other.conditions);
}

Json LineOf(const Finding& finding) {
  const std::string own = finding.folder() + "/";
  return CaseJson({finding.folder(), finding.smallest.computation}, own, own + "expected/");
}

Json RecordOf(const Finding& finding) {
  Json json = {{"finding", finding.number},        {"operator", finding.key.op},
               {"class", Name(finding.key.what)},  {"key", finding.key.code},
               {"otherKeys", finding.other_codes}, {"what", finding.text}};
  json["causes"] = Json::array();
  for (const DiagnosedFile& file : finding.diagnoses) {
    for (const Cause& cause : file.diagnosis.causes) {
      json["causes"].push_back({{"ids", cause.ids},
                                {"text", cause.text},
                                {"explains", cause.explains},
                                {"of", cause.of}});
    }
  }
  json["first"] = finding.first;
  json["cases"] = finding.cases;
  json["smallest"] = LineOf(finding);
  json["runs"] = {{"shrink", finding.shrink_runs}, {"conditions", finding.conditions.runs}};
  json["minimal"] = finding.is_minimal;
  json["judging"] = finding.judging;
  SetConditions(finding.conditions, json);
  return json;
}

// Returns the causes that a record tells; the files that have them are not kept apart.
std::vector<DiagnosedFile> DiagnosesOf(const Json& record) {
  DiagnosedFile file;
  for (const Json& cause : record.at("causes")) {
    Cause& read = file.diagnosis.causes.emplace_back();
    read.ids = cause.at("ids").get<std::vector<std::string>>();
    read.text = cause.at("text").get<std::string>();
    read.explains = cause.value("explains", int64_t{});
    read.of = cause.value("of", int64_t{});
  }
  return {file};
}

Finding FindingOf(const Json& record) {
  const std::string what = record.at("class").get<std::string>();
  const auto* const known =
      std::ranges::find(kClasses, what, [](CaseClass one) { return std::string(Name(one)); });
  const OperatorInfo* info = FindOperator(record.at("operator").get<std::string>());
  const OperatorDesc none(info == nullptr ? CopyOperator() : *info);
  Finding finding{
      .number = record.at("finding").get<int64_t>(),
      .key = {std::string(none.name()), known == std::end(kClasses) ? CaseClass::kWrong : *known,
              record.at("key").get<std::string>()},
      .text = record.at("what").get<std::string>(),
      .first = record.at("first").get<std::string>(),
      .cases = record.at("cases").get<int64_t>(),
      .first_case = {"", {none, {}}},
      .smallest = {"", {none, {}}}};
  finding.diagnoses = DiagnosesOf(record);
  finding.shrink_runs = record.at("runs").at("shrink").get<int64_t>();
  finding.is_minimal = record.at("minimal").get<bool>();
  finding.conditions = ConditionsOf(record);
  finding.judging = record.value("judging", std::vector<std::string>());
  finding.other_codes = record.value("otherKeys", std::vector<std::string>());
  return finding;
}

std::string FindingText(const Finding& finding, const std::string& folder, CaseCount count) {
  const std::string heading =
      fmt::format("{}  {}  {}", finding.number, finding.key.op, Printable(finding.text));
  const std::string cases = count == CaseCount::kTold ? Counted(finding.cases, "case") + ", " : "";
  std::string text =
      fmt::format("{:<60}  {}the first {}\n", heading, cases, Printable(finding.first));
  text += Indented("smallest", SmallestText(finding), RunsText(finding));
  if (!finding.company.empty()) {
    text += Indented("company", Counted(finding.company.size(), "case") + " in a start", "");
  }
  if (!finding.conditions.text.empty()) text += fmt::format("   {}\n", finding.conditions.text);
  const std::string cause = CauseText(finding);
  if (!cause.empty()) text += Indented("cause", cause, "");
  if (!folder.empty()) text += Indented("try", CommandOf(finding, folder), "");
  return text;
}

}  // namespace dmlop
