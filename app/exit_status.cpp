// SPDX-License-Identifier: Apache-2.0
#include "app/exit_status.h"

namespace dmlop {

ExitStatus StatusOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return ExitStatus::kUsage;
    case ErrorKind::kTensorFile:
      return ExitStatus::kTensorFile;
    case ErrorKind::kFileSystem:
    case ErrorKind::kClosedPipe:
      return ExitStatus::kFileSystem;
  }
  return ExitStatus::kInternal;
}

ExitStatus StatusOf(const Diagnostics& diagnostics) {
  if (!diagnostics.has_errors()) return ExitStatus::kSuccess;
  const auto file_fault = diagnostics.only_file_fault();
  return file_fault ? StatusOf(*file_fault) : ExitStatus::kInvalidDocument;
}

}  // namespace dmlop
