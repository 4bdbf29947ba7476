#include "app/text/histogram_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/files/output.h"

namespace dmlop {
namespace {

constexpr size_t kLeastBar = 4;
constexpr size_t kMostBar = 40;

}  // namespace

std::string HistogramText(const std::vector<HistogramRow>& rows) {
  int64_t most = 1;
  size_t label_width = 0;
  for (const HistogramRow& row : rows) {
    most = std::max(most, row.count);
    label_width = std::max(label_width, row.label.size());
  }
  const size_t count_width = fmt::formatted_size("{}", most);
  const size_t before_bar = 2 + label_width + 2 + count_width + 1;
  const size_t width = OutputWidth();
  const size_t bar_width =
      std::clamp(width > before_bar ? width - before_bar : 0, kLeastBar, kMostBar);
  std::string text;
  for (const HistogramRow& row : rows) {
    const double share = static_cast<double>(row.count) / static_cast<double>(most);
    const double bar = std::ceil(share * static_cast<double>(bar_width));
    text += fmt::format("  {:>{}}  {:>{}} {}\n", row.label, label_width, row.count, count_width,
                        std::string(static_cast<size_t>(bar), '#'));
  }
  return text;
}

}  // namespace dmlop
