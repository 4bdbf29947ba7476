// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/io/file.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

constexpr size_t kMostReportBytes = size_t{1} << 30;

std::string TextIn(const Json& json, const char* name) {
  const Json member = MemberOf(json, name);
  return member.is_string() ? member.get<std::string>() : "";
}

// The class of what could not be compared; empty if it was.
std::string MismatchOf(const Json& comparison) {
  if (!comparison.contains("mismatch")) return "";
  const Json classes = MemberOf(comparison, "classes");
  const bool is_told = classes.is_array() && !classes.empty();
  return is_told ? TextIn(classes.front(), "id") : "other-type-or-shape";
}

double MismatchesIn(const Json& comparison) {
  return NumberIn(comparison, "nanMismatches").value_or(0) +
         NumberIn(comparison, "infinityMismatches").value_or(0);
}

// Returns a tuple that is greater the further off a comparison is.
auto Distance(const Json& comparison) {
  const double mismatches = MismatchesIn(comparison);
  const std::string mismatch = MismatchOf(comparison);
  return std::tuple(MemberOf(comparison, "equal") == false, mismatch != "missing",
                    !mismatch.empty(), mismatches > 0,
                    NumberIn(MemberOf(comparison, "units"), "max").value_or(0),
                    NumberIn(comparison, "maxUlpError").value_or(0));
}

Json WorstOf(const Json& comparisons) {
  Json worst;
  for (const Json& one : comparisons) {
    if (worst.is_null() || Distance(one) > Distance(worst)) worst = one;
  }
  return worst;
}

// The statuses of batches and of fuzz.
constexpr std::pair<std::string_view, CaseVerdict> kStatuses[] = {
    {"done", CaseVerdict::kPasses},
    {"up-to-date", CaseVerdict::kPasses},
    {"accepted", CaseVerdict::kPasses},
    {"different", CaseVerdict::kDiffers},
    {"wrong", CaseVerdict::kDiffers},
    {"shape", CaseVerdict::kDiffers},
    {"failed", CaseVerdict::kFails},
    {"engine", CaseVerdict::kFails},
    {"hang", CaseVerdict::kFails},
    {"company", CaseVerdict::kFails},
    {"unsteady", CaseVerdict::kFails},
    {"missing", CaseVerdict::kIsMissing},
    {"unsupported", CaseVerdict::kIsMissing},
};

std::optional<CaseVerdict> VerdictOf(const std::string& status) {
  const auto* const found =
      std::ranges::find(kStatuses, status, [](const auto& entry) { return entry.first; });
  return found == std::end(kStatuses) ? std::nullopt : std::optional(found->second);
}

// The desc of the first output of a case, which all devices have in common; null if the line has no
// descriptor.
Json FirstOutput(const Json& line) {
  const Json desc = MemberOf(MemberOf(line, "descriptor"), "desc");
  const OperatorInfo* const op = FindOperator(TextIn(line, "operator"));
  if (op == nullptr) return nullptr;
  for (const Field* field : op->fields) {
    const Json tensor = MemberOf(desc, std::string(field->name).c_str());
    if (!field->is_tensor() || field->role != TensorRole::kOutput || tensor.is_null()) continue;
    return tensor.is_array() && !tensor.empty() ? tensor.front() : tensor;
  }
  return nullptr;
}

std::string SizesText(const Json& sizes) {
  std::string text;
  if (!sizes.is_array()) return text;
  for (const Json& size : sizes) text += (text.empty() ? "" : "x") + size.dump();
  return text;
}

bool IsLineOfReport(const Json& json) {
  return MemberOf(json, "line").is_number_integer() && VerdictOf(TextIn(json, "status"));
}

// The last line of a report of fuzz is about all cases.
bool IsLineOfAll(const Json& json) {
  return MemberOf(json, "generator").is_number_integer();
}

// Where NaN or infinity differs, an infinite error is theirs, and one of 0 says nothing of numbers.
std::optional<double> Measured(const std::optional<double>& error, int64_t mismatches) {
  const bool is_of_others = error == 0 || (error && std::isinf(*error));
  return mismatches > 0 && is_of_others ? std::nullopt : error;
}

void KeepMost(const std::optional<double>& value, std::optional<double>& most) {
  if (value && (!most || *value > *most)) most = value;
}

// Cases of one name, as those of a sweep may be, are told apart by their lines.
void TellApart(std::vector<ReportedCase>& cases) {
  std::map<std::string, int64_t> counts;
  for (const ReportedCase& one : cases) ++counts[one.name];
  for (ReportedCase& one : cases) {
    if (counts[one.name] > 1) one.name += fmt::format(", line {}", one.line->at("line").dump());
  }
}

void AddTo(const std::vector<std::string>& keys, size_t device, size_t devices,
           const ReportedCase& one, std::map<std::vector<std::string>, ReportGroup>& groups) {
  ReportGroup& group = groups[keys];
  group.keys = keys;
  group.devices.resize(devices);
  group.devices[device].Add(one);
}

}  // namespace

Json MemberOf(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) ? json.at(name) : Json();
}

std::optional<double> NumberIn(const Json& json, const char* name) {
  const Json member = MemberOf(json, name);
  if (member.is_number()) return member.get<double>();
  if (member == "inf") return std::numeric_limits<double>::infinity();
  return std::nullopt;
}

ReportedCase::ReportedCase(Json json)
    : line(std::make_shared<const Json>(std::move(json))), worst(std::make_shared<const Json>()) {
  verdict = VerdictOf(TextIn(*line, "status")).value_or(CaseVerdict::kFails);
  name = TextIn(*line, "name");
  if (name.empty()) name = fmt::format("line {}", line->at("line").dump());
  const Json comparisons = MemberOf(*line, "comparisons");
  if (comparisons.is_array()) worst = std::make_shared<const Json>(WorstOf(comparisons));
  const Json times = MemberOf(*line, "seconds");
  seconds = NumberIn(times, "load").value_or(0) + NumberIn(times, "run").value_or(0);
}

std::string ReportedCase::operator_name() const {
  return TextIn(*line, "operator");
}

std::string ReportedCase::data_type() const {
  const std::string of_output = TextIn(FirstOutput(*line), "DataType");
  return of_output.empty() ? TextIn(*worst, "dataType") : of_output;
}

std::string ReportedCase::sizes() const {
  const Json of_output = MemberOf(FirstOutput(*line), "Sizes");
  return SizesText(of_output.is_array() ? of_output : MemberOf(*worst, "sizes"));
}

std::string ReportedCase::tolerance() const {
  const Json rules = MemberOf(*worst, "tolerance");
  if (!rules.is_object()) return "";
  std::string text;
  for (const auto& [rule, value] : rules.items()) {
    if (value == 0 || value.is_null()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rule,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text.empty() ? "equal values" : text;
}

std::string ReportedCase::where() const {
  const Json place = MemberOf(*worst, "where");
  return place.is_object() ? TextIn(place, "text") : "";
}

std::string ReportedCase::cause() const {
  const std::string mismatch = MismatchOf(*worst);
  if (!mismatch.empty()) {
    return mismatch == "missing" ? "the file is missing" : "another type or shape";
  }
  for (const Json& from :
       {*worst, MemberOf(*worst, "diagnosis"), MemberOf(*line, "diagnosis"), *line}) {
    const Json causes = MemberOf(from, "causes");
    if (causes.is_array() && !causes.empty()) return TextIn(causes.front(), "text");
    if (const std::string text = TextIn(from, "cause"); !text.empty()) return text;
    if (TextIn(from, "verdict") == "noise") return "noise";
  }
  const Json diagnoses = MemberOf(*line, "diagnoses");
  std::string without_cause;
  for (const Json& one : diagnoses.is_array() ? diagnoses : Json::array()) {
    const Json causes = MemberOf(one, "causes");
    if (causes.is_array() && !causes.empty()) return TextIn(causes.front(), "text");
    const std::string found = TextIn(one, "verdict");
    if (found == "unknown") without_cause = "no cause found";
    if (found == "noise" && without_cause.empty()) without_cause = found;
  }
  return without_cause;
}

std::string ReportedCase::error() const {
  const std::string text = TextIn(*line, "error");
  return text.substr(0, text.find('\n'));
}

int64_t ReportedCase::mismatches() const {
  return static_cast<int64_t>(MismatchesIn(*worst));
}

std::optional<double> ReportedCase::ulp() const {
  return Measured(NumberIn(*worst, "maxUlpError"), mismatches());
}

std::optional<double> ReportedCase::units() const {
  return Measured(NumberIn(MemberOf(*worst, "units"), "max"), mismatches());
}

namespace {

DeviceReport ReadReport(const std::string& path) {
  const std::string text = ReadText(path, kMostReportBytes);
  const bool is_stream = path == kStandardStream;
  DeviceReport report{is_stream ? "report" : std::filesystem::path(path).stem().string(), {}};
  const std::string shown = is_stream ? kStandardInputName : path;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (IsLineOfAll(json)) continue;
    if (!IsLineOfReport(json)) {
      throw ReportFault{fmt::format(
          "{}:{}: {}; expected an object with 'line' and 'status', as 'dmlop batch "
          "--report' writes them",
          shown, number + 1, json.is_discarded() ? "not JSON, or cut off" : "no line of a report")};
    }
    report.cases.emplace_back(std::move(json));
  }
  if (report.cases.empty()) throw ReportFault{shown + ": has no line of a report"};
  TellApart(report.cases);
  return report;
}

}  // namespace

std::vector<DeviceReport> ReadReports(const std::vector<std::string>& paths) {
  std::vector<DeviceReport> reports;
  for (const std::string& path : paths) reports.push_back(ReadReport(path));
  std::map<std::string, int64_t> counts;
  for (const DeviceReport& report : reports) ++counts[report.device];
  for (size_t i = 0; i < paths.size(); ++i) {
    if (counts[reports[i].device] == 1) continue;
    reports[i].device = std::filesystem::path(paths[i]).replace_extension().string();
  }
  return reports;
}

std::string KeyOf(const ReportedCase& one, std::string_view key) {
  if (key == "operator") return one.operator_name();
  if (key == "type") return one.data_type();
  if (key == "sizes") return one.sizes();
  if (key == "name") return one.name;
  if (key == "tolerance") return one.tolerance();
  if (key == "where") return one.where();
  if (key == "cause") return one.cause();
  return std::string(NameOf(one.verdict));
}

std::string_view NameOf(CaseVerdict verdict) {
  constexpr std::string_view kNames[] = {"passes", "differs", "failed", "missing"};
  return kNames[static_cast<size_t>(verdict)];
}

void DeviceCounts::Add(const ReportedCase& one) {
  const auto before = std::pair(most_units.value_or(0), most_ulp.value_or(0));
  ++cases;
  ++counts[static_cast<size_t>(one.verdict)];
  KeepMost(one.ulp(), most_ulp);
  KeepMost(one.units(), most_units);
  const bool is_further = std::pair(most_units.value_or(0), most_ulp.value_or(0)) > before;
  const bool is_wrong = one.verdict == CaseVerdict::kDiffers || one.verdict == CaseVerdict::kFails;
  if (is_wrong && (furthest_off.empty() || is_further)) furthest_off = one.name;
}

std::vector<ReportGroup> GroupsOf(const std::vector<DeviceReport>& reports,
                                  const std::vector<std::string>& by) {
  std::map<std::vector<std::string>, ReportGroup> groups;
  ReportGroup total{{}, std::vector<DeviceCounts>(reports.size())};
  for (size_t device = 0; device < reports.size(); ++device) {
    for (const ReportedCase& one : reports[device].cases) {
      std::vector<std::string> keys;
      for (const std::string& key : by) keys.push_back(KeyOf(one, key));
      AddTo(keys, device, reports.size(), one, groups);
      total.devices[device].Add(one);
    }
  }
  std::vector<ReportGroup> all;
  for (auto& [keys, group] : groups) all.push_back(std::move(group));
  all.push_back(std::move(total));
  return all;
}

std::vector<const ReportedCase*> WorstFirst(const DeviceReport& report) {
  std::vector<const ReportedCase*> wrong;
  for (const ReportedCase& one : report.cases) {
    const bool is_wrong =
        one.verdict == CaseVerdict::kDiffers || one.verdict == CaseVerdict::kFails;
    if (is_wrong) wrong.push_back(&one);
  }
  const auto rank = [](const ReportedCase* one) {
    return std::tuple(one->verdict == CaseVerdict::kFails, Distance(*one->worst));
  };
  std::ranges::stable_sort(
      wrong, [&](const ReportedCase* a, const ReportedCase* b) { return rank(a) > rank(b); });
  return wrong;
}

}  // namespace dmlop
