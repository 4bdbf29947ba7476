// SPDX-License-Identifier: Apache-2.0
#include "core/document/file_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/base/error.h"

namespace dmlop {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

// Returns the path of the tensor that "Field", "Field/1" or "Field[1]" may name; empty for anything
// that is not a field's name.
std::string TensorPath(std::string_view name) {
  const size_t end = std::min(name.find_first_of("/["), name.size());
  const std::string_view field = name.substr(0, end);
  const size_t letters = field.find_first_not_of(kLetters);
  if (field.empty() || letters == 0) return "";
  if (letters != std::string_view::npos &&
      field.find_first_not_of(kDigits, letters) != std::string_view::npos) {
    return "";
  }
  if (end == name.size()) return std::string(field);
  std::string_view index = name.substr(end + 1);
  if (name[end] == '[') {
    if (!index.ends_with(']')) return "";
    index.remove_suffix(1);
  }
  if (index.empty() || index.find_first_not_of(kDigits) != std::string_view::npos) return "";
  return fmt::format("{}/{}", field, index);
}

FileArgument TakeApart(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return {"", text};
  const std::string name = text.substr(0, equals);
  const std::string path = TensorPath(name);
  // A path with a folder is not taken for a misspelled name.
  if (path.empty() && name.find('/') != std::string::npos) return {"", text};
  return {path.empty() ? name : path, text.substr(equals + 1)};
}

}  // namespace

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

FileArgument FileArgument::Parse(const std::string& text) {
  FileArgument argument = TakeApart(text);
  if (text.starts_with('=') && !FileExists(text)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("'{0}' has no name before the '='; a file of that name is written ./{0}",
                    text));
  }
  if (argument.path.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' names no file", text));
  }
  return argument;
}

}  // namespace dmlop
