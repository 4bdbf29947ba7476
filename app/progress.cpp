#include "app/progress.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "app/output.h"
#include "app/progress_text.h"
#include "core/base/progress.h"

namespace dmlop {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration kSilence = std::chrono::seconds(1);  // at first
constexpr Clock::duration kInterval = std::chrono::milliseconds(200);

std::atomic<Clock::rep> next_draw;
std::mutex drawing;

// Of the threads that find the line due, one draws it.
void DrawWhenDue(const Work& work) {
  const Clock::time_point now = Clock::now();
  const auto is_due = [&] { return now.time_since_epoch().count() >= next_draw; };
  if (!is_due()) return;
  const std::unique_lock lock(drawing, std::try_to_lock);
  if (!lock || !is_due()) return;
  next_draw = (now + kInterval).time_since_epoch().count();
  const size_t width = TerminalWidth(STDERR_FILENO).value_or(0);
  ShowProgressLine(ProgressText(
      {Printable(work.what()), work.done_bytes(), work.total_bytes(), work.seconds()}, width));
}

}  // namespace

ProgressDisplay::ProgressDisplay(bool quiet) {
  if (quiet || isatty(STDERR_FILENO) == 0) return;
  next_draw = (Clock::now() + kSilence).time_since_epoch().count();
  WatchWork(DrawWhenDue);
}

ProgressDisplay::~ProgressDisplay() {
  WatchWork(nullptr);
  EraseProgressLine();
}

}  // namespace dmlop
