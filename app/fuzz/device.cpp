// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/device.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>

#include "app/shell_word.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"
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

// Remembers how long a start took, unless the time was up. A command that the shell does not find
// or may not run is no device at all.
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

// --- verdicts ------------------------------------------------------------------------------------

namespace {

// The judgement of one output by the rules of a command line.
class OutputJudge {
 public:
  OutputJudge(const ComparisonRules& rules, const Computation& computation,
              const ConstTensorView& exact, size_t output)
      : rules_(rules), computation_(computation), exact_(exact), output_(output) {}

  Judgement Judge(const LoadedTensor& actual, const ConstTensorView& computed) const {
    const OutputUnits units{
        [&] { return ErrorUnitsOf(computation_.op, computation_.inputs, exact_, output_); },
        rules_.units};
    const JudgeDetails details{.most_listed = std::numeric_limits<size_t>::max()};
    return CompareWith({}, actual, Side::kActual, computed,
                       ToleranceFor(rules_, computation_.op, computed.type), rules_.leniency, units,
                       /*is_bool=*/false, details)
        .judgement;
  }

 private:
  const ComparisonRules& rules_;
  const Computation& computation_;
  const ConstTensorView& exact_;
  const size_t output_;
};

bool IsThere(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

// Why a path does not lead to a whole file; empty if it does.
std::string FaultOf(const std::string& path) {
  if (!IsThere(path)) return "is not there";
  return IsRegular(path) ? "" : "is no regular file";
}

// True if the bits are those that are expected, so that there is nothing to judge.
bool IsExact(const LoadedTensor& actual, const ConstTensorView& exact) {
  const ConstTensorView& view = actual.view;
  return view.type == exact.type && view.layout == exact.layout && !actual.is_bfloat16 &&
         std::memcmp(view.data, exact.data, static_cast<size_t>(exact.element_bytes())) == 0;
}

std::vector<int64_t> WrongElementsOf(const Judgement& judgement) {
  std::vector<int64_t> elements;
  for (const Difference& difference : judgement.comparison.listed) {
    elements.push_back(difference.index);
  }
  std::ranges::sort(elements);
  return elements;
}

}  // namespace

std::string_view Name(CaseClass what) {
  constexpr std::string_view kNames[] = {"not-run", "done",     "unsupported", "accepted",
                                         "engine",  "hang",     "missing",     "shape",
                                         "company", "unsteady", "wrong"};
  return kNames[static_cast<size_t>(what)];
}

ExactOutputs::ExactOutputs(const Computation& computation) {
  std::vector<TensorView> outputs;
  for (const TensorSlot& slot : TensorSlots(computation.op, TensorRole::kOutput)) {
    const Dims sizes = LayoutOf(*slot.desc).sizes;
    const DataType type = StoredAs(*slot.desc->data_type);
    Buffer& buffer = storage.emplace_back(static_cast<size_t>(Product(sizes)) * ByteWidth(type));
    outputs.push_back({buffer.data(), type, PackedLayout(sizes)});
    views.push_back(AsConst(outputs.back()));
  }
  Run(computation.op, computation.inputs, outputs);
}

DeviceVerdict CaseJudge::Judge(const NamedCase& one, const std::string& folder) const {
  if (IsThere(folder + "/" + kUnsupportedFile)) return {CaseClass::kUnsupported};
  const Computation& computation = one.computation;
  const std::vector<TensorSlot> slots = TensorSlots(computation.op, TensorRole::kOutput);
  DeviceVerdict verdict{CaseClass::kDone};
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string name = FileOfTensor(slots[i]), path = folder + "/" + name;
    std::string fault = FaultOf(path);
    try {
      if (fault.empty()) {
        verdict.outputs.push_back({i, LoadCompared(path, *slots[i].desc, rules_.shapes), {}});
      }
    } catch (const Error& error) {
      const std::string_view what = error.what();
      fault = what.starts_with(folder) ? what.substr(folder.size() + name.size() + 3) : what;
    }
    if (!fault.empty()) return {CaseClass::kMissing, "", fmt::format("{} {}", name, fault)};
  }
  const ExactOutputs exact(computation);
  const auto is_exact = [&](const JudgedOutput& output) {
    return IsExact(output.actual, exact.views[output.number]);
  };
  const bool may_be_refused = rules_.units.sums == DataType::kFloat16;
  if (!may_be_refused && std::ranges::all_of(verdict.outputs, is_exact)) return {CaseClass::kDone};
  for (JudgedOutput& output : verdict.outputs) {
    const ConstTensorView& expected = exact.views[output.number];
    output.judgement =
        OutputJudge(rules_, computation, expected, output.number).Judge(output.actual, expected);
    const Judgement& judgement = output.judgement;
    if (judgement.passes() || verdict.what == CaseClass::kShape) continue;
    verdict.what = judgement.mismatches.empty() ? CaseClass::kWrong : CaseClass::kShape;
    verdict.text =
        fmt::format("{}: {}", DisplayName(slots[output.number].path), JudgementLine(judgement));
  }
  if (verdict.what == CaseClass::kDone) verdict.outputs.clear();
  return verdict;
}

bool CaseJudge::AreAlike(const NamedCase& one, const DeviceVerdict& a,
                         const DeviceVerdict& b) const {
  if (a.what != b.what || a.code != b.code) return false;
  if (a.what != CaseClass::kWrong) return true;
  const ExactOutputs exact(one.computation);
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (WrongElementsOf(a.outputs[i].judgement) != WrongElementsOf(b.outputs[i].judgement)) {
      return false;
    }
    const OutputJudge judge(rules_, one.computation, exact.views[i], i);
    if (!judge.Judge(b.outputs[i].actual, a.outputs[i].actual.view).passes()) return false;
  }
  return true;
}

std::vector<DiagnosedFile> CaseJudge::Diagnose(const NamedCase& one,
                                               const DeviceVerdict& verdict) const {
  std::vector<ActualFile> files;
  const std::vector<TensorSlot> slots = TensorSlots(one.computation.op, TensorRole::kOutput);
  for (const JudgedOutput& output : verdict.outputs) {
    if (output.judgement.passes()) continue;
    files.push_back({output.number,
                     FileOfTensor(slots[output.number]),
                     output.actual,
                     {output.judgement.tolerance, output.judgement.units}});
  }
  return DiagnoseFiles(one.computation, files, rules_.leniency);
}

}  // namespace dmlop
