// SPDX-License-Identifier: Apache-2.0
// A device behind a command: cases go to it in folders, several in a start if it is slow to start.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "app/fuzz/device_verdict.h"
#include "app/fuzz/shell_process.h"
#include "app/options/fuzz_options.h"
#include "core/io/end_request.h"

namespace dmlop {

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

// Once the end has been requested (end_request.h), no run of the engine begins; cases that have not
// been run say so.
class Device {
 public:
  // How cases are tried whose verdict is compared with another one.
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

  // What fails has been run alone and, unless it hangs, a second time.
  std::vector<DeviceVerdict> Judge(std::span<const NamedCase> cases);

  // Cases behind one that ends its start may not have been run.
  std::vector<DeviceVerdict> Try(std::span<const NamedCase> cases, const Tries& how);

  DeviceVerdict Alone(const NamedCase& one, double timeout);

  // The shortest list that was found whose last case still fails after the others.
  std::vector<NamedCase> SmallestCompany(std::vector<NamedCase> cases);

  // Whether the last of several cases fails, or the engine.
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
