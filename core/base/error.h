// The one exception that reports what the world did to us: a file, a tensor in it, the command
// line. Faults of a document are diagnostics instead (diagnostic.h), because all of them are
// reported.
#pragma once

#include <stdexcept>
#include <string>

namespace dmlop {

enum class ErrorKind {
  kUsage,       // the request itself is wrong: an unknown tensor name, an unknown file extension
  kTensorFile,  // a file does not hold the tensor that is asked for
  kFileSystem,  // a file cannot be read or written
  kClosedPipe,  // whoever read standard output has gone, and needs no message
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace dmlop
