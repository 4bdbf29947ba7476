#include "app/files/standard_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

bool IsStandardOutput(const std::string& path) {
  return path == kStandardStream || DescriptorOf(path) == STDOUT_FILENO;
}

}  // namespace

void StandardOutput::AddTensor(const std::string& path, const std::string& name) {
  if (IsTerminal(path)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} is a terminal; {} is binary",
                            path == kStandardStream ? "standard output" : path, name));
  }
  if (IsStandardOutput(path)) streamed_ = name;
}

void StandardOutput::AddText(const std::string& path, const std::string& name) {
  if (IsStandardOutput(path) && printed_.empty()) printed_ = name;
}

void StandardOutput::RequireOneKind() const {
  if (streamed_.empty() || printed_.empty()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("standard output cannot be both the file of {} and the print of {}",
                          streamed_, printed_));
}

}  // namespace dmlop
