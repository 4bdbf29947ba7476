// What the program's exit status means to scripts.
#pragma once

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

}  // namespace dmlop
