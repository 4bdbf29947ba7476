#include "app/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "app/text_width.h"

namespace dmlop {
namespace {

constexpr double kMinSeconds = 0.05;  // below this a rate says nothing

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

std::string TimeLeftText(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s left", std::ceil(seconds));
  if (seconds < 100 * 60.0) return fmt::format("{:.0f} min left", std::ceil(seconds / 60));
  return fmt::format("{:.0f} h left", std::ceil(seconds / 3600));
}

// Behind "what: ", from left to right.
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

}  // namespace

std::string ProgressText(const ProgressState& state, size_t width) {
  constexpr std::string_view kBetween = "  ";
  std::string text;
  for (const std::string& part : PartsOf(state)) {
    std::string longer = text.empty() ? ": " + part : fmt::format("{}{}{}", text, kBetween, part);
    if (!text.empty() && TextWidth(state.what) + TextWidth(longer) > width) break;
    text = std::move(longer);
  }
  const size_t room = width - std::min(width, TextWidth(text));
  return CutTo(width, CutTo(room, state.what) + text);
}

}  // namespace dmlop
