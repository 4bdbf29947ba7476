// SPDX-License-Identifier: Apache-2.0
// The program's exit statuses, for scripts.
#pragma once

#include "core/base/diagnostic.h"
#include "core/base/error.h"

namespace dmlop {

enum class ExitStatus {
  kSuccess = 0,
  kDifferent = 1,        // a comparison found differences
  kUsage = 2,            // the command line is wrong
  kInvalidDocument = 3,  // JSON, field, rule or feature level
  kTensorFile = 4,       // a tensor file does not fit
  kFileSystem = 5,       // a file cannot be read or written
  kInternal = 70,        // a bug in dmlop
};

inline ExitStatus StatusOf(ErrorKind kind) {
  return kind == ErrorKind::kUsage        ? ExitStatus::kUsage
         : kind == ErrorKind::kTensorFile ? ExitStatus::kTensorFile
                                          : ExitStatus::kFileSystem;
}

// The status of a document, whose own faults take precedence over those of its files.
inline ExitStatus StatusOf(const Diagnostics& diagnostics) {
  if (!diagnostics.has_errors()) return ExitStatus::kSuccess;
  const auto file_fault = diagnostics.only_file_fault();
  return file_fault ? StatusOf(*file_fault) : ExitStatus::kInvalidDocument;
}

}  // namespace dmlop
