#include "app/options/command_options.h"
#include "app/options/completion.h"
#include "app/options/option_kinds.h"
#include "app/output.h"

namespace dmlop {
namespace {

using Writer = std::string (*)(std::span<const CompletedCommand> commands);

std::vector<std::string> OptionNames(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// What --help says of a command, from the same declarations.
CompletedCommand Describe(const CommandEntry& entry) {
  CLI::App app;
  CommonOptions common;
  CLI::App& command = *app.add_subcommand(entry.name, entry.summary);
  AddCommon(command, common);
  entry.declare(command, common);
  CompletedCommand described{entry.name, entry.summary, {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_size_max() == 0 ? "" : option->get_type_name();
    CompletedOption one{OptionNames(*option), option->get_description(), type};
    if (one.names.empty()) {
      described.words = one.words();
    } else {
      described.options.push_back(std::move(one));
    }
  }
  return described;
}

ExitStatus PrintCompletion(Writer write) {
  std::vector<CompletedCommand> commands;
  for (const CommandEntry& entry : Commands()) commands.push_back(Describe(entry));
  PrintResult(write(commands));
  return ExitStatus::kSuccess;
}

}  // namespace

Command DeclareCompletion(CLI::App& command, const CommonOptions&) {
  const auto writer = std::make_shared<Writer>(nullptr);
  AddExamples(command,
              "  dmlop completion bash > ~/.local/share/bash-completion/completions/dmlop\n"
              "  dmlop completion fish > ~/.config/fish/completions/dmlop.fish\n");
  AddChoice<Writer>(command, "shell", "The shell that is to complete", *writer,
                    {{"bash", BashCompletion}, {"zsh", ZshCompletion}, {"fish", FishCompletion}})
      ->required();
  return [writer] { return PrintCompletion(*writer); };
}

}  // namespace dmlop
