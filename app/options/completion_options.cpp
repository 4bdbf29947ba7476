#include <algorithm>

#include "app/files/output.h"
#include "app/options/command_options.h"
#include "app/options/completion.h"
#include "app/options/option_kinds.h"
#include "core/io/tensor_file.h"
#include "core/kernels/simd/isa.h"
#include "core/ops/operator.h"
#include "core/tensor/data_type.h"
#include "core/tensor/feature_level.h"

namespace dmlop {
namespace {

using Writer = std::string (*)(std::span<const CompletedCommand> commands);

std::vector<std::string> OptionNames(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

template <typename Names>
std::vector<std::string> Copied(const Names& names) {
  return {names.begin(), names.end()};
}

// The words that may stand for a value of a type, such as "text|json" or LEVEL.
std::vector<std::string> WordsOf(const CLI::Option& option, const std::string& type) {
  if (type == "OPERATOR") return Copied(OperatorNames());
  if (type == "TYPE") return Copied(DataTypeNames().subspan(1));
  if (option.check_lname("isa")) return Copied(SupportedIsas());
  std::vector<std::string> words;
  if (type == "LEVEL") {
    for (const FeatureLevel level : FeatureLevels()) words.push_back(ToString(level));
  }
  if (type.empty() || type.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") != type.npos) {
    return words;
  }
  for (size_t begin = 0; begin <= type.size();) {
    const size_t end = std::min(type.find('|', begin), type.size());
    words.push_back(type.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Those of the files that a value of a type names.
std::vector<std::string> ExtensionsOf(const std::string& type) {
  if (type == "DESCRIPTOR" || type == "MANIFEST") return {"json", "jsonl"};
  if (type == "[NAME=]FILE" || type == "FILE [SLICE]" || type == "ACTUAL" || type == "EXPECTED") {
    std::vector<std::string> extensions = {"npy"};
    for (const std::string_view raw : kRawExtensions) extensions.emplace_back(raw.substr(1));
    return extensions;
  }
  return {};
}

// What --help says of a command, from the same declarations.
CompletedCommand Describe(const CommandEntry& entry) {
  CLI::App app;
  CommonOptions common;
  CLI::App& command = *app.add_subcommand(entry.name, entry.summary);
  AddCommon(command, common);
  entry.declare(command, common);
  CompletedCommand described{entry.name, entry.summary, {}, {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_size_max() == 0 ? "" : option->get_type_name();
    CompletedOption one{OptionNames(*option), option->get_description(), type,
                        WordsOf(*option, type), ExtensionsOf(type)};
    if (one.names.empty()) {
      described.words = one.words;
      if (described.extensions.empty()) described.extensions = one.extensions;
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
