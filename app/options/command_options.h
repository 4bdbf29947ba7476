// The options of each command, declared in a file beside the command's own.
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

// Each declares what one command takes, which parsing fills in. What comes back runs the command
// with that; `common` is kept by reference.
using DeclareOptions = Command (*)(CLI::App& command, const CommonOptions& common);

Command DeclareRun(CLI::App& command, const CommonOptions& common);
Command DeclareValidate(CLI::App& command, const CommonOptions& common);
Command DeclareBench(CLI::App& command, const CommonOptions& common);
Command DeclareCompare(CLI::App& command, const CommonOptions& common);
Command DeclareShow(CLI::App& command, const CommonOptions& common);
Command DeclareExplain(CLI::App& command, const CommonOptions& common);
Command DeclareBatch(CLI::App& command, const CommonOptions& common);
Command DeclareOps(CLI::App& command, const CommonOptions& common);
Command DeclareSchema(CLI::App& command, const CommonOptions& common);
Command DeclareCompletion(CLI::App& command, const CommonOptions& common);

struct CommandEntry {
  const char* name;
  const char* summary;
  DeclareOptions declare;
};

// In the order in which --help lists them.
std::span<const CommandEntry> Commands();

}  // namespace dmlop
