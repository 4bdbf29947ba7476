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

class Diagnostics {
 public:
  void Error(std::string_view code, std::string_view pointer, std::string message,
             std::optional<size_t> offset = std::nullopt);
  void Warning(std::string_view code, std::string_view pointer, std::string message,
               std::optional<size_t> offset = std::nullopt);
  void Append(const Diagnostic& diagnostic) { list_.push_back(diagnostic); }

  bool has_errors() const;
  const std::vector<Diagnostic>& list() const { return list_; }
  std::vector<Diagnostic>& list() { return list_; }

 private:
  std::vector<Diagnostic> list_;
};

}  // namespace dmlop
