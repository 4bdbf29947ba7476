#include "app/text/table_text.h"

#include <algorithm>

#include "app/text/text_width.h"

namespace dmlop {

std::string TableText(std::span<const std::vector<std::string>> rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], TextWidth(row[i]));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - TextWidth(row[i]), ' ');
      text += "  " + (i == 0 ? row[i] + padding : padding + row[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace dmlop
