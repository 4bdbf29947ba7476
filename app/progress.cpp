// SPDX-License-Identifier: Apache-2.0
#include "app/progress.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "app/files/output.h"
#include "app/text/progress_text.h"
#include "core/base/progress.h"

namespace dmlop {
namespace {

constexpr Clock::duration kSilence = std::chrono::seconds(1);  // before progress is first shown
constexpr Clock::duration kInterval = std::chrono::milliseconds(200);

std::atomic<Clock::rep> next_draw;
std::mutex drawing;
bool is_displayed = false;

void DrawWork(const Work& work) {
  DrawProgress([&](size_t width) {
    return ProgressText(
        {Printable(work.what()), work.done_bytes(), work.total_bytes(), work.seconds()}, width,
        UseUnicode());
  });
}

}  // namespace

ProgressDisplay::ProgressDisplay(bool quiet) {
  if (quiet || isatty(STDERR_FILENO) == 0) return;
  next_draw = (Clock::now() + kSilence).time_since_epoch().count();
  is_displayed = true;
  WatchWork(DrawWork);
}

ProgressDisplay::~ProgressDisplay() {
  WatchWork(nullptr);
  is_displayed = false;
  EraseProgressLine();
}

// Only one of the threads that find the line due draws it.
void DrawProgress(const std::function<std::string(size_t width)>& text) {
  if (!is_displayed) return;
  const Clock::time_point now = Clock::now();
  const auto is_due = [&] { return now.time_since_epoch().count() >= next_draw; };
  if (!is_due()) return;
  const std::unique_lock lock(drawing, std::try_to_lock);
  if (!lock || !is_due()) return;
  next_draw = (now + kInterval).time_since_epoch().count();
  ShowProgressLine(text(TerminalWidth(STDERR_FILENO).value_or(0)));
}

CaseProgress::CaseProgress(int64_t total) : total_(total), start_(Clock::now()) {
  WatchWork(nullptr);
}

void CaseProgress::Add(bool failed) {
  const int64_t done = ++done_;
  if (failed) ++failed_;
  DrawProgress([&](size_t width) {
    return ProgressText(CaseCounts{done, total_, failed_, seconds()}, width, UseUnicode());
  });
}

double CaseProgress::seconds() const {
  return SecondsSince(start_);
}

}  // namespace dmlop
