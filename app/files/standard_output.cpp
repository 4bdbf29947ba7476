// SPDX-License-Identifier: Apache-2.0
#include "app/files/standard_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/io/file.h"

namespace dmlop {

bool IsStandardOutput(const std::string& path) {
  return path == kStandardStream || DescriptorOf(path) == STDOUT_FILENO;
}

void RequireNoTerminal(const std::string& path, const std::string& name) {
  if (!IsTerminal(path)) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} is a terminal; {} is binary",
                          path == kStandardStream ? "standard output" : path, name));
}

void StandardOutput::AddTensor(const std::string& path, const std::string& name) {
  RequireNoTerminal(path, name);
  if (IsStandardOutput(path)) streamed_ = name;
}

void StandardOutput::AddTextFile(const std::string& path, const std::string& name) {
  if (IsStandardOutput(path)) text_file_ = name;
}

void StandardOutput::RequireOneKind() const {
  const std::string& file = streamed_.empty() ? text_file_ : streamed_;
  if (!file.empty() && !printed_.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("standard output cannot be both the file of {} and the print of {}",
                            file, printed_));
  }
  if (!streamed_.empty() && !text_file_.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("standard output cannot be the file of both {} and {}", streamed_, text_file_));
  }
}

}  // namespace dmlop
