#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"
#include "app/output.h"
#include "app/progress.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

constexpr std::string_view kVersion = DMLOP_VERSION;

std::string VersionText() {
  return fmt::format("dmlop {}\ninstruction sets: {}", kVersion, fmt::join(SupportedIsas(), ", "));
}

// Declares the options. Parsing fills the structs; the chosen command then runs.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", VersionText);
    app_.get_formatter()->column_width(34);
    app_.footer("Each command has a --help of its own, with examples.\n");
  }

  ExitStatus Run(int argc, char** argv) {
    CheckCommandName(argc, argv);
    DeclareCommands(argc, argv);
    try {
      app_.parse(Arguments(argc, argv));
    } catch (const CLI::ParseError& error) {
      return Explain(error);
    }
    const ProgressDisplay progress(common_.quiet);
    return command_();
  }

 private:
  // The command that is named alone: declaring the options of all takes as long as a small
  // operator. Where none is named, --help or an error lists them.
  void DeclareCommands(int argc, char** argv) {
    const std::string_view first = argc > 1 ? argv[1] : "";
    const auto is_named = [&](const CommandEntry& command) { return command.name == first; };
    const auto commands = Commands();
    const bool any = std::any_of(commands.begin(), commands.end(), is_named);
    for (const CommandEntry& command : commands) {
      if (!any || is_named(command)) Declare(command);
    }
  }

  void Declare(const CommandEntry& entry) {
    CLI::App& command = *app_.add_subcommand(entry.name, entry.summary);
    AddCommon(command, common_);
    command.callback([this, chosen = entry.declare(command, common_)] { command_ = chosen; });
  }

  // From the last to the first, as the library takes them.
  static std::vector<std::string> Arguments(int argc, char** argv) {
    std::vector<std::string> arguments;
    bool are_options = true;
    for (int i = 1; i < argc; ++i) {
      const std::string_view text = argv[i];
      if (text == "--") are_options = false;
      // A short option's "=" is none of its value, as with a long one's.
      const bool is_assigned =
          are_options && text.size() > 2 && text[0] == '-' && text[1] != '-' && text[2] == '=';
      if (is_assigned && text.size() == 3) {
        arguments.insert(arguments.end(), {std::string(text.substr(0, 2)), ""});
      } else if (is_assigned) {
        arguments.push_back(fmt::format("{}{}", text.substr(0, 2), text.substr(3)));
      } else {
        // The library would take "[0, 1]" apart as a list, but not with a space behind.
        arguments.push_back(fmt::format("{}{}", text, text.starts_with('[') ? " " : ""));
      }
    }
    std::reverse(arguments.begin(), arguments.end());
    return arguments;
  }

  // The library would only say that a command is required.
  static void CheckCommandName(int argc, char** argv) {
    if (argc < 2) return;
    const std::string_view first = argv[1];
    if (first == "-h" || first == "--help" || first == "--version") return;
    if (first.starts_with('-')) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("there is no option '{}' before the command", first));
    }
    std::vector<std::string_view> names;
    for (const CommandEntry& command : Commands()) names.push_back(command.name);
    if (std::find(names.begin(), names.end(), first) != names.end()) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("there is no command '{}'{}; the commands are {}", first,
                            DidYouMean(first, names), fmt::join(names, ", ")));
  }

  ExitStatus Explain(const CLI::ParseError& error) const {
    if (error.get_exit_code() == 0) {  // --help or --version
      PrintResult(error.get_name() == "CallForVersion" ? std::string(error.what()) + "\n"
                                                       : HelpText());
      return ExitStatus::kSuccess;
    }
    PrintMessage(fmt::format("dmlop: {}\n(dmlop --help lists the commands and options)\n",
                             Printable(error.what())));
    return ExitStatus::kUsage;
  }

  std::string HelpText() const {
    const auto chosen = app_.get_subcommands();
    return chosen.empty() ? app_.help() : chosen.front()->help("dmlop");
  }

  CLI::App app_{"dmlop: DirectML's tensor operators on the CPU", "dmlop"};
  CommonOptions common_;
  Command command_;
};

}  // namespace

std::span<const CommandEntry> Commands() {
  static constexpr CommandEntry commands[] = {
      {"run", "Run an operator, or a DxDispatch model", DeclareRun},
      {"validate", "Report every fault of a document", DeclareValidate},
      {"bench", "Time operators, beside what memory allows", DeclareBench},
      {"compare", "Compare two tensor files", DeclareCompare},
      {"show", "Print tensor files", DeclareShow},
      {"explain", "Say what feeds an output element, or what an input reaches", DeclareExplain},
      {"batch", "Run or check many cases, one a line", DeclareBatch},
      {"ops", "List the operators, their fields, rules and types", DeclareOps},
      {"schema", "Print the JSON Schema of all documents", DeclareSchema},
      {"completion", "Print what a shell completes command lines by", DeclareCompletion},
  };
  return commands;
}

ExitStatus Main(int argc, char** argv) {
  try {
    return CommandLine().Run(argc, argv);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kClosedPipe) {
      PrintMessage(fmt::format("dmlop: {}\n", Printable(error.what())));
    }
    return StatusOf(error.kind());
  } catch (const std::bad_alloc&) {
    PrintMessage("dmlop: there is not enough memory for this\n");
    return ExitStatus::kFileSystem;
  } catch (const std::exception& error) {
    PrintMessage(fmt::format("dmlop: internal error: {}\n", Printable(error.what())));
    return ExitStatus::kInternal;
  }
}

}  // namespace dmlop
