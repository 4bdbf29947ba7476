// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>

#include "app/shell_word.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/io/temporary_file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

constexpr int kUnsupported = 125;  // as "git bisect run" has it
constexpr int kRunsOfUnsteady = 10;

std::string NewFolder() {
  const char* named = std::getenv("TMPDIR");
  std::string path = named != nullptr && *named != '\0' ? named : "/tmp";
  path = fs::absolute(path).string() + "/dmlop-fuzz-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) FailFile(path, "cannot be created", errno);
  return path;
}

// Removes a tree in which a device may have taken rights from folders.
void RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, error);
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) {
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
    at.increment(error);
  }
  fs::remove_all(path, error);
}

// The folder of one start.
class StartFolder {
 public:
  explicit StartFolder(std::string path) : path_(std::move(path)) { MakeFolder(path_); }
  StartFolder(const StartFolder&) = delete;
  StartFolder& operator=(const StartFolder&) = delete;
  ~StartFolder() { RemoveTree(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A heading with the last of the engine's words, as that is what a traceback ends with; then all.
std::string WithWords(std::string text, const std::string& words) {
  if (words.empty()) return text;
  const size_t last_line = words.rfind('\n');
  if (last_line == std::string::npos) return text + ": " + words;
  return fmt::format("{}: {}\n{}", text, words.substr(last_line + 1), words);
}

}  // namespace

ScratchFolder::ScratchFolder() : tree_(NewFolder()) {}

ScratchFolder::~ScratchFolder() {
  RemoveTree(tree_.get());
}

Device::Device(EngineOptions options, const CaseJudge& judge)
    : options_(std::move(options)), judge_(judge) {}

std::string Device::CommandFor(const std::string& folder) const {
  constexpr std::string_view kFolder = "{}";
  std::string command = options_.command;
  const std::string word = QuotedWord(folder);
  size_t at = command.find(kFolder);
  if (at == std::string::npos) return command + " " + word;
  for (; at != std::string::npos; at = command.find(kFolder, at + word.size())) {
    command.replace(at, kFolder.size(), word);
  }
  return command;
}

Device::Start Device::Run(std::span<const NamedCase> cases, double timeout) {
  const StartFolder folder(fmt::format("{}/{}", scratch_.path(), starts_++));
  const bool is_list = options_.per_start > 1;
  is_list ? WriteCases(folder.path(), cases, options_.form)
          : WriteCase(folder.path(), cases.front(), options_.form);
  Start start{RunShell(CommandFor(folder.path()), timeout, options_.is_shown), {}};
  TakeEnd(cases, start.end);
  start.verdicts.resize(cases.size());
  ParallelFor(std::ssize(cases), 1, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const std::string own = is_list ? fmt::format("{}/{}", folder.path(), i) : folder.path();
      start.verdicts[i] = judge_.Judge(cases[i], own);
    }
  });
  return start;
}

// Remembers how long a start took that came back. A command that the shell does not find or may
// not run is no device at all.
void Device::TakeEnd(std::span<const NamedCase> cases, const ProcessEnd& end) {
  const std::lock_guard lock(mutex_);
  const bool is_first = !std::exchange(has_started_, true);
  if (is_first && (end.status == 126 || end.status == 127)) {
    throw Error(ErrorKind::kFileSystem, WithWords("the engine cannot be run", end.last_words));
  }
  if (end.timed_out) return;
  for (const NamedCase& one : cases) {
    double& longest = longest_[std::string(one.computation.op.name())];
    longest = std::max(longest, end.seconds);
  }
}

DeviceVerdict Device::VerdictOf(const ProcessEnd& end, double timeout) const {
  if (end.timed_out) {
    return {CaseClass::kHang, "",
            WithWords(fmt::format("takes longer than {:g} s", timeout), end.last_words)};
  }
  if (end.status == kUnsupported) return {CaseClass::kUnsupported};
  if (end.signal != 0) {
    const std::string code = fmt::format("signal {}", end.signal);
    return {CaseClass::kEngine, code,
            WithWords(fmt::format("the engine ended by {}, {}", code, strsignal(end.signal)),
                      end.last_words)};
  }
  const std::string code = fmt::format("status {}", end.status);
  return {CaseClass::kEngine, code, WithWords("the engine ended with " + code, end.last_words)};
}

DeviceVerdict Device::Alone(const NamedCase& one, double timeout) {
  if (EndRequest::has_come()) return {};
  Start start = Run({&one, 1}, timeout);
  return start.succeeded() ? std::move(start.verdicts.front()) : VerdictOf(start.end, timeout);
}

// A failure that another run does not have is told with the share of runs that have one.
DeviceVerdict Device::Confirmed(const NamedCase& one, DeviceVerdict first) {
  if (!first.fails() || first.what == CaseClass::kHang) return first;
  const DeviceVerdict second = Alone(one, options_.timeout);
  if (second.what == CaseClass::kNotRun || judge_.AreAlike(one, first, second)) return first;
  int failed = second.fails() ? 2 : 1;
  for (int run = 2; run < kRunsOfUnsteady; ++run) {
    failed += Alone(one, options_.timeout).fails() ? 1 : 0;
  }
  first.text = fmt::format("{} of {} runs: {}",
                           failed == kRunsOfUnsteady ? "is wrong in another way in each"
                                                     : fmt::format("fails in {}", failed),
                           kRunsOfUnsteady, first.text);
  first.what = CaseClass::kUnsteady;
  first.code.clear();
  return first;
}

void Device::JudgeTogether(std::span<const NamedCase> cases, std::span<DeviceVerdict> verdicts) {
  if (cases.size() == 1) {
    verdicts[0] = Confirmed(cases[0], Alone(cases[0], options_.timeout));
    return;
  }
  Start start = Run(cases, options_.timeout);
  std::vector<size_t> suspects;  // that fail in company only
  bool is_explained = start.succeeded();
  for (size_t i = 0; i < cases.size(); ++i) {
    verdicts[i] = start.verdicts[i];
    if (start.succeeded() && !verdicts[i].fails()) continue;
    verdicts[i] = Confirmed(cases[i], Alone(cases[i], options_.timeout));
    const CaseClass alone = verdicts[i].what;
    is_explained |= alone != CaseClass::kDone;
    if (start.succeeded() && alone == CaseClass::kDone) suspects.push_back(i);
  }
  if (!is_explained) {
    const auto culprit = std::ranges::find_if(start.verdicts, &DeviceVerdict::fails);
    const bool is_known = culprit != start.verdicts.end();
    suspects.push_back(is_known ? static_cast<size_t>(culprit - start.verdicts.begin())
                                : cases.size() - 1);
    start.verdicts[suspects[0]] = VerdictOf(start.end, options_.timeout);
  }
  if (suspects.empty() || EndRequest::has_come()) return;
  const Start again = Run(cases, options_.timeout);
  for (const size_t i : suspects) {
    const bool fails_again = again.succeeded() ? again.verdicts[i].fails() : !start.succeeded();
    verdicts[i] = start.verdicts[i];
    verdicts[i].what = fails_again ? CaseClass::kCompany : CaseClass::kUnsteady;
    verdicts[i].code.clear();
    verdicts[i].text = (fails_again ? "fails only after other cases: " : "fails in some runs: ") +
                       verdicts[i].text;
    if (fails_again) verdicts[i].company.assign(cases.begin(), cases.begin() + std::ssize(cases));
    if (fails_again) verdicts[i].company.resize(i + 1, cases[0]);
  }
}

std::vector<DeviceVerdict> Device::Judge(std::span<const NamedCase> cases) {
  std::vector<DeviceVerdict> verdicts(cases.size());
  ForEachStart(cases.size(), options_.per_start, [&](size_t begin, size_t end) {
    JudgeTogether(cases.subspan(begin, end - begin),
                  std::span(verdicts).subspan(begin, end - begin));
  });
  return verdicts;
}

void Device::TryTogether(std::span<const NamedCase> cases, const Tries& how,
                         std::span<DeviceVerdict> verdicts) {
  std::optional<Start> start;
  if (cases.size() > 1) start = Run(cases, how.timeout);
  for (size_t i = 0; i < cases.size(); ++i) {
    const bool is_known = start && start->succeeded();
    if (is_known && (!how.are_confirmed || !start->verdicts[i].fails())) {
      verdicts[i] = std::move(start->verdicts[i]);
    } else {
      verdicts[i] = TryAlone(cases[i], how);
    }
    if (how.ends && how.ends(cases[i], verdicts[i])) return;
  }
}

DeviceVerdict Device::TryAlone(const NamedCase& one, const Tries& how) {
  DeviceVerdict verdict;
  for (int run = 0; run < how.most_runs && !verdict.fails(); ++run) {
    verdict = Alone(one, how.timeout);
  }
  return verdict;
}

std::vector<DeviceVerdict> Device::Try(std::span<const NamedCase> cases, const Tries& how) {
  std::vector<DeviceVerdict> verdicts(cases.size());
  ForEachStart(cases.size(), how.are_alone ? 1 : options_.per_start, [&](size_t begin, size_t end) {
    TryTogether(cases.subspan(begin, end - begin), how,
                std::span(verdicts).subspan(begin, end - begin));
  });
  return verdicts;
}

bool Device::FailsInCompany(std::span<const NamedCase> cases) {
  if (EndRequest::has_come()) return false;
  const Start start = Run(cases, options_.timeout);
  return !start.succeeded() || start.verdicts.back().fails();
}

std::vector<NamedCase> Device::SmallestCompany(std::vector<NamedCase> cases) {
  for (size_t part = cases.size() / 2; part > 0; part /= 2) {
    for (size_t begin = 0; begin + 1 < cases.size();) {
      const size_t end = std::min(begin + part, cases.size() - 1);
      std::vector<NamedCase> rest(cases.begin(),
                                  cases.begin() + static_cast<std::ptrdiff_t>(begin));
      rest.insert(rest.end(), cases.begin() + static_cast<std::ptrdiff_t>(end), cases.end());
      if (rest.size() > 1 && FailsInCompany(rest)) {
        cases = std::move(rest);
      } else {
        begin = end;
      }
    }
  }
  return cases;
}

double Device::TimeoutOfTries(std::string_view op) const {
  const std::lock_guard lock(mutex_);
  const auto longest = longest_.find(op);
  const double ten_times = longest == longest_.end() ? options_.timeout : 10 * longest->second;
  return std::min(options_.timeout, std::max(1.0, ten_times));
}

// The verdicts do not depend on which thread runs what.
void Device::ForEachStart(size_t count, size_t at_once,
                          const std::function<void(size_t begin, size_t end)>& run) {
  std::atomic<size_t> next = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t begin = next.fetch_add(at_once); begin < count; begin = next.fetch_add(at_once)) {
      if (EndRequest::has_come()) return;
      try {
        run(begin, std::min(begin + at_once, count));
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> others;
  const size_t starts = (count + at_once - 1) / at_once;
  for (size_t job = 1; job < std::min(options_.jobs, starts); ++job) others.emplace_back(work);
  work();
  others.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dmlop
