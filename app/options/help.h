// SPDX-License-Identifier: Apache-2.0
// The text of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace dmlop {

// Lists options in lines that fit a terminal of 80 columns.
std::shared_ptr<CLI::Formatter> HelpFormatter();

}  // namespace dmlop
