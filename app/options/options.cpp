// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands.h"
#include "app/files/output.h"
#include "app/options/command_fault.h"
#include "app/options/command_options.h"
#include "app/options/help.h"
#include "app/options/option_kinds.h"
#include "app/progress.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/io/npz.h"
#include "core/io/tensor_path.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

constexpr std::string_view kVersion = DMLOP_VERSION;

std::string VersionText() {
  return fmt::format("dmlop {}\ninstruction sets: {}", kVersion, fmt::join(SupportedIsas(), ", "));
}

// Counts the common arguments that precede the command.
size_t CountBeforeCommand(std::span<const std::string> arguments) {
  constexpr std::array<std::string_view, 4> kFlags = {"-q", "--quiet", "-v", "--verbose"};
  size_t count = 0;
  while (count < arguments.size()) {
    const std::string& argument = arguments[count];
    const bool is_flag = std::find(kFlags.begin(), kFlags.end(), argument) != kFlags.end();
    const bool is_color = argument == "--color";  // the value is the next argument
    if (!is_flag && !is_color && !argument.starts_with("--color=")) break;
    count += is_color ? 2 : 1;
  }
  return std::min(count, arguments.size());
}

// Declares the options. Parsing fills the structs; then the chosen command runs.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", VersionText);
    app_.formatter(HelpFormatter());
    app_.footer("Each command has a --help of its own, with examples.\n");
  }

  ExitStatus Run(std::vector<std::string> arguments) {
    if (arguments.empty()) {
      DeclareCommands("");
      PrintMessage(app_.help() + "dmlop: a command is required\n");
      return ExitStatus::kUsage;
    }
    CheckCommandName(arguments.front());
    DeclareCommands(arguments.front());
    try {
      app_.parse(ForParsing(WithRepeatedOptions(arguments)));
    } catch (const CLI::ParseError& error) {
      return Explain(error, arguments.front());
    }
    const ProgressDisplay progress(common_.quiet);
    return command_();
  }

 private:
  // Declares only the named command: declaring all options takes as long as a small operator. If
  // none is named, --help or an error lists them all.
  void DeclareCommands(const std::string& first) {
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
    for (CLI::Option* option : command.get_options()) {
      option->transform(WithoutGuard);
      if (option->nonpositional()) option->check(WhatIsMissing);
    }
  }

  // An empty value, such as that of an unset variable in a script, must not mean the default.
  static std::string WhatIsMissing(const std::string& value) {
    return value.empty() ? "the value is empty" : "";
  }

  // Turns "-i a.npy b.npy", which a shell makes of "-i *.npy", into "-i a.npy -i b.npy", unless the
  // command takes tensor files as arguments, too.
  std::vector<std::string> WithRepeatedOptions(const std::vector<std::string>& given) const {
    std::vector<std::string> all;
    std::string option;  // the option that the next argument may belong to
    bool has_value = false;
    for (const std::string& text : given) {
      if (has_value && IsTensorFile(text)) {
        all.push_back(option);
      } else if (!option.empty() && !has_value) {
        has_value = true;
      } else {
        option = TakesTensorFiles(text) ? text : "";
        has_value = false;
      }
      all.push_back(text);
    }
    return all;
  }

  static bool IsTensorFile(const std::string& text) {
    return !text.starts_with('-') && (HasTensorExtension(FileOf(text)) || ParseNpzPath(text));
  }

  bool TakesTensorFiles(const std::string& text) const {
    const auto commands = app_.get_subcommands([](const CLI::App*) { return true; });
    const CLI::Option* option =
        text.starts_with('-') ? commands.front()->get_option_no_throw(text) : nullptr;
    if (commands.front()->get_option_no_throw("actual") != nullptr) return false;
    return option != nullptr && option->get_type_name() == kBoundFile;
  }

  // In reverse order, as the library expects them.
  static std::vector<std::string> ForParsing(const std::vector<std::string>& given) {
    std::vector<std::string> arguments;
    bool are_options = true;
    for (const std::string& text : given) {
      if (text == "--") are_options = false;
      // As with long options, an "=" after a short option does not belong to its value.
      const bool is_assigned =
          are_options && text.size() > 2 && text[0] == '-' && text[1] != '-' && text[2] == '=';
      if (is_assigned && text.size() == 3) {
        arguments.insert(arguments.end(), {text.substr(0, 2), ""});
      } else if (is_assigned) {
        arguments.push_back(text.substr(0, 2) + text.substr(3));
      } else {
        arguments.push_back(WithGuard(text));
      }
    }
    std::reverse(arguments.begin(), arguments.end());
    return arguments;
  }

  // Otherwise the library would only say that a command is required.
  static void CheckCommandName(const std::string& first) {
    if (first == "-h" || first == "--help" || first == "--version") return;
    if (CountBeforeCommand({&first, 1}) > 0) {
      throw Error(ErrorKind::kUsage, fmt::format("a command is required behind '{}'", first));
    }
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

  ExitStatus Explain(const CLI::ParseError& error, const std::string& command) const {
    if (error.get_exit_code() == 0) {  // --help or --version
      PrintResult(error.get_name() == "CallForVersion" ? std::string(error.what()) + "\n"
                                                       : HelpText());
      return ExitStatus::kSuccess;
    }
    PrintMessage(fmt::format("dmlop: {}\n(dmlop {} --help lists the options)\n",
                             Printable(FaultOf(error, *app_.get_subcommand(command))), command));
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

// Converts the habits of other programs to this one's: "help COMMAND", "version", and common
// options before the command.
std::vector<std::string> Usual(std::vector<std::string> arguments) {
  const auto command =
      arguments.begin() + static_cast<std::ptrdiff_t>(CountBeforeCommand(arguments));
  if (command != arguments.end()) std::rotate(arguments.begin(), command, command + 1);
  if (arguments.empty()) return arguments;
  if (arguments.front() == "version") arguments.front() = "--version";
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  return arguments;
}

}  // namespace

std::span<const CommandEntry> Commands() {
  static constexpr CommandEntry commands[] = {
      {"run", "Run an operator, or a DxDispatch model", DeclareRun},
      {"validate", "Report every fault of a document", DeclareValidate},
      {"bench", "Time operators, beside what memory allows", DeclareBench},
      {"compare", "Compare two tensor files", DeclareCompare},
      {"show", "Print tensor files", DeclareShow},
      {"explain", "Say what feeds an output element, or what an input reaches", DeclareExplain},
      {"diagnose", "Say why a device's output differs", DeclareDiagnose},
      {"batch", "Run or check many cases, one a line", DeclareBatch},
      {"fuzz", "Find faults of a device by cases that are made for it", DeclareFuzz},
      {"shrink", "Make a case that a device fails as small as it can be", DeclareShrink},
      {"report", "Sum up the reports of batches", DeclareReport},
      {"ops", "List the operators, their fields, rules and types", DeclareOps},
      {"schema", "Print the JSON Schema of all documents", DeclareSchema},
      {"completion", "Print what a shell completes command lines by", DeclareCompletion},
  };
  return commands;
}

ExitStatus Main(int argc, char** argv) {
  try {
    return CommandLine().Run(Usual({argv + std::min(argc, 1), argv + argc}));
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
