// SPDX-License-Identifier: Apache-2.0
// The only exception for faults outside of the program: in a file, a tensor in it, or the command
// line. Faults of a document are diagnostics instead (diagnostic.h), because all of them are
// reported.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace dmlop {

enum class ErrorKind {
  kUsage,       // the request itself is wrong: an unknown tensor name, an unknown file extension
  kTensorFile,  // a file does not hold the tensor that was asked for
  kFileSystem,  // a file cannot be read or written
  kClosedPipe,  // the reader of standard output has gone, and needs no message
};

// Names come from archives, graphs and documents, and may have any bytes. A NUL is spelled out, for
// what() would end at it.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view message)
      : std::runtime_error(WithoutNul(message)), kind_(kind) {}

  template <typename... Args>
  requires(sizeof...(Args) > 0)
      Error(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args)
      : Error(kind, fmt::format(text, std::forward<Args>(args)...)) {}

  ErrorKind kind() const { return kind_; }

 private:
  static std::string WithoutNul(std::string_view message) {
    std::string text;
    for (const char c : message) {
      if (c == '\0') text += "\\x00";
      if (c != '\0') text += c;
    }
    return text;
  }

  ErrorKind kind_;
};

}  // namespace dmlop
