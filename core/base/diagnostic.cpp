#include "core/base/diagnostic.h"

#include <algorithm>
#include <utility>

namespace dmlop {

void Diagnostics::Error(std::string_view code, std::string_view pointer, std::string message,
                        std::optional<size_t> offset) {
  Append({Severity::kError, std::string(code), std::string(pointer), std::move(message), offset});
}

void Diagnostics::Warning(std::string_view code, std::string_view pointer, std::string message,
                          std::optional<size_t> offset) {
  Append({Severity::kWarning, std::string(code), std::string(pointer), std::move(message), offset});
}

void Diagnostics::Append(Diagnostic diagnostic) {
  const bool first_error = diagnostic.severity == Severity::kError && !has_errors_;
  has_errors_ |= first_error;
  if (!full()) {
    list_.push_back(std::move(diagnostic));
    return;
  }
  ++omitted_;
  if (first_error) list_.back() = std::move(diagnostic);  // not for a hundred warnings
}

void Diagnostics::SortByPlace() {
  std::stable_sort(list_.begin(), list_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.offset < b.offset; });
}

}  // namespace dmlop
