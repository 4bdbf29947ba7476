// What is wrong with a document. Checks append to a list, so that one run reports every fault.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dmlop {

enum class Severity { kError, kWarning };

struct Diagnostic {
  Severity severity;
  std::string code;     // stable id of the rule, such as "RED-3"
  std::string pointer;  // JSON pointer to the value; from a validator, relative to the operator
  std::string message;
  std::optional<size_t> offset;  // byte offset of the value in the document's text, once known
};

// Keeps the first kMax and counts the others: past that nobody reads on, and a hostile document
// could have millions.
class Diagnostics {
 public:
  static constexpr size_t kMax = 100;

  void Error(std::string_view code, std::string_view pointer, std::string message,
             std::optional<size_t> offset = std::nullopt);
  void Warning(std::string_view code, std::string_view pointer, std::string message,
               std::optional<size_t> offset = std::nullopt);
  void Append(Diagnostic diagnostic);

  // True once only the count matters.
  bool full() const { return list_.size() >= kMax; }
  size_t omitted() const { return omitted_; }

  // Reports come in the order of the checks; people read in the order of the text.
  void SortByPlace();

  bool has_errors() const { return has_errors_; }
  const std::vector<Diagnostic>& list() const { return list_; }
  std::vector<Diagnostic>& list() { return list_; }

 private:
  std::vector<Diagnostic> list_;
  size_t omitted_ = 0;
  bool has_errors_ = false;
};

}  // namespace dmlop
