// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "app/bench/bench_row.h"
#include "app/files/output.h"
#include "app/progress.h"
#include "app/text/progress_text.h"

namespace dmlop {

RowProgress::RowProgress(std::string what, bool quiet) : what_(std::move(what)), quiet_(quiet) {
  const size_t width = TerminalWidth(STDERR_FILENO).value_or(0);
  if (!quiet_) ShowProgressLine(ProgressText(what_, {"warming up"}, width, UseUnicode()));
}

void RowProgress::Begin(size_t samples, int64_t bytes) {
  expected_ = samples;
  bytes_ = bytes;
  start_ = Clock::now();
}

void RowProgress::Show(SamplesSoFar samples) {
  done_ = 0;
  for (const std::vector<double>& of_function : samples) done_ += of_function.size();
  if (quiet_) return;
  DrawProgress([&](size_t width) {
    std::vector<std::string> parts = {fmt::format("{}%", 100 * done_ / expected_)};
    if (!samples[0].empty()) {
      const double median = StatisticsOf(samples[0]).median;
      parts.push_back("median " + TimeText(median));
      parts.push_back(fmt::format("{:.1f} GB/s", static_cast<double>(bytes_) / median / 1e9));
    }
    const double seconds = SecondsSince(start_);
    const double left = static_cast<double>(expected_ - done_) / static_cast<double>(done_);
    if (done_ > 0) parts.push_back(TimeLeftText(seconds * left));
    return ProgressText(what_, parts, width, UseUnicode());
  });
}

std::string RowProgress::NameOfCall() const {
  if (expected_ == 0) return what_ + ", warming up";
  return fmt::format("{}, sample {} of {}", what_, std::min(done_ + 1, expected_), expected_);
}

}  // namespace dmlop
