// SPDX-License-Identifier: Apache-2.0
// Prints results to standard output, which is checked, and messages to standard error.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/options/options.h"
#include "core/io/file.h"
#include "core/io/output_file.h"

namespace dmlop {

// Throws an Error of kind kFileSystem if standard output does not accept the text.
void PrintResult(std::string_view text);

// From now on, it is no error if the reader of standard output leaves early; then nothing more is
// printed, but files are still written.
void OutliveReader();

// Like PrintResult, erases the progress line first. Failures are ignored: nobody could be told.
void PrintMessage(std::string_view text);
template <typename... Args>
requires(sizeof...(Args) > 0) void PrintMessage(fmt::format_string<Args...> text, Args&&... args) {
  PrintMessage(fmt::format(text, std::forward<Args>(args)...));
}

// The text with control characters escaped, so that quoted text cannot control the terminal.
std::string Printable(std::string_view text);

// Shows the text in place of the last progress line if standard error is a terminal.
void ShowProgressLine(std::string_view text);
void EraseProgressLine();

// The width in columns of the terminal on a standard stream: COLUMNS, or what the terminal reports.
// Null if the stream is not a terminal.
std::optional<size_t> TerminalWidth(int descriptor);

// Returns whether output to an open file should be coloured.
bool UseColor(ColorMode mode, int descriptor = STDERR_FILENO);

inline constexpr size_t kDefaultColumns = 80;

// The columns that text on a standard stream may take: COLUMNS, or else the terminal's width, or
// else `otherwise`; at least 20.
size_t OutputWidth(int descriptor = STDOUT_FILENO, size_t otherwise = kDefaultColumns);

// The columns that a line of a list may take: COLUMNS or the terminal's width; unlimited in a file.
size_t TextColumns();

// Returns whether the locale's characters are UTF-8.
bool UseUnicode();

// True for standard output and for devices, which take results as they come.
bool IsDevice(const std::string& path);

// A file with a result, such as a report, which appears with the outputs, or at once on a device.
class ResultFile {
 public:
  ResultFile(const std::string& path, const std::string& content);

  void AddTo(OutputSet& files);

  // Publishes the file on its own.
  void Publish();

 private:
  std::optional<OutputFile> file_;
};

bool IsStandardOutput(const std::string& path);

// Throws an Error of kind kUsage if that is a terminal, because the content is binary.
void RequireNoTerminal(const std::string& path, const std::string& name);

// Checks what goes to standard output: tensors or text, but not both.
class StandardOutput {
 public:
  // Adds a tensor's file or standard output. Throws an Error of kind kUsage if it is a terminal.
  void AddTensor(const std::string& path, const std::string& name);

  void AddText(const std::string& name) { printed_ = name; }

  // Adds a text file, which must not be mixed with printed text.
  void AddTextFile(const std::string& path, const std::string& name);

  // Throws an Error of kind kUsage if two of these go to standard output.
  void RequireOneKind() const;

 private:
  std::string streamed_;
  std::string text_file_;
  std::string printed_;
};

}  // namespace dmlop
