// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "app/commands.h"
#include "app/files/output.h"
#include "app/options/examples.txt.h"
#include "app/options/option_kinds.h"
#include "app/text/progress_text.h"
#include "app/text/table_text.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/spelling.h"
#include "core/io/npz.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

size_t Columns() {
  return std::min(kDefaultColumns, OutputWidth());
}

// Names in one column and their meaning in the other or, in narrow terminals, below.
std::string Row(const std::string& name, std::string_view meaning) {
  constexpr size_t kLeastForTwo = 60;
  const size_t columns = Columns();
  const size_t before = columns < kLeastForTwo ? 6 : 30;
  const std::string margin(before, ' ');
  const std::string head = "  " + WrappedText(name, columns - before, margin);
  const bool fits = head.size() + 2 <= before;
  return fmt::format("{:<{}}{}{}\n", head, fits ? before : 0, fits ? "" : "\n" + margin,
                     WrappedText(meaning, columns - before, margin));
}

// Wraps the text between its leading and trailing line breaks.
std::string Paragraph(const std::string& text) {
  constexpr size_t kMargin = 2;
  const size_t begin = std::min(text.size(), text.find_first_not_of('\n'));
  const size_t end = text.find_last_not_of('\n') + 1;
  if (begin >= end) return text;
  return text.substr(0, begin) +
         WrappedText(text.substr(begin, end - begin), Columns() - kMargin,
                     std::string(kMargin, ' ')) +
         text.substr(end);
}

// Lists options in lines that fit the terminal.
class Formatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return Row(make_option_name(option, is_positional) + make_option_opts(option),
               option->get_description() + Needs(*option));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const bool is_many = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return " " + option->get_type_name() + (is_many ? " ..." : "");
  }

  std::string make_usage(const CLI::App* command, std::string name) const override {
    return Paragraph(CLI::Formatter::make_usage(command, name));
  }

  std::string make_description(const CLI::App* command) const override {
    return Paragraph(CLI::Formatter::make_description(command));
  }

  // Examples are commands, which must not be wrapped.
  std::string make_footer(const CLI::App* command) const override {
    const std::string text = CLI::Formatter::make_footer(command);
    return text.find("\n  ") == std::string::npos ? Paragraph(text) : text;
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Row(command->get_name(), command->get_description());
  }

 private:
  // Names the other options that this one requires.
  static std::string Needs(const CLI::Option& option) {
    std::string text;
    for (const CLI::Option* needed : option.get_needs()) {
      text += (text.empty() ? "; with " : " and ") + needed->get_name();
    }
    return text;
  }
};

constexpr std::string_view kVersion = DMLOP_VERSION;

std::string VersionText() {
  return fmt::format("dmlop {}\ninstruction sets: {}", kVersion, fmt::join(SupportedIsas(), ", "));
}

// The lines of a command in the list of examples, which are indented behind its name.
std::string ExamplesOf(std::string_view command) {
  const std::string text = kExamples;
  const std::string head = fmt::format("{}:\n", command);
  const size_t begin = (text.starts_with(head) ? 0 : text.find("\n" + head) + 1) + head.size();
  size_t end = begin;
  while (text.compare(end, 2, "  ") == 0) end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
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
    app_.formatter(std::make_shared<Formatter>());
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
    command.footer("Examples:\n" + ExamplesOf(entry.name));
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

  // The library expects arguments in reverse order.
  static std::vector<std::string> ForParsing(const std::vector<std::string>& given) {
    std::vector<std::string> arguments;
    bool are_options = true;
    for (const std::string& text : given) {
      if (text == "--") are_options = false;
      // An "=" after a short option does not belong to its value, as after a long one.
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
      throw Error(ErrorKind::kUsage, "a command is required behind '{}'", first);
    }
    if (first.starts_with('-')) {
      throw Error(ErrorKind::kUsage, "there is no option '{}' before the command", first);
    }
    std::vector<std::string_view> names;
    for (const CommandEntry& command : Commands()) names.push_back(command.name);
    if (std::find(names.begin(), names.end(), first) != names.end()) return;
    throw Error(ErrorKind::kUsage, "there is no command '{}'{}; the commands are {}", first,
                DidYouMean(first, names), fmt::join(names, ", "));
  }

  ExitStatus Explain(const CLI::ParseError& error, const std::string& command) const {
    if (error.get_exit_code() == 0) {  // --help or --version
      PrintResult(error.get_name() == "CallForVersion" ? std::string(error.what()) + "\n"
                                                       : HelpText());
      return ExitStatus::kSuccess;
    }
    PrintMessage("dmlop: {}\n(dmlop {} --help lists the options)\n",
                 Printable(FaultOf(error, *app_.get_subcommand(command))), command);
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

// Converts habits of other programs: "help COMMAND", "version", and options before the command.
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

void SetEngine(std::optional<int> threads, const std::string& isa) {
  if (threads) SetThreadCount(*threads);
  if (isa.empty() || SelectIsa(isa)) return;
  throw Error(ErrorKind::kUsage, "this machine has no instruction set '{}'; it has {}", isa,
              fmt::join(SupportedIsas(), ", "));
}

ExitStatus Main(int argc, char** argv) {
  try {
    return CommandLine().Run(Usual({argv + std::min(argc, 1), argv + argc}));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kClosedPipe) {
      PrintMessage("dmlop: {}\n", Printable(error.what()));
    }
    return StatusOf(error.kind());
  } catch (const std::bad_alloc&) {
    PrintMessage("dmlop: there is not enough memory for this\n");
    return ExitStatus::kFileSystem;
  } catch (const std::exception& error) {
    PrintMessage("dmlop: internal error: {}\n", Printable(error.what()));
    return ExitStatus::kInternal;
  }
}

}  // namespace dmlop
