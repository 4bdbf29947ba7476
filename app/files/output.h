// What the program prints: results to standard output, messages to standard error.
#pragma once

#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "app/options/options.h"
#include "core/io/file.h"
#include "core/io/output_set.h"

namespace dmlop {

// Throws an Error of kind kFileSystem when standard output does not take the text.
void PrintResult(std::string_view text);

// From now on a reader of standard output that leaves early is no error, and nothing more is
// printed: files are made all the same.
void OutliveReader();

// Both erase the line of progress first. Failures to print a message have nobody to tell.
void PrintMessage(std::string_view text);

// The text with control characters spelled out, so that what a message quotes cannot drive the
// terminal.
std::string Printable(std::string_view text);

// A line on the terminal that standard error is, in place of the last one; nothing elsewhere.
void ShowProgressLine(std::string_view text);
void EraseProgressLine();

// Columns of the terminal that a standard stream is: COLUMNS, or what the terminal says. Empty
// where it is no terminal.
std::optional<size_t> TerminalWidth(int descriptor);

// Whether an open file should be coloured.
bool UseColor(ColorMode mode, int descriptor = STDERR_FILENO);

inline constexpr size_t kDefaultColumns = 80;

// The columns that text on a standard stream may take: what COLUMNS says, else the terminal's
// width, else `otherwise`; at least 20.
size_t OutputWidth(int descriptor = STDOUT_FILENO, size_t otherwise = kDefaultColumns);

// The columns that a line of a list may take: as many as the terminal has, or COLUMNS says, and any
// number in a file.
size_t TextColumns();

// Whether the locale's characters are UTF-8.
bool UseUnicode();

// True for standard output and for devices, which take results as they come.
bool IsDevice(const std::string& path);

// A file with a result, such as a report, that appears with the other outputs, or at once on a
// device.
class ResultFile {
 public:
  ResultFile(const std::string& path, const std::string& content);

  void AddTo(OutputSet& files);

  // By itself.
  void Publish();

 private:
  std::optional<OutputFile> file_;
};

}  // namespace dmlop
