// SPDX-License-Identifier: Apache-2.0
#include "app/json_end.h"

#include <algorithm>

namespace dmlop {

size_t JsonEnd::Find(std::string_view line) {
  for (size_t at = 0; at < line.size();) {
    if (const size_t behind = Skip(line, at); behind != at) {
      at = behind;
      continue;
    }
    const char c = line[at++];
    if (c == '{' || c == '[') ++depth_;
    if ((c == '}' || c == ']') && depth_ > 0 && --depth_ == 0) return at;
  }
  return std::string_view::npos;
}

size_t JsonEnd::Skip(std::string_view line, size_t at) {
  if (!in_comment_ && line[at] == '"') {
    for (++at; at < line.size() && line[at] != '"'; ++at) at += line[at] == '\\';
    return std::min(at + 1, line.size());
  }
  if (!in_comment_ && line.substr(at).starts_with("//")) return line.size();
  if (!in_comment_ && !line.substr(at).starts_with("/*")) return at;
  const size_t end = line.find("*/", in_comment_ ? at : at + 2);
  in_comment_ = end == std::string_view::npos;
  return in_comment_ ? line.size() : end + 2;
}

}  // namespace dmlop
