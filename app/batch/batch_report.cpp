// SPDX-License-Identifier: Apache-2.0
#include "app/batch/batch_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

#include "app/files/output.h"
#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "app/text/comparison_text.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

// The output that says most about a case: one with a cause, one without, or noise.
const DiagnosedFile& Decisive(const std::vector<DiagnosedFile>& files) {
  return *std::ranges::max_element(files, {}, [](const DiagnosedFile& file) {
    return file.passes() ? 0 : file.diagnosis.causes.empty() ? 1 : 2;
  });
}

// "tail-missing" for "tail-missing:axis=1,from=80", but "not-written=nan" for
// "not-written:[*, 48..63]=nan". The strides of a tensor depend on its sizes.
std::string WithoutDetail(const std::string& id) {
  const size_t detail = id.find(':');
  if (detail == std::string::npos) {
    const size_t strides = id.rfind("/Strides=");
    return id.substr(0, strides == std::string_view("/desc").size() ? id.size() : strides);
  }
  const size_t value = id.starts_with("not-written:") ? id.rfind('=') : std::string::npos;
  return id.substr(0, detail) + (value == std::string::npos ? "" : id.substr(value));
}

// Causes that differ in details only are one, and so are unexplained outputs that are wrong alike.
std::string KeyOf(const DiagnosedFile& file) {
  const Diagnosis& diagnosis = file.diagnosis;
  if (!file.mismatches.empty()) return "other-type-or-shape";
  if (diagnosis.verdict == DiagnosisVerdict::kUnknown) {
    return diagnosis.classes.empty() ? "unknown" : diagnosis.classes.front().id;
  }
  if (diagnosis.verdict != DiagnosisVerdict::kCause) return std::string(Name(diagnosis.verdict));
  std::string key;
  for (const std::string& id : diagnosis.causes.front().ids) key += WithoutDetail(id) + " ";
  return key;
}

}  // namespace

void CauseGroups::Add(const CaseOutcome& outcome) {
  if (outcome.diagnoses.empty()) return;
  const DiagnosedFile& file = Decisive(outcome.diagnoses);
  Group& group = groups_[KeyOf(file)];
  const ComparedFile& worst = *outcome.worst();
  std::string text = DiagnosisLine(file);
  group.has_others |= group.count > 0 && text != group.text;
  if (group.count++ > 0 && !IsFurtherOff(worst.judgement, group.worst)) return;
  group.text = std::move(text);
  group.example = outcome.name.empty() ? file.path : outcome.name;
  group.line = outcome.line;
  group.worst = worst.judgement;
}

std::string CauseGroups::Text(const std::string& manifest, int64_t total) const {
  std::vector<const Group*> order;
  int64_t count = 0;
  for (const auto& [key, group] : groups_) {
    order.push_back(&group);
    count += group.count;
  }
  if (order.empty()) return "";
  std::ranges::stable_sort(order, std::greater<>(), &Group::count);
  std::string summary, examples;
  for (const Group* group : order) {
    const std::string text = group->text + (group->has_others ? " and the like" : "");
    summary += fmt::format("{}{} {}", summary.empty() ? "" : "; ", group->count, text);
    examples += fmt::format("  {:>6}  {}, as {}:{}: {}\n", group->count, text, manifest,
                            group->line, Printable(group->example));
  }
  return fmt::format("{} of {} differ: {}\n{}", count, total, summary, examples);
}

namespace {

constexpr size_t kMostTold = 20;  // printed failures, and printed warnings
constexpr size_t kFewPasses = 8;

std::string_view NameOf(CaseStatus status) {
  constexpr std::string_view kNames[] = {"done",   "up-to-date", "different",
                                         "failed", "missing",    "unsupported"};
  return kNames[static_cast<size_t>(status)];
}

std::string Named(const CaseOutcome& outcome, const std::string& text) {
  return Printable(outcome.name.empty() ? text : outcome.name + ": " + text);
}

// "manifest:line:column: name: text", with "warning: " before the name of a warning.
std::string LineOf(const CaseOutcome& outcome, const CaseFault& fault,
                   const std::string& manifest) {
  const std::string place = fault.place
                                ? fmt::format("{}:{}", fault.place->line, fault.place->column)
                                : fmt::format("{}", outcome.line);
  return fmt::format("{}:{}: {}{}\n", manifest, place,
                     fault.what.severity == Severity::kWarning ? "warning: " : "",
                     Named(outcome, fault.text()));
}

// The agreement of each comparison, or else the status.
std::string PassText(const CaseOutcome& outcome, const std::string& manifest) {
  std::string text;
  for (const ComparedFile& compared : outcome.files.compared) {
    text += (text.empty() ? "" : "; ") + AgreesText(compared);
  }
  if (text.empty()) text = NameOf(outcome.status);
  return fmt::format("{}:{}: {}\n", manifest, outcome.line, Named(outcome, text));
}

// True if `a` is reported before `b`: cases that could not be run come first, in the manifest's
// order, then differing ones, the furthest off first, and then those whose files are missing.
bool IsToldBefore(const CaseOutcome& a, const CaseOutcome& b) {
  const auto lacks_file = [](const CaseOutcome& one) { return one.status == CaseStatus::kMissing; };
  if (lacks_file(a) != lacks_file(b)) return lacks_file(b);
  const ComparedFile* const worst_a = a.status == CaseStatus::kDifferent ? a.worst() : nullptr;
  const ComparedFile* const worst_b = b.status == CaseStatus::kDifferent ? b.worst() : nullptr;
  if (worst_a == nullptr || worst_b == nullptr) return worst_a == nullptr && worst_b != nullptr;
  return IsFurtherOff(worst_a->judgement, worst_b->judgement);
}

// Returns whether all that differs has been diagnosed; inputs are not.
bool IsToldByCause(const CaseOutcome& outcome) {
  const auto wrong = std::ranges::count_if(
      outcome.diagnoses, [](const DiagnosedFile& file) { return !file.passes(); });
  return !outcome.diagnoses.empty() && wrong == std::ssize(outcome.faults);
}

}  // namespace

std::string CaseJson(const CaseOutcome& outcome, bool times) {
  Json json = {{"line", outcome.line},
               {"dmlop", DMLOP_VERSION},
               {"status", NameOf(outcome.status)},
               {"exitStatus", static_cast<int>(outcome.exit_status)},
               {"inputs", FilesJson(outcome.files.inputs)},
               {"outputs", FilesJson(outcome.files.outputs)}};
  if (!outcome.files.compared.empty()) {
    json["comparisons"] = ComparisonsJson(outcome.files.compared);
  }
  if (outcome.missing > 0) json["missing"] = outcome.missing;
  for (const DiagnosedFile& file : outcome.diagnoses) {
    json["diagnoses"].push_back(DiagnosisJson(file));
  }
  if (!outcome.name.empty()) json["name"] = outcome.name;
  if (!outcome.type.empty()) json["operator"] = outcome.type;
  if (outcome.descriptor) json["descriptor"] = *outcome.descriptor;
  if (times) json["seconds"] = SecondsJson(outcome.times);
  for (const CaseFault& warning : outcome.warnings) json["warnings"].push_back(warning.text());
  if (!outcome.passed()) {
    std::string error;
    for (const CaseFault& fault : outcome.faults) {
      error += (error.empty() ? "" : "\n") + fault.text();
    }
    json["error"] = error;
  }
  return OneLine(json) + "\n";
}

std::string FaultText(const CaseOutcome& outcome, const std::string& manifest, bool details) {
  std::string text;
  for (const CaseFault& fault : outcome.faults) {
    text += LineOf(outcome, fault, manifest);
    if (details) text += fault.details;
  }
  return text;
}

// Replaces an old file as outputs do: the new one keeps its mode, and links are followed.
BatchReport::BatchReport(const std::string& path) {
  if (path == kStandardStream || path == "/dev/stdout") return;
  if (!IsStream(path)) ResultFile(path, "").Publish();
  stream_.emplace(path);
}

void BatchReport::Write(const std::string& lines) {
  stream_ ? stream_->Write(std::as_bytes(std::span(lines))) : PrintResult(lines);
}

void BatchReport::Close(bool synced) {
  if (stream_ && synced) stream_->Flush();
  if (stream_) stream_->Close();
}

void BatchSummary::Add(CaseOutcome outcome) {
  ++counts_[static_cast<size_t>(outcome.status)];
  status_ = std::max(status_, outcome.exit_status);
  missing_ += outcome.missing;
  causes_.Add(outcome);
  if (!outcome.lacks_tolerance.empty()) without_tolerance_.insert(outcome.lacks_tolerance);
  for (const CaseFault& warning : outcome.warnings) {
    if (warning_count_++ < kMostTold) {
      warnings_.push_back(LineOf(outcome, warning, manifest_.name()));
    }
  }
  if (IsToldByCause(outcome)) return;
  if (!outcome.passed()) return KeepFailure(std::move(outcome));
  const bool is_kept = is_compared() && passes_.size() <= kFewPasses;
  if (!is_kept && !common_.verbose) return;
  const std::string text = PassText(outcome, manifest_.name());
  if (is_kept) passes_.push_back(text);
  if (common_.verbose) PrintMessage(text);
}

void BatchSummary::KeepFailure(CaseOutcome outcome) {
  ++failure_count_;
  const auto place = std::upper_bound(failures_.begin(), failures_.end(), outcome, IsToldBefore);
  failures_.insert(place, std::move(outcome));
  if (failures_.size() > kMostTold) failures_.pop_back();
}

void BatchSummary::Tell(std::optional<double> seconds) const {
  TellWarnings();
  ReportFailures();
  TellPasses();
  PrintMessage(causes_.Text(manifest_.name(), total_));
  if (common_.quiet) return;
  TellMissing();
  if (!without_tolerance_.empty()) {
    PrintMessage(LacksToleranceText({without_tolerance_.begin(), without_tolerance_.end()}));
  }
  std::string text = Counts();
  const int64_t ended = std::accumulate(std::begin(counts_), std::end(counts_), int64_t{0});
  if (ended < total_) {
    text += fmt::format(", {} not begun, which --keep-going takes too", total_ - ended);
  }
  const std::string time = seconds ? fmt::format(" in {:.2f} s", *seconds) : "";
  PrintMessage("dmlop: {}{}{}{}\n", Counted(total_, "case"), time, text.empty() ? "" : ": ", text);
}

void BatchSummary::TellInterruption(int64_t ended) const {
  if (common_.quiet) return;
  std::string way;
  if (!is_compared() && manifest_.is_file()) {
    way =
        options_.resume ? "; the same command goes on" : "; the same command with --resume goes on";
  }
  PrintMessage("dmlop: interrupted: {} of {} have ended{}\n", ended, Counted(total_, "case"), way);
}

// Returns text such as "1 done, 2 failed".
std::string BatchSummary::Counts() const {
  constexpr std::string_view kWritten[] = {"done",   "up to date", "different",
                                           "failed", "missing",    "not supported"};
  std::string text;
  for (size_t i = 0; i < std::size(counts_); ++i) {
    if (counts_[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts_[i], kWritten[i]);
  }
  return text;
}

void BatchSummary::TellWarnings() const {
  if (common_.quiet || warnings_.empty()) return;
  for (const std::string& warning : warnings_) PrintMessage(warning);
  TellRest(warning_count_ - warnings_.size(), " warnings");
}

void BatchSummary::ReportFailures() const {
  const bool has_details = options_.line.has_value();
  for (const CaseOutcome& outcome : failures_) {
    PrintMessage(FaultText(outcome, manifest_.name(), has_details));
    if (manifest_.is_file() && !common_.quiet) PrintMessage(CommandFor(outcome));
  }
  TellRest(failure_count_ - failures_.size(), "");
}

void BatchSummary::TellRest(size_t count, const char* what) const {
  if (count == 0) return;
  PrintMessage("dmlop: and {} more{}, which {}\n", count, what,
               options_.report.empty() ? "--report FILE lists" : "the report has");
}

// A few passes among many failures are what users look for, as the right one of hypotheses.
void BatchSummary::TellPasses() const {
  const bool are_few = passes_.size() <= kFewPasses && passes_.size() < failure_count_;
  if (common_.quiet || common_.verbose || !options_.keep_going || !are_few) return;
  for (const std::string& pass : passes_) PrintMessage(pass);
}

bool BatchSummary::HasNothing() const {
  const auto count = [&](CaseStatus status) { return counts_[static_cast<size_t>(status)]; };
  const int64_t ended = std::accumulate(std::begin(counts_), std::end(counts_), int64_t{0});
  return options_.skip_missing && !options_.allow_empty && count(CaseStatus::kMissing) > 0 &&
         count(CaseStatus::kMissing) + count(CaseStatus::kUnsupported) == ended;
}

void BatchSummary::TellMissing() const {
  if (missing_ == 0) return;
  const char* const more = HasNothing() ? ", so nothing is judged; --allow-empty takes that"
                           : options_.skip_missing ? ""
                                                   : "; --skip-missing leaves them out";
  PrintMessage("dmlop: {} of outputs {} not there{}\n", Counted(missing_, "file"),
               ForCount(missing_, "is", "are"), more);
}

// A command that tells more about the case: it runs the case alone or, if the case was run alone,
// explains its worst element.
std::string BatchSummary::CommandFor(const CaseOutcome& outcome) const {
  if (!outcome.is_case) return "";
  if (options_.line) {
    const ComparedFile* const worst = outcome.worst();
    const std::string element = worst == nullptr ? "" : WorstElement(*worst);
    if (element.empty() || worst->judgement.passes()) return "";
    return fmt::format("how the worst element comes about:\n  dmlop explain {} {} --line {}{}\n",
                       PathWord(options_.manifest), ShellWord(element), outcome.line,
                       ConfineWords(options_.confine));
  }
  std::string text = fmt::format("  dmlop batch {}", PathWord(options_.manifest));
  if (options_.check) text += " --check";
  if (options_.judge) text += " --judge";
  if (options_.has_inputs) text += " --inputs";
  if (options_.skip_missing) text += " --skip-missing";
  if (!options_.output_folder.empty()) text += " --output-path " + PathWord(options_.output_folder);
  text += RuleWords(options_.rules) + ConfineWords(options_.confine);
  if (options_.level != kHighestFeatureLevel) text += " -L " + ToString(options_.level);
  return text + fmt::format(" --line {}\n", outcome.line);
}

}  // namespace dmlop
