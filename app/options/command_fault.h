// SPDX-License-Identifier: Apache-2.0
// The faults of a command line, in this program's words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dmlop {

// The library would split "[0, 1]" as a list, but not with a trailing space.
std::string WithGuard(std::string argument);
std::string WithoutGuard(std::string argument);

// The fault that the library found in the options of `command`.
std::string FaultOf(const CLI::ParseError& error, const CLI::App& command);

}  // namespace dmlop
