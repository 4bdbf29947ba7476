// SPDX-License-Identifier: Apache-2.0
#include "core/base/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace dmlop {
namespace {

// Cuts the middle out of a text that is too long to be read, between whole characters of UTF-8.
std::string Shortened(std::string text) {
  if (text.size() <= Diagnostics::kMaxTextBytes) return text;
  size_t head = Diagnostics::kMaxTextBytes / 2;
  size_t tail = text.size() - Diagnostics::kMaxTextBytes / 2;
  while (head > 0 && ContinuesCharacter(text[head])) --head;
  while (tail < text.size() && ContinuesCharacter(text[tail])) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

}  // namespace

std::string LineOf(const Diagnostic& diagnostic) {
  return fmt::format("{}{}{} [{}]", diagnostic.pointer, diagnostic.pointer.empty() ? "" : ": ",
                     diagnostic.message, diagnostic.code);
}

void Diagnostics::Error(std::string_view code, std::string_view pointer, std::string message,
                        std::optional<size_t> offset) {
  Append({Severity::kError, std::string(code), std::string(pointer), std::move(message), offset});
}

void Diagnostics::Warning(std::string_view code, std::string_view pointer, std::string message,
                          std::optional<size_t> offset) {
  Append({Severity::kWarning, std::string(code), std::string(pointer), std::move(message), offset});
}

void Diagnostics::FileError(ErrorKind kind, std::string_view code, std::string_view pointer,
                            std::string message, size_t offset) {
  Append({Severity::kError, std::string(code), std::string(pointer), std::move(message), offset,
          kind});
}

void Diagnostics::Append(Diagnostic diagnostic) {
  const bool is_error = diagnostic.severity == Severity::kError;
  const bool is_first_error = is_error && !has_errors();
  if (is_error && diagnostic.file_fault) {
    file_fault_ = file_fault_.value_or(*diagnostic.file_fault);
  } else {
    document_is_wrong_ |= is_error;
  }
  diagnostic.message = Shortened(std::move(diagnostic.message));
  diagnostic.pointer = Shortened(std::move(diagnostic.pointer));
  if (!full()) {
    list_.push_back(std::move(diagnostic));
    return;
  }
  ++omitted_;
  if (is_first_error) list_.back() = std::move(diagnostic);  // warnings must not hide it
}

void Diagnostics::AppendAll(const Diagnostics& others) {
  for (const Diagnostic& diagnostic : others.list()) Append(diagnostic);
  Omit(others.omitted());
}

void Diagnostics::SortByPlace() {
  std::stable_sort(list_.begin(), list_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.offset < b.offset; });
}

}  // namespace dmlop
