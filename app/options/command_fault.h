// What is wrong with a command line, in this program's words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dmlop {

// Of what the library found wrong in the options of `command`.
std::string FaultOf(const CLI::ParseError& error, const CLI::App& command);

}  // namespace dmlop
