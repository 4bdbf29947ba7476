// What the program prints: results to standard output, messages to standard error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/options.h"

namespace dmlop {

// Throws an Error of kind kFileSystem when standard output does not take the text.
void PrintResult(std::string_view text);

// Failures to print a message have nobody to tell.
void PrintMessage(std::string_view text);

// The text with control characters spelled out, so that what a message quotes cannot drive the
// terminal.
std::string Printable(std::string_view text);

// Columns of the terminal that is standard output: COLUMNS, or what the terminal says. Empty where
// standard output is no terminal.
std::optional<size_t> TerminalWidth();

// Whether standard error should be coloured.
bool UseColor(ColorMode mode);

}  // namespace dmlop
