// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <random>

#include "app/commands.h"
#include "app/files/output.h"
#include "app/fuzz/finding.h"
#include "app/fuzz/fuzz_state.h"
#include "app/options/fuzz_options.h"
#include "app/shell_word.h"
#include "app/text/diagnostic_text.h"
#include "app/text/progress_text.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

uint64_t SeedOf(const std::string& text) {
  if (text != "random") return std::stoull(text);
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// One run, from the first case to the findings.
class FuzzRun {
 public:
  FuzzRun(const FuzzOptions& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        seed_(SeedOf(options.seed)),
        source_(options, seed_),
        judge_(options.findings.rules, options.findings.judging),
        device_(options.engine, judge_),
        maker_(device_, options.findings.shrink_runs, source_.bounds()),
        findings_(options.findings.folder, !options.resumed.empty()),
        state_(options, seed_, source_) {
    if (!options.resumed.empty()) state_.Resume(options.resumed);
  }

  ExitStatus Execute() {
    TellBeginning();
    report_.emplace(options_.report, !options_.resumed.empty());
    const bool has_run = Succeeds([&] { RunCases(); });
    if (!has_run && state_.cases() == 0 && !findings_.unwritten()) {
      std::rethrow_exception(failure_);
    }
    // A disk that is full for one file may have room for another, or another disk has. The state
    // comes last, as a run that goes on does not report again what it has.
    const bool has_findings = Succeeds([&] { findings_.Write(); });
    const bool has_report = Succeeds([&] { report_->Close(state_.ReportLine()); });
    const bool has_state = has_findings && has_report && Succeeds([&] { SaveState(); });
    TellEnd();
    if (has_state && (failure_ || EndRequest::has_come())) TellHowToGoOn();
    if (failure_) std::rethrow_exception(failure_);
    return findings_.is_empty() ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  void RunCases() {
    const size_t at_once = options_.engine.per_start * options_.engine.jobs;
    while (!IsOver()) {
      const std::vector<SourcedCase> cases = source_.Next(at_once);
      if (cases.empty() || !RunAll(cases)) break;
    }
  }

  // Returns whether a step has no error; only the first one is told.
  template <typename Step>
  bool Succeeds(Step&& step) {
    try {
      step();
      return true;
    } catch (const Error&) {
      if (!failure_) failure_ = std::current_exception();
      return false;
    }
  }

  // A run that was interrupted may go on from its first case.
  bool can_go_on() const { return state_.cases() > 0 || EndRequest::has_come(); }
  void SaveState() {
    if (can_go_on()) state_.Write(options_.findings.folder, /*is_last=*/true);
  }

  // --- what is told ------------------------------------------------------------------------------

  void TellBeginning() const {
    if (common_.quiet) return;
    if (options_.seed == "random") PrintMessage(fmt::format("dmlop: the seed is {}\n", seed_));
    constexpr uint64_t kManyBefore = 10'000;
    const uint64_t before = source_.cases_before();
    if (before > kManyBefore) {
      PrintMessage(fmt::format("dmlop: draws the {} cases before {}, on which it depends\n",
                               WithSeparators(before), options_.only_case));
    }
  }

  void TellLeftOut() const {
    std::vector<std::string> names;
    for (const FuzzedOperator& op : source_.operators()) {
      if (op.is_left_out) names.emplace_back(op.info->name);
    }
    if (names.empty() || common_.quiet) return;
    PrintMessage(fmt::format("dmlop: {} {} no such cases: {}\n", Counted(names.size(), "operator"),
                             ForCount(names.size(), "has", "have"), Listed(names)));
  }

  bool IsOver() const {
    return EndRequest::has_come() || (options_.seconds && SecondsSince(start_) > *options_.seconds);
  }

  // Returns false if the run ends before all of them have been judged.
  bool RunAll(const std::vector<SourcedCase>& cases) {
    std::vector<NamedCase> named;
    for (const SourcedCase& one : cases) named.push_back(one.one);
    std::vector<DeviceVerdict> verdicts = device_.Judge(named);
    for (size_t i = 0; i < cases.size(); ++i) {
      if (!Take(cases[i], std::move(verdicts[i]))) return false;
    }
    state_.Write(options_.findings.folder, /*is_last=*/false);
    ShowProgress(cases.back());
    return true;
  }

  // Returns false for a case that another run must take again.
  bool Take(const SourcedCase& one, DeviceVerdict verdict) {
    if (verdict.what == CaseClass::kNotRun) return false;
    std::vector<DiagnosedFile> diagnoses;
    if (verdict.what == CaseClass::kWrong) diagnoses = judge_.Diagnose(one.one, verdict);
    findings_.PreferKnownCauses(one.one, diagnoses);
    if (IsAccepted(diagnoses, options_.accepted)) verdict.what = CaseClass::kAccepted;
    if (verdict.fails() && !findings_.Count(one.one, verdict, diagnoses)) {
      if (EndRequest::has_come()) return false;
      Finding finding = maker_.Make({one.one, one.classes, verdict, diagnoses}, findings_);
      const bool is_cut = EndRequest::has_come();
      if (!is_cut || !findings_.HasLike(finding)) findings_.Add(std::move(finding));
      if (is_cut) return false;
    }
    state_.Add(one, verdict);
    report_->Add(one, verdict, diagnoses);
    return true;
  }

  void ShowProgress(const SourcedCase& last) const {
    DrawProgress([&](size_t width) {
      const double seconds = SecondsSince(start_);
      const std::vector<std::string> parts = {
          Counted(state_.cases(), "case"), Counted(findings_.own().size(), "finding"),
          fmt::format("{:.3g} starts/s", static_cast<double>(device_.starts()) / seconds)};
      return ProgressText("fuzz: " + std::string(last.one.computation.op.name()), parts, width,
                          UseUnicode());
    });
  }

  void TellEnd() const {
    TellLeftOut();
    PrintResult(state_.Text(common_.verbose));
    for (const Finding* finding : findings_.own()) {
      PrintResult(FindingText(*finding, findings_.folder()));
    }
    if (findings_.unwritten()) PrintResult(FindingText(*findings_.unwritten(), ""));
  }

  void TellHowToGoOn() const {
    if (common_.quiet || !can_go_on()) return;
    PrintMessage(
        fmt::format("dmlop: interrupted; this goes on:\n  dmlop fuzz --resume {} --engine "
                    "{}\n",
                    PathWord(options_.findings.folder), ShellWord(options_.engine.command)));
  }

  const FuzzOptions& options_;
  const CommonOptions& common_;
  const Clock::time_point start_ = Clock::now();
  const uint64_t seed_;
  CaseSource source_;
  const CaseJudge judge_;
  Device device_;
  const FindingMaker maker_;
  FindingList findings_;
  FuzzState state_;
  std::optional<FuzzReport> report_;
  std::exception_ptr failure_;
};

// --- other ways to use cases ---------------------------------------------------------------------

// Writes the cases for a device that cannot be called, some at once: all may be more than memory
// holds.
ExitStatus WriteAllCases(const FuzzOptions& options, const CommonOptions& common) {
  constexpr size_t kAtOnce = 64;
  const uint64_t seed = SeedOf(options.seed);
  CaseSource source(options, seed);
  const Clock::time_point start = Clock::now();
  const auto is_over = [&] {
    return EndRequest::has_come() || (options.seconds && SecondsSince(start) > *options.seconds);
  };
  std::vector<SourcedCase> some = source.Next(kAtOnce);
  std::error_code error;
  fs::create_directories(options.written, error);
  size_t count = 0;
  try {
    CaseListWriter writer(options.written, options.engine.form);
    for (; !some.empty() && !is_over(); some = source.Next(kAtOnce)) {
      std::vector<NamedCase> cases;
      for (SourcedCase& one : some) cases.push_back(std::move(one.one));
      writer.Add(cases);
    }
    writer.Close();
    count = writer.count();
  } catch (const Error&) {
    fs::remove(options.written, error);  // if it is empty
    throw;
  }
  if (!common.quiet) {
    PrintMessage(
        fmt::format("dmlop: wrote {}; what a device makes of them is judged by\n  dmlop "
                    "batch {} --judge {} -k\n",
                    Counted(count, "case"), PathWord(options.written + "/" + kCaseList),
                    PathWord(options.written)));
  }
  return ExitStatus::kSuccess;
}

// Runs the smallest cases of findings again, each with the tolerance that it was found with, unless
// another one is asked for.
class Replay {
 public:
  Replay(const FuzzOptions& options)
      : options_(options),
        folder_(options.replayed),
        findings_(options.replayed, /*goes_on=*/true) {}

  ExitStatus Execute() {
    const std::vector<const Finding*> findings = findings_.own();
    if (findings.empty()) {
      throw Error(ErrorKind::kFileSystem, folder_ + ": has no findings");
    }
    std::map<std::vector<std::string>, std::vector<const Finding*>> by_words;
    for (const Finding* finding : findings) by_words[WordsFor(*finding)].push_back(finding);
    std::map<int64_t, DeviceVerdict> verdicts;
    for (const auto& [words, alike] : by_words) Judge(words, alike, verdicts);
    for (const Finding* finding : findings) Tell(*finding, verdicts.at(finding->number));
    PrintResult(fmt::format("{} of {} still\n", ForCount(failed_, "1 fails", Failed()),
                            Counted(findings.size(), "finding")));
    return failed_ == 0 ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  std::string Failed() const { return fmt::format("{} fail", failed_); }

  const std::vector<std::string>& WordsFor(const Finding& finding) const {
    return options_.findings.judging.empty() ? finding.judging : options_.findings.judging;
  }

  // Cases that are judged alike share starts.
  void Judge(const std::vector<std::string>& words, const std::vector<const Finding*>& findings,
             std::map<int64_t, DeviceVerdict>& verdicts) const {
    const CaseJudge judge(ParseFuzzWords(words).findings.rules, words);
    Device device(options_.engine, judge);
    std::vector<NamedCase> alone;
    for (const Finding* finding : findings) {
      if (finding->key.what != CaseClass::kCompany) alone.push_back(finding->smallest);
    }
    const std::vector<DeviceVerdict> of_alone = device.Judge(alone);
    auto next = of_alone.begin();
    for (const Finding* finding : findings) {
      const bool is_alone = finding->key.what != CaseClass::kCompany;
      verdicts[finding->number] = is_alone ? *next++ : InCompany(*finding, device);
    }
  }

  DeviceVerdict InCompany(const Finding& finding, Device& device) const {
    if (finding.company.empty()) {
      throw Error(ErrorKind::kFileSystem, "{}/{}/{} has no cases", folder_, finding.folder(),
                  kCaseList);
    }
    return {device.FailsInCompany(finding.company) ? CaseClass::kCompany : CaseClass::kDone};
  }

  void Tell(const Finding& finding, const DeviceVerdict& verdict) {
    std::string_view what = "is mended";
    if (verdict.fails()) what = "fails still";
    if (verdict.what == CaseClass::kUnsupported) what = "is not supported any more";
    if (verdict.what == CaseClass::kNotRun) what = "was not run";
    failed_ += verdict.fails() || verdict.what == CaseClass::kNotRun ? 1 : 0;
    PrintResult(fmt::format("{}  {}  {}: {}\n", finding.number, finding.key.op,
                            Printable(finding.text), what));
  }

  const FuzzOptions& options_;
  const std::string folder_;
  const FindingList findings_;
  int64_t failed_ = 0;
};

// The options of the run that goes on, with those that belong to this one.
FuzzOptions Resumed(const FuzzOptions& given) {
  FuzzOptions options = OptionsOfState(given.resumed);
  options.engine.command = given.engine.command;
  options.engine.is_shown = given.engine.is_shown;
  if (given.has_timeout) options.engine.timeout = given.engine.timeout;
  if (given.has_jobs) options.engine.jobs = given.engine.jobs;
  options.resumed = options.findings.folder = given.resumed;
  return options;
}

}  // namespace

ExitStatus FuzzCommand(const FuzzOptions& options, const CommonOptions& common) {
  const EndRequest request;
  if (!options.written.empty()) return WriteAllCases(options, common);
  if (!options.replayed.empty()) return Replay(options).Execute();
  if (options.resumed.empty()) return FuzzRun(options, common).Execute();
  const FuzzOptions resumed = Resumed(options);
  return FuzzRun(resumed, common).Execute();
}

// --- shrink --------------------------------------------------------------------------------------

namespace {

// The options for the tolerance of a case.
std::vector<std::string> ToleranceWords(const CaseTolerance& tolerance) {
  if (tolerance.webnn) return {"--tolerance=webnn"};
  if (!tolerance.units.word().empty()) return {"--tolerance=" + tolerance.units.word()};
  if (tolerance.tolerance.bits) return {"--bits"};
  return {fmt::format("--atol={}", tolerance.tolerance.absolute),
          fmt::format("--rtol={}", tolerance.tolerance.relative),
          fmt::format("--ulp={}", tolerance.tolerance.ulp),
          fmt::format("--units={}", tolerance.units.units)};
}

// The tolerance of a case takes precedence, as everywhere.
CaseJudge JudgeOf(const ShrinkOptions& options, const LoadedCase& read) {
  ComparisonRules rules = options.findings.rules;
  if (!read.tolerance) return {rules, options.findings.judging};
  rules.tolerances = {};
  rules.tolerances.all = read.tolerance->tolerance;
  rules.units = read.tolerance->units;
  rules.webnn_tolerance = read.tolerance->webnn;
  return {rules, ToleranceWords(*read.tolerance)};
}

int64_t MostElementsOf(const NamedCase& one) {
  int64_t most = 0;
  for (const TensorSlot& slot : TensorSlots(one.computation.op)) {
    most = std::max(most, Product(LayoutOf(*slot.desc).sizes));
  }
  return most;
}

ExitStatus ShrinkCase(const ShrinkOptions& options, const CommonOptions& common) {
  const Descriptor descriptor = ReadDescriptor(options.descriptor, options.line);
  Diagnostics diagnostics;
  auto read = ReadCaseOf(descriptor, options.confine, diagnostics);
  if (!read) {
    PrintDiagnostics(diagnostics, descriptor.name, descriptor.text, UseColor(common.color));
    return StatusOf(diagnostics);
  }
  read->one.name = options.descriptor;
  if (options.line) read->one.name += fmt::format(":{}", *options.line);
  const CaseJudge judge = JudgeOf(options, *read);
  Device device(options.engine, judge);
  Failure failure{.one = read->one};
  failure.verdict = device.Judge({&failure.one, 1}).front();
  if (!failure.verdict.fails()) {
    const bool is_unsupported = failure.verdict.what == CaseClass::kUnsupported;
    PrintResult(fmt::format("{}: {}\n", Printable(failure.one.name),
                            is_unsupported ? "is not supported" : "does not fail"));
    return ExitStatus::kSuccess;
  }
  failure.diagnoses = judge.Diagnose(failure.one, failure.verdict);
  FindingList findings(options.findings.folder, /*goes_on=*/false);
  CaseBounds bounds;
  bounds.max_elements = std::max(bounds.max_elements, MostElementsOf(failure.one));
  findings.Add(FindingMaker(device, options.findings.shrink_runs, bounds).Make(failure, findings));
  for (const Finding* finding : findings.own()) {
    PrintResult(FindingText(*finding, findings.folder()));
  }
  return ExitStatus::kDifferent;
}

}  // namespace

ExitStatus ShrinkCommand(const ShrinkOptions& options, const CommonOptions& common) {
  const EndRequest request;
  return ShrinkCase(options, common);
}

}  // namespace dmlop
