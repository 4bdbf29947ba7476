// SPDX-License-Identifier: Apache-2.0
// Faults of a document. Checks append to a list, so that one run reports every fault.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace dmlop {

enum class Severity { kError, kWarning };

struct Diagnostic {
  Severity severity;
  std::string code;     // stable id of the rule, such as "RED-3"
  std::string pointer;  // JSON pointer to the value; from a validator, relative to the operator
  std::string message;
  std::optional<size_t> offset;  // byte offset of the value in the document's text, once known
  std::optional<ErrorKind> file_fault = std::nullopt;  // the fault of a file that the value names
  bool is_slip = false;  // the value is wrong whatever other fields say, as an unknown name is
};

// "/desc/Axes/0: axis 4 is out of range [RED-3]"
std::string LineOf(const Diagnostic& diagnostic);

// Keeps the first kMax diagnostics and counts the others: nobody reads more, and a hostile document
// could have millions. Texts of more than kMaxTextBytes lose their middle.
class Diagnostics {
 public:
  static constexpr size_t kMax = 100;
  static constexpr size_t kMaxTextBytes = 1000;

  void Error(std::string_view code, std::string_view pointer, std::string message,
             std::optional<size_t> offset = std::nullopt);
  void Warning(std::string_view code, std::string_view pointer, std::string message,
               std::optional<size_t> offset = std::nullopt);
  // Adds an error of the machine or of a file, located at the value that asks for it.
  void FileError(ErrorKind kind, std::string_view code, std::string_view pointer,
                 std::string message, size_t offset);
  void Append(Diagnostic diagnostic);
  void AppendAll(const Diagnostics& others);

  // Counts diagnostics that nobody will read.
  void Omit(size_t count) { omitted_ += count; }

  // Returns true once only the count matters.
  bool full() const { return list_.size() >= kMax; }
  size_t omitted() const { return omitted_; }

  // Checks report in their own order, but people read in the order of the text.
  void SortByPlace();

  bool has_errors() const { return document_is_wrong_ || file_fault_; }

  // Returns the kind of the first error if all errors are those of files.
  std::optional<ErrorKind> only_file_fault() const {
    return document_is_wrong_ ? std::nullopt : file_fault_;
  }

  const std::vector<Diagnostic>& list() const { return list_; }
  std::vector<Diagnostic>& list() { return list_; }

 private:
  std::vector<Diagnostic> list_;
  size_t omitted_ = 0;
  bool document_is_wrong_ = false;
  std::optional<ErrorKind> file_fault_;
};

}  // namespace dmlop
