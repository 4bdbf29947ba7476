// What the program's exit status means to scripts.
#pragma once

#include "core/base/diagnostic.h"
#include "core/base/error.h"

namespace dmlop {

enum class ExitStatus {
  kSuccess = 0,
  kDifferent = 1,        // compared, and different
  kUsage = 2,            // the command line is wrong
  kInvalidDocument = 3,  // JSON, field, rule or feature level
  kTensorFile = 4,       // a tensor file does not fit
  kFileSystem = 5,       // a file cannot be read or written
  kInternal = 70,        // a bug in dmlop
};

ExitStatus StatusOf(ErrorKind kind);

// Of a document, whose own faults come before those of the files that it names.
ExitStatus StatusOf(const Diagnostics& diagnostics);

}  // namespace dmlop
