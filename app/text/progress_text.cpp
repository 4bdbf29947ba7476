// SPDX-License-Identifier: Apache-2.0
#include "app/text/progress_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <string_view>
#include <utility>

#include "app/files/output.h"
#include "app/text/table_text.h"
#include "core/base/progress.h"
#include "core/base/text.h"

namespace dmlop {

// --- text ----------------------------------------------------------------------------------------

namespace {

constexpr double kMinSeconds = 0.05;  // before that, a rate means nothing

struct Unit {
  double bytes;
  std::string_view name;
};

Unit UnitFor(double bytes) {
  constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}};
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.bytes) return unit;
  }
  return {1e3, "kB"};
}

std::string BytesText(double bytes) {
  const Unit unit = UnitFor(bytes);
  return fmt::format("{:.1f} {}", bytes / unit.bytes, unit.name);
}

// The parts that follow "what: ", from left to right.
std::vector<std::string> PartsOf(const ProgressState& state) {
  const double total = static_cast<double>(state.total_bytes);
  const bool known = total > 0;
  const double done = known ? std::min(static_cast<double>(state.done_bytes), total)
                            : static_cast<double>(state.done_bytes);
  std::vector<std::string> parts;
  if (known) {
    parts.push_back(fmt::format("{:.0f}%", std::floor(100 * done / total)));
    const Unit unit = UnitFor(total);
    parts.push_back(
        fmt::format("{:.1f} of {:.1f} {}", done / unit.bytes, total / unit.bytes, unit.name));
  } else {
    parts.push_back(BytesText(done));
  }
  if (state.seconds < kMinSeconds) return parts;
  const double rate = done / state.seconds;
  parts.push_back(BytesText(rate) + "/s");
  if (known && rate > 0) parts.push_back(TimeLeftText((total - done) / rate));
  return parts;
}

std::vector<std::string> PartsOf(const CaseCounts& counts) {
  const double done = static_cast<double>(counts.done);
  const double total = static_cast<double>(counts.total);
  std::vector<std::string> parts = {
      fmt::format("{:.0f}%", counts.total == 0 ? 100 : std::floor(100 * done / total)),
      fmt::format("{} of {}", counts.done, Counted(counts.total, "case")),
      fmt::format("{} failed", counts.failed)};
  if (counts.seconds < kMinSeconds) return parts;
  const double rate = done / counts.seconds;
  parts.push_back(fmt::format("{:.0f} cases/s", rate));
  if (rate > 0) parts.push_back(TimeLeftText((total - done) / rate));
  return parts;
}

// CutTo with an ellipsis that the terminal can show.
std::string Shortened(size_t width, std::string_view text, bool unicode) {
  constexpr std::string_view kEllipsis = "…";
  std::string cut = CutTo(width, text);
  if (!unicode && cut != text && !cut.empty()) {
    cut.replace(cut.size() - kEllipsis.size(), kEllipsis.size(), "~");
  }
  return cut;
}

}  // namespace

std::string ProgressText(const ProgressState& state, size_t width, bool unicode) {
  return ProgressText(state.what, PartsOf(state), width, unicode);
}

std::string ProgressText(const CaseCounts& counts, size_t width, bool unicode) {
  return ProgressText("batch", PartsOf(counts), width, unicode);
}

std::string ProgressText(const std::string& what, const std::vector<std::string>& parts,
                         size_t width, bool unicode) {
  constexpr std::string_view kBetween = "  ";
  std::string text;
  for (const std::string& part : parts) {
    std::string longer = text.empty() ? ": " + part : fmt::format("{}{}{}", text, kBetween, part);
    if (!text.empty() && TextWidth(what) + TextWidth(longer) > width) break;
    text = std::move(longer);
  }
  const size_t room = width - std::min(width, TextWidth(text));
  return Shortened(width, Shortened(room, what, unicode) + text, unicode);
}

std::string TimeLeftText(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s left", std::ceil(seconds));
  if (seconds < 100 * 60.0) return fmt::format("{:.0f} min left", std::ceil(seconds / 60));
  return fmt::format("{:.0f} h left", std::ceil(seconds / 3600));
}

// --- showing it ----------------------------------------------------------------------------------

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
