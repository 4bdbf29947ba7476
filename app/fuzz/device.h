// SPDX-License-Identifier: Apache-2.0
// A device behind a command: cases go to it in folders, several in a start if it is slow to start.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/compare/judgement.h"
#include "app/fuzz/case_folder.h"
#include "app/options/fuzz_options.h"
#include "core/io/signals.h"

namespace dmlop {

// --- processes -----------------------------------------------------------------------------------

// The end of a command of the shell, which may fail, hang, or leave processes behind.
struct ProcessEnd {
  int status = 0;          // if it ended by itself
  int signal = 0;          // that ended it; 0 for none
  bool timed_out = false;  // it took too long, and was ended
  double seconds = 0;      // that it took
  std::string last_words;  // the last lines that it wrote to standard error

  bool succeeded() const { return status == 0 && signal == 0 && !timed_out; }
};

// Runs /bin/sh -c COMMAND in a process group of its own, without input, in the current folder. When
// it returns, no process of the group is left. If `is_shown`, what the command prints goes to
// standard error. Throws an Error of kind kFileSystem if no process can be started.
ProcessEnd RunShell(const std::string& command, double most_seconds, bool is_shown);

// --- verdicts ------------------------------------------------------------------------------------

// A case ends in one of these; all from kEngine on are failures.
enum class CaseClass {
  kNotRun,
  kDone,
  kUnsupported,
  kAccepted,
  kEngine,   // the engine failed
  kHang,     // it took too long
  kMissing,  // an output is no whole .npy file
  kShape,    // an output has another type or shape
  kCompany,  // it fails only after other cases
  kUnsteady,
  kWrong,  // elements are wrong
};
std::string_view Name(CaseClass what);
constexpr bool IsFailure(CaseClass what) {
  return what >= CaseClass::kEngine;
}

// An output that a device wrote. Without mismatches, the judgement lists all wrong elements.
struct JudgedOutput {
  size_t number = 0;
  LoadedTensor actual;
  Judgement judgement;
};

struct DeviceVerdict {
  CaseClass what = CaseClass::kNotRun;
  std::string code{};                   // of the engine's failure, "status 3"
  std::string text{};                   // in words, with what the engine said
  std::vector<JudgedOutput> outputs{};  // all, if all are there and one of them is not right
  std::vector<NamedCase> company{};     // with which a case fails, itself last

  bool fails() const { return IsFailure(what); }
};

// Judges outputs by the rules of a command line.
class CaseJudge {
 public:
  // `words` are those of a command line that has these rules; without any it has the usual ones.
  CaseJudge(ComparisonRules rules, std::vector<std::string> words)
      : rules_(std::move(rules)), words_(std::move(words)) {}

  const ComparisonRules& rules() const { return rules_; }
  const std::vector<std::string>& words() const { return words_; }

  // The verdict on the outputs in a folder of a device that ended well.
  DeviceVerdict Judge(const NamedCase& one, const std::string& folder) const;

  // Returns whether two verdicts have the same wrong elements, with values that agree within the
  // tolerance.
  bool AreAlike(const NamedCase& one, const DeviceVerdict& a, const DeviceVerdict& b) const;

  // Why the outputs differ that are wrong.
  std::vector<DiagnosedFile> Diagnose(const NamedCase& one, const DeviceVerdict& verdict) const;

 private:
  ComparisonRules rules_;
  std::vector<std::string> words_;
};

// The exact outputs of a case, packed.
struct ExactOutputs {
  explicit ExactOutputs(const Computation& computation);

  std::vector<Buffer> storage;
  std::vector<ConstTensorView> views;
};

// --- the device ----------------------------------------------------------------------------------

// A folder below TMPDIR that goes with the object, or with the process.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return tree_.get(); }

 private:
  TemporaryTree tree_;
};

// Once the end has been requested (signals.h), no run of the engine begins; cases that have not
// been run say so.
class Device {
 public:
  // The settings of a try of cases whose verdict is compared with another one.
  struct Tries {
    double timeout = 0;
    bool are_alone = false;     // share no start
    bool are_confirmed = true;  // what fails beside others is run alone
    int most_runs = 1;          // until one fails
    // Tells the verdict after which nothing else of the start matters.
    std::function<bool(const NamedCase& one, const DeviceVerdict& verdict)> ends = nullptr;
  };

  Device(EngineOptions options, const CaseJudge& judge);

  const EngineOptions& options() const { return options_; }
  const CaseJudge& judge() const { return judge_; }

  // A failing case has been run alone and, unless it hangs, a second time.
  std::vector<DeviceVerdict> Judge(std::span<const NamedCase> cases);

  // Cases behind one that ends its start may not have been run.
  std::vector<DeviceVerdict> Try(std::span<const NamedCase> cases, const Tries& how);

  DeviceVerdict Alone(const NamedCase& one, double timeout);

  // The shortest list that was found whose last case still fails after the others.
  std::vector<NamedCase> SmallestCompany(std::vector<NamedCase> cases);

  // Returns whether the last of several cases fails, or the engine.
  bool FailsInCompany(std::span<const NamedCase> cases);

  // A time within which all that came back so far would have come back.
  double TimeoutOfTries(std::string_view op) const;

  int64_t starts() const { return starts_; }

 private:
  // The end of the engine, and the verdicts on what it wrote until then.
  struct Start {
    ProcessEnd end;
    std::vector<DeviceVerdict> verdicts;

    bool succeeded() const { return end.succeeded(); }
  };

  Start Run(std::span<const NamedCase> cases, double timeout);
  std::string CommandFor(const std::string& folder) const;
  void TakeEnd(std::span<const NamedCase> cases, const ProcessEnd& end);
  DeviceVerdict VerdictOf(const ProcessEnd& end, double timeout) const;
  DeviceVerdict Confirmed(const NamedCase& one, DeviceVerdict first);
  void JudgeTogether(std::span<const NamedCase> cases, std::span<DeviceVerdict> verdicts);
  DeviceVerdict TryAlone(const NamedCase& one, const Tries& how);
  void TryTogether(std::span<const NamedCase> cases, const Tries& how,
                   std::span<DeviceVerdict> verdicts);
  void ForEachStart(size_t count, size_t at_once,
                    const std::function<void(size_t begin, size_t end)>& run);

  const EngineOptions options_;
  const CaseJudge& judge_;
  const ScratchFolder scratch_;
  std::atomic<int64_t> starts_ = 0;
  mutable std::mutex mutex_;                            // guards the following members
  bool has_started_ = false;                            // a first start has ended
  std::map<std::string, double, std::less<>> longest_;  // seconds of a start by operator
};

}  // namespace dmlop
