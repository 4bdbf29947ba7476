#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "app/batch/batch_case.h"
#include "app/batch/batch_files.h"
#include "app/batch/batch_report.h"
#include "app/batch/sweep.h"
#include "app/commands.h"
#include "app/engine.h"
#include "app/files/manifest.h"
#include "app/files/output.h"
#include "app/options/option_words.h"
#include "app/progress.h"
#include "app/shell_word.h"
#include "core/base/counted.h"
#include "core/base/error.h"
#include "core/base/parallel.h"

namespace dmlop {
namespace {

constexpr size_t kShownFailures = 20;  // told at the end

// Cases of one turn. A turn lasts a fraction of a second where it may, so that what is told comes
// soon, and threads seldom wait for one another.
constexpr size_t kFewestAThread = 8;
constexpr size_t kMost = 4096;
constexpr double kShortSeconds = 0.1;
constexpr double kLongSeconds = 0.4;

// The lines of a manifest that a run takes.
class Selection {
 public:
  Selection(Manifest& manifest, const BatchOptions& options)
      : manifest_(manifest), options_(options) {}

  // The next of them; none at the end.
  std::vector<ManifestLine> Next(size_t most = kMost) {
    return manifest_.Next(most, [&](int64_t number) { return Takes(number, case_++); });
  }

  // How many they are altogether. Leaves the manifest at its beginning.
  int64_t Count() {
    int64_t count = 0;
    for (auto lines = Next(); !lines.empty(); lines = Next()) {
      count += static_cast<int64_t>(lines.size());
    }
    manifest_.Rewind();
    cases_ = case_;
    case_ = 0;
    return count;
  }

  // Whether the manifest has a case, be it of another shard. Once counted.
  bool has_cases() const { return cases_ > 0; }

 private:
  bool Takes(int64_t number, int64_t index) const {
    if (options_.line) return number == *options_.line;
    return index % options_.shard.count == options_.shard.number - 1;
  }

  Manifest& manifest_;
  const BatchOptions& options_;
  int64_t case_ = 0;   // counts lines that are cases
  int64_t cases_ = 0;  // all of them
};

class Batch {
  // What is left to tell of a case that has ended.
  struct Told {
    CaseStatus status = CaseStatus::kDone;
    std::string report;                  // its line
    std::optional<CaseOutcome> failure;  // none where it passed
  };

 public:
  Batch(const BatchOptions& options, const CommonOptions& common)
      : options_(options), common_(common), manifest_(options.manifest) {}

  ExitStatus Execute() {
    Configure();
    RequireSeparateFiles(manifest_, options_.report, settings_);
    Selection selection(manifest_, options_);
    total_ = selection.Count();
    if (options_.line) RequireOneCase(manifest_, *options_.line, total_);
    if (!selection.has_cases() && !options_.allow_empty) {
      throw Error(ErrorKind::kUsage, manifest_.name() + ": has no case; --allow-empty takes that");
    }
    if (!options_.report.empty()) report_.emplace(options_.report);
    progress_.emplace(total_);
    RunInTurns(selection);
    if (report_) report_->Publish(options_.sync);
    TellFailures();
    if (!common_.quiet) PrintMessage(Summary());
    return status_;
  }

 private:
  void Configure() {
    settings_.folder = manifest_.folder();
    settings_.level = options_.level;
    settings_.confine = options_.confine;
    if (!options_.output_folder.empty()) {
      settings_.output_folder = OutputFolder(manifest_, options_.output_folder);
    }
    if (options_.check) settings_.compared = Side::kExpected;
    if (options_.judge) settings_.compared = Side::kActual;
    if (settings_.compared) settings_.output_folder.RequireThere();
    settings_.rules = options_.rules;
    settings_.write_inputs = options_.write_inputs;
    settings_.hash_files = !options_.report.empty();
    settings_.sync = options_.sync;
    if (!options_.resume) return;
    if (!manifest_.is_file()) {
      throw Error(ErrorKind::kUsage, "--resume needs a manifest that is a file");
    }
    settings_.manifest_time = std::filesystem::last_write_time(options_.manifest);
  }

  void RunInTurns(Selection& selection) {
    const size_t fewest = kFewestAThread * static_cast<size_t>(ThreadCount());
    size_t most = fewest;
    while (!is_over_) {
      const std::vector<ManifestLine> lines = selection.Next(most);
      if (lines.empty()) return;
      const double start = progress_->seconds();
      Tell(RunAll(lines));
      const double seconds = progress_->seconds() - start;
      if (seconds < kShortSeconds) most = std::max(fewest, std::min(2 * most, kMost));
      if (seconds > kLongSeconds) most = std::max(fewest, most / 2);
    }
  }

  // Small cases side by side, then large ones one by one with all threads. Without --keep-going
  // none is begun behind one that has failed; those before it are all run, so that what is told is
  // the same for any number of threads.
  std::vector<Told> RunAll(const std::vector<ManifestLine>& lines) {
    std::vector<Told> told(lines.size());
    std::vector<std::unique_ptr<BatchCase>> large(lines.size());
    std::vector<std::unique_ptr<BatchCase>> written(lines.size());  // and to be published
    std::atomic<size_t> last = lines.size();
    const auto end = [&](size_t i, const BatchCase& ended) {
      const CaseOutcome& outcome = ended.outcome();
      told[i].status = outcome.status;
      if (report_) told[i].report = CaseJson(outcome, options_.times);
      if (!outcome.passed()) told[i].failure = outcome;
      progress_->Add(!outcome.passed());
      if (outcome.passed() || options_.keep_going) return;
      size_t before = last;
      while (i < before && !last.compare_exchange_weak(before, i)) {
      }
    };
    const auto run = [&](size_t i, std::unique_ptr<BatchCase> one) {
      if (!one->is_finished()) one->Run();
      if (one->is_to_be_published()) {
        written[i] = std::move(one);
      } else {
        end(i, *one);
      }
    };
    const auto begin_one = [&](size_t i) {
      if (i > last) return;
      auto one = std::make_unique<BatchCase>(settings_, lines[i]);
      one->Prepare();
      if (one->is_large()) {
        large[i] = std::move(one);
      } else {
        run(i, std::move(one));
      }
    };
    ParallelFor(static_cast<int64_t>(lines.size()), 1, /*bytes=*/0,
                [&](int64_t first, int64_t past) {
                  for (int64_t i = first; i < past; ++i) begin_one(static_cast<size_t>(i));
                });
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i <= last && large[i]) run(i, std::move(large[i]));
    }
    Publish(written);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (written[i]) end(i, *written[i]);
    }
    told.resize(std::min(last + 1, told.size()));
    return told;
  }

  // What --sync has held back: a flush for all cases takes little longer than for one.
  static void Publish(const std::vector<std::unique_ptr<BatchCase>>& cases) {
    std::vector<OutputSet*> sets;
    for (const auto& one : cases) {
      if (one) sets.push_back(&one->files());
    }
    bool flushed = true;
    try {
      OutputSet::FlushFiles(sets);
    } catch (const Error&) {  // then each finds its own fault
      flushed = false;
    }
    for (const auto& one : cases) {
      if (one) one->Publish(/*flush_first=*/!flushed);
    }
    OutputSet::FlushFolders(sets);
  }

  // In the order of the manifest.
  void Tell(const std::vector<Told>& cases) {
    std::string lines;
    for (const Told& told : cases) {
      ++counts_[static_cast<size_t>(told.status)];
      lines += told.report;
      if (!told.failure) continue;
      const CaseOutcome& outcome = *told.failure;
      status_ = std::max(status_, outcome.exit_status);
      is_over_ = !options_.keep_going;
      KeepFailure(outcome);
    }
    if (report_) report_->Write(lines);
  }

  // True where `a` is told before `b`: what could not be done, in the order of the manifest, then
  // what is different, the furthest off first.
  static bool IsToldBefore(const CaseOutcome& a, const CaseOutcome& b) {
    const ComparedFile* const worst_a = a.status == CaseStatus::kDifferent ? a.worst() : nullptr;
    const ComparedFile* const worst_b = b.status == CaseStatus::kDifferent ? b.worst() : nullptr;
    if (worst_a == nullptr || worst_b == nullptr) return worst_a == nullptr && worst_b != nullptr;
    return IsFurtherOff(worst_a->judgement, worst_b->judgement);
  }

  void KeepFailure(const CaseOutcome& outcome) {
    ++failure_count_;
    failures_.insert(std::upper_bound(failures_.begin(), failures_.end(), outcome, IsToldBefore),
                     outcome);
    if (failures_.size() > kShownFailures) failures_.pop_back();
  }

  void TellFailures() const {
    const bool has_details = options_.line.has_value();
    for (const CaseOutcome& outcome : failures_) {
      PrintMessage(FaultText(outcome, manifest_.name(), has_details));
      if (manifest_.is_file()) PrintMessage(CommandFor(outcome));
    }
    const size_t rest = failure_count_ - failures_.size();
    if (rest > 0) {
      PrintMessage(fmt::format("dmlop: and {} more, which {}\n", rest,
                               report_ ? "the report has" : "--report FILE lists"));
    }
  }

  // What tells more of the case: runs it alone or, where it alone has been run, explains its worst
  // element.
  std::string CommandFor(const CaseOutcome& outcome) const {
    if (!outcome.is_case) return "";
    if (options_.line) {
      const ComparedFile* const worst = outcome.worst();
      const std::string element = worst == nullptr ? "" : WorstElement(*worst);
      if (element.empty()) return "";
      return fmt::format("how the worst element comes about:\n  dmlop explain {} {} --line {}{}\n",
                         PathWord(options_.manifest), ShellWord(element), outcome.line,
                         ConfineWords(options_.confine));
    }
    std::string text = fmt::format("  dmlop batch {}", PathWord(options_.manifest));
    if (options_.check) text += " --check";
    if (options_.judge) text += " --judge";
    if (!options_.output_folder.empty()) {
      text += " --output-path " + PathWord(options_.output_folder);
    }
    text += RuleWords(options_.rules) + ConfineWords(options_.confine);
    if (options_.level != kHighestFeatureLevel) text += " -L " + ToString(options_.level);
    return text + fmt::format(" --line {}\n", outcome.line);
  }

  std::string Summary() const {
    constexpr std::string_view kWritten[] = {"done", "up to date", "different", "failed"};
    int64_t ended = 0;
    std::string text;
    for (size_t i = 0; i < std::size(counts_); ++i) {
      ended += counts_[i];
      if (counts_[i] == 0) continue;
      text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", counts_[i], kWritten[i]);
    }
    if (ended < total_) {
      text += fmt::format(", {} not begun, which --keep-going takes too", total_ - ended);
    }
    const std::string time =
        options_.times ? fmt::format(" in {:.2f} s", progress_->seconds()) : "";
    return fmt::format("dmlop: {}{}{}\n", Counted(total_, "case"), time, text);
  }

  const BatchOptions& options_;
  const CommonOptions& common_;
  Manifest manifest_;
  BatchSettings settings_;
  std::optional<BatchReport> report_;
  std::optional<CaseProgress> progress_;
  int64_t total_ = 0;
  int64_t counts_[4] = {};             // by CaseStatus
  std::vector<CaseOutcome> failures_;  // that are told, in this order
  size_t failure_count_ = 0;
  ExitStatus status_ = ExitStatus::kSuccess;
  bool is_over_ = false;
};

}  // namespace

ExitStatus BatchCommand(const BatchOptions& options, const CommonOptions& common) {
  SetEngine(options.threads, options.isa);
  if (options.expand) return ExpandSweeps(options, common);
  return Batch(options, common).Execute();
}

}  // namespace dmlop
