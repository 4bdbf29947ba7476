// SPDX-License-Identifier: Apache-2.0
// The options of each command.
#pragma once

#include <functional>
#include <span>

#include "app/exit_status.h"
#include "app/options/options.h"

namespace CLI {
class App;
}

namespace dmlop {

using Command = std::function<ExitStatus()>;

// Declares the options of one command, which parsing fills in. The result runs the command with
// them; it keeps a reference to `common`.
using DeclareOptions = Command (*)(CLI::App& command, const CommonOptions& common);

Command DeclareRun(CLI::App& command, const CommonOptions& common);
Command DeclareValidate(CLI::App& command, const CommonOptions& common);
Command DeclareBench(CLI::App& command, const CommonOptions& common);
Command DeclareCompare(CLI::App& command, const CommonOptions& common);
Command DeclareShow(CLI::App& command, const CommonOptions& common);
Command DeclareExplain(CLI::App& command, const CommonOptions& common);
Command DeclareDiagnose(CLI::App& command, const CommonOptions& common);
Command DeclareFuzz(CLI::App& command, const CommonOptions& common);
Command DeclareShrink(CLI::App& command, const CommonOptions& common);
Command DeclareBatch(CLI::App& command, const CommonOptions& common);
Command DeclareReport(CLI::App& command, const CommonOptions& common);
Command DeclareOps(CLI::App& command, const CommonOptions& common);
Command DeclareSchema(CLI::App& command, const CommonOptions& common);
Command DeclareCompletion(CLI::App& command, const CommonOptions& common);

struct CommandEntry {
  const char* name;
  const char* summary;
  DeclareOptions declare;
};

// The commands in the order of --help.
std::span<const CommandEntry> Commands();

}  // namespace dmlop
