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
  if (full()) {
    ++omitted_;
  } else {
    list_.push_back(std::move(diagnostic));
  }
}

bool Diagnostics::has_errors() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

}  // namespace dmlop
