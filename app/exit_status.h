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

ExitStatus StatusOf(ErrorKind kind);

// The status of a document, whose own faults take precedence over those of its files.
ExitStatus StatusOf(const Diagnostics& diagnostics);

}  // namespace dmlop
