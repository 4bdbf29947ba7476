// What is wrong with a command line, in this program's words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dmlop {

// The library would take "[0, 1]" apart as a list, but not with a space behind.
std::string WithGuard(std::string argument);
std::string WithoutGuard(std::string argument);

// Of what the library found wrong in the options of `command`.
std::string FaultOf(const CLI::ParseError& error, const CLI::App& command);

}  // namespace dmlop
