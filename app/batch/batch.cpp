// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#include "app/batch/batch_case.h"
#include "app/batch/batch_files.h"
#include "app/batch/batch_report.h"
#include "app/commands.h"
#include "app/files/manifest.h"
#include "app/text/progress_text.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/io/signals.h"

namespace dmlop {
namespace {

// Number of cases in a turn. A turn should last a fraction of a second, so that results are
// reported soon and threads seldom wait for one another.
constexpr size_t kFewestAThread = 8;
constexpr size_t kMostInTurn = 1024;
constexpr double kShortSeconds = 0.1;
constexpr double kLongSeconds = 0.4;

// The lines of a manifest that a run takes.
class Selection {
 public:
  Selection(Manifest& manifest, const BatchOptions& options)
      : manifest_(manifest), options_(options) {}

  // The next lines; empty at the end.
  std::vector<ManifestLine> Next(size_t most = kMostInTurn) {
    return manifest_.Next(most, [&](const ManifestLine& line) { return Takes(line); });
  }

  // Counts all lines taken, and rewinds the manifest.
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

  // Returns whether the manifest has any case, even of another shard; valid after Count.
  bool has_cases() const { return cases_ > 0; }

 private:
  bool Takes(const ManifestLine& line) {
    if (!options_.only.empty()) {
      const OperatorInfo* const info = OperatorOfCase(line.text);
      if (info == nullptr || info->name != options_.only) return false;
    }
    const int64_t index = case_++;
    if (options_.line) return line.number == *options_.line;
    return index % options_.shard.count == options_.shard.number - 1;
  }

  Manifest& manifest_;
  const BatchOptions& options_;
  int64_t case_ = 0;   // number of the next case of the operator that is taken, if it is only one
  int64_t cases_ = 0;  // such cases in the manifest
};

// True if no case after a failing one is run.
bool EndsAtFault(const BatchOptions& options) {
  return !options.keep_going && !options.line && options.shard.count == 1;
}

class Batch {
  // A case that has ended and waits to be reported until those before it have been.
  struct CaseRecord {
    CaseOutcome outcome;
    std::string report;  // its line of JSON
  };

 public:
  Batch(const BatchOptions& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        manifest_(options.manifest, EndsAtFault(options)),
        summary_(options, common, manifest_) {}

  ExitStatus Execute() {
    const LastWords last_words([this] { TellInterruption(); });
    Configure();
    RequireSeparateFiles(manifest_, options_.report, settings_);
    Selection selection(manifest_, options_);
    const int64_t total = selection.Count();
    const std::string what = options_.only.empty() ? "" : " of " + options_.only;
    if (options_.line) RequireOneCase(manifest_, *options_.line, total, what);
    if (!selection.has_cases() && !options_.allow_empty) {
      throw Error(ErrorKind::kUsage,
                  manifest_.name() + ": has no case" + what + "; --allow-empty takes that");
    }
    Begin(total);
    RunInTurns(selection);
    if (report_) report_->Close(options_.sync);
    summary_.Tell(options_.times ? std::optional(progress_->seconds()) : std::nullopt);
    return summary_.status();
  }

 private:
  void Configure() {
    settings_.options = options_;
    if (manifest_.is_file()) settings_.manifest = options_.manifest;
    settings_.folder = manifest_.folder();
    if (!options_.output_folder.empty()) {
      settings_.output_folder = OutputFolder(manifest_, options_.output_folder);
    }
    if (options_.check) settings_.compared = Side::kExpected;
    if (options_.judge) settings_.compared = Side::kActual;
    if (settings_.compared) settings_.output_folder.FindOutputs(manifest_, options_.check);
    settings_.color = common_.color;
    if (!options_.resume) return;
    if (!manifest_.is_file()) {
      throw Error(ErrorKind::kUsage, "--resume needs a manifest that is a file");
    }
    settings_.manifest_time = std::filesystem::last_write_time(options_.manifest);
  }

  void Begin(int64_t total) {
    const std::lock_guard lock(telling_);
    if (!options_.report.empty()) report_.emplace(options_.report);
    progress_.emplace(total);
    summary_.Begin(total);
  }

  void RunInTurns(Selection& selection) {
    const size_t fewest = kFewestAThread * static_cast<size_t>(ThreadCount());
    size_t most = fewest;
    std::vector<ManifestLine> lines = selection.Next(most);
    while (!is_over_ && !lines.empty()) {
      const double start = progress_->seconds();
      std::vector<ManifestLine> next;
      std::exception_ptr fault;  // does not keep this turn's cases from running
      RunAll(lines, [&] {
        try {
          next = selection.Next(most);
        } catch (...) {
          fault = std::current_exception();
        }
      });
      if (fault) std::rethrow_exception(fault);
      lines = std::move(next);
      const double seconds = progress_->seconds() - start;
      if (seconds < kShortSeconds) most = std::max(fewest, std::min(2 * most, kMostInTurn));
      if (seconds > kLongSeconds) most = std::max(fewest, most / 2);
    }
  }

  // Runs small cases side by side, then large ones one by one with all threads. Without
  // --keep-going none begins after one that failed, but all cases before it are run, so that the
  // report does not depend on the number of threads. Calls `search` on one of the threads
  // meanwhile.
  void RunAll(const std::vector<ManifestLine>& lines, const std::function<void()>& search) {
    BeginTurn(lines.size());
    std::vector<std::unique_ptr<BatchCase>> large(lines.size());
    std::vector<std::unique_ptr<BatchCase>> written(lines.size());  // and to be published
    std::atomic<size_t> last = lines.size();
    const auto end = [&](size_t i, const BatchCase& ended) {
      const bool passed = ended.outcome().passed();
      progress_->Add(!passed);
      Put(i, ended.outcome());
      if (passed || options_.keep_going) return;
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
                  if (first == 0) search();
                  for (int64_t i = first; i < past; ++i) begin_one(static_cast<size_t>(i));
                });
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i <= last && large[i]) run(i, std::move(large[i]));
    }
    Publish(written);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (written[i]) end(i, *written[i]);
    }
  }

  // Publishes what --sync has held back: one flush for all cases takes little longer than for one.
  static void Publish(const std::vector<std::unique_ptr<BatchCase>>& cases) {
    std::vector<OutputSet*> sets;
    for (const auto& one : cases) {
      if (one) sets.push_back(&one->files());
    }
    bool flushed = true;
    try {
      OutputSet::FlushFiles(sets);
    } catch (const Error&) {  // then each case finds its own fault
      flushed = false;
    }
    for (const auto& one : cases) {
      if (one) one->Publish(/*flush_first=*/!flushed);
    }
    OutputSet::FlushFolders(sets);
  }

  void BeginTurn(size_t count) {
    const std::lock_guard lock(telling_);
    records_.clear();
    records_.resize(count);
    next_ = 0;
  }

  // Reports, from any thread, a case that has ended and those after it that waited for it, so that
  // cases are reported in the manifest's order and as soon as possible.
  void Put(size_t number, const CaseOutcome& outcome) {
    CaseRecord record{outcome, report_ ? CaseJson(outcome, options_.times) : ""};
    record.outcome.descriptor.reset();
    if (Tell(number, std::move(record))) WriteReport();
  }

  // Returns whether this thread has to write lines.
  bool Tell(size_t number, CaseRecord record) {
    const std::lock_guard lock(telling_);
    records_[number] = std::move(record);
    ++ended_;
    for (; !is_over_ && next_ < records_.size() && records_[next_]; ++next_) {
      lines_ += records_[next_]->report;
      is_over_ = !records_[next_]->outcome.passed() && !options_.keep_going;
      summary_.Add(std::move(records_[next_]->outcome));
      records_[next_].reset();
    }
    return !lines_.empty() && !std::exchange(is_writing_, true);
  }

  // Writes lines until there are none left. Other threads add theirs meanwhile and do not wait.
  void WriteReport() {
    const std::lock_guard writing(writing_);
    for (std::string lines = TakeLines(); !lines.empty(); lines = TakeLines()) {
      report_->Write(lines);
    }
  }

  std::string TakeLines() {
    const std::lock_guard lock(telling_);
    is_writing_ = !lines_.empty();
    return std::exchange(lines_, "");
  }

  // Reports waiting cases without those that they wait for.
  void TellInterruption() {
    const std::lock_guard writing(writing_);
    const std::lock_guard lock(telling_);
    if (!progress_) return;
    if (report_) report_->Write(std::exchange(lines_, ""));
    for (const std::optional<CaseRecord>& record : records_) {
      if (record && report_) report_->Write(record->report);
    }
    summary_.TellInterruption(ended_);
  }

  const BatchOptions& options_;
  const CommonOptions& common_;
  Manifest manifest_;
  BatchSettings settings_;
  std::optional<CaseProgress> progress_;
  std::mutex writing_;  // guards writing to the report; only taken before the other one
  std::optional<BatchReport> report_;
  std::mutex telling_;       // guards the following members while cases run
  std::string lines_;        // of the report, yet to be written
  bool is_writing_ = false;  // a thread writes lines, and will those
  BatchSummary summary_;
  std::vector<std::optional<CaseRecord>> records_;  // of this turn
  size_t next_ = 0;                                 // index into records_
  int64_t ended_ = 0;
  bool is_over_ = false;
};

}  // namespace

ExitStatus BatchCommand(const BatchOptions& options, const CommonOptions& common) {
  SetEngine(options.threads, options.isa);
  if (options.expand) return ExpandSweeps(options, common);
  return Batch(options, common).Execute();
}

}  // namespace dmlop
