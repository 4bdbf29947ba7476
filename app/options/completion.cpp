#include "app/options/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/shell_word.h"

namespace dmlop {
namespace {

// Within a specification of zsh's _arguments: ':' and brackets end its parts.
std::string ZshText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::vector<std::string> NamesOf(std::span<const CompletedCommand> commands) {
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands) names.push_back(command.name);
  return names;
}

// What stands before the command: it has no name, and the commands are its words.
CompletedCommand BeforeCommand(std::span<const CompletedCommand> commands) {
  CompletedCommand before{"", "", {}, NamesOf(commands)};
  for (const CompletedOption& option : commands.front().options) {
    const bool is_common = std::ranges::all_of(commands, [&](const CompletedCommand& command) {
      return std::ranges::find(command.options, option.names, &CompletedOption::names) !=
             command.options.end();
    });
    if (is_common) before.options.push_back(option);
  }
  before.options.push_back({{"--version"}, "Print the version", "", {}});
  return before;
}

// " npy bin"
std::string WithSpaces(const std::vector<std::string>& extensions) {
  std::string text;
  for (const std::string& extension : extensions) text += " " + extension;
  return text;
}

std::string ZshFiles(const std::vector<std::string>& extensions) {
  return extensions.empty() ? "_files"
                            : fmt::format("_files -g \"*.({})\"", fmt::join(extensions, "|"));
}

// Files with the first extension, and then all others.
std::string FishFiles(const std::vector<std::string>& extensions) {
  return fmt::format(" -k -x -a '(__fish_complete_suffix .{})'", extensions.front());
}

bool TakesFile(const CompletedOption& option) {
  return option.type.find("FILE") != std::string::npos;
}

// One pattern of a case statement for each kind of value that the word before may ask for.
std::string BashValues(const CompletedCommand& command) {
  std::string text;
  for (const CompletedOption& option : command.options) {
    if (option.type.empty()) continue;
    std::string reply = "return";
    if (TakesFile(option)) {
      reply = fmt::format("_dmlop_files -f{}; return", WithSpaces(option.extensions));
    }
    if (option.type == "DIR") reply = "_dmlop_files -d; return";
    if (!option.words.empty()) {
      reply = fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\")); return",
                          QuotedWord(fmt::format("{}", fmt::join(option.words, " "))));
    }
    text += fmt::format("        {}) {} ;;\n", fmt::join(option.names, "|"), reply);
  }
  return text;
}

std::string BashCommand(const CompletedCommand& command) {
  std::vector<std::string> names;
  for (const CompletedOption& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  const std::string values = BashValues(command);
  const std::string cases =
      values.empty() ? "" : fmt::format("      case $before in\n{}      esac\n", values);
  return fmt::format("    {})\n{}      options={}\n      words={}\n      extensions={}\n      ;;\n",
                     command.name.empty() ? "''" : command.name, cases,
                     QuotedWord(fmt::format("{}", fmt::join(names, " "))),
                     QuotedWord(fmt::format("{}", fmt::join(command.words, " "))),
                     QuotedWord(fmt::format("{}", fmt::join(command.extensions, " "))));
}

std::string ZshOption(const CompletedOption& option) {
  std::string value;
  if (!option.type.empty()) {
    value = fmt::format(":{}:", ZshText(option.type));
    if (TakesFile(option)) value += ZshFiles(option.extensions);
    if (option.type == "DIR") value += "_files -/";
    if (!option.words.empty()) value += fmt::format("({})", fmt::join(option.words, " "));
  }
  std::string text;
  for (const std::string& name : option.names) {
    text +=
        fmt::format(" \\\n        {}",
                    QuotedWord(fmt::format("*{}[{}]{}", name, ZshText(option.description), value)));
  }
  return text;
}

// What _arguments takes of the options.
std::string ZshOptions(const CompletedCommand& command) {
  std::string text;
  for (const CompletedOption& option : command.options) text += ZshOption(option);
  return text;
}

std::string FishOption(std::string_view condition, const CompletedOption& option) {
  std::string text = fmt::format("complete -c dmlop -n {}", condition);
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    text += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
  }
  if (!option.words.empty()) {
    text += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
  } else if (TakesFile(option)) {
    text += option.extensions.empty() ? " -r -F" : FishFiles(option.extensions);
  } else if (option.type == "DIR") {
    text += " -x -a '(__fish_complete_directories)'";
  } else if (!option.type.empty()) {
    text += " -x";
  }
  return text + " -d " + QuotedWord(option.description) + "\n";
}

}  // namespace

std::string BashCompletion(std::span<const CompletedCommand> commands) {
  std::string text = R"(# Completes dmlop in bash; from 'dmlop completion bash'.
# Files as they are called, whatever the word has of quotes and backslashes; bash writes its own.
# Those with the extensions behind the first argument and folders or, where there are none, all.
_dmlop_files() {
  local name=${word#[\"\']} path extension found
  mapfile -t found < <(compgen "$1" -- "${name//\\/}")
  for path in "${found[@]}"; do
    if [[ -d $path ]]; then
      COMPREPLY+=("$path")
      continue
    fi
    for extension in "${@:2}"; do
      [[ $path == *.$extension ]] && COMPREPLY+=("$path")
    done
  done
  (($# > 1 && ${#COMPREPLY[@]} > 0)) || COMPREPLY=("${found[@]}")
}
_dmlop() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local command= other options words extensions
  COMPREPLY=()
  for other in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $other in
)";
  text += fmt::format("      {}) command=$other; break ;;\n", fmt::join(NamesOf(commands), "|"));
  text += "    esac\n  done\n  case $command in\n" + BashCommand(BeforeCommand(commands));
  for (const CompletedCommand& command : commands) text += BashCommand(command);
  return text + R"(  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    _dmlop_files -f $extensions
  fi
}
complete -o filenames -F _dmlop dmlop
)";
}

std::string ZshCompletion(std::span<const CompletedCommand> commands) {
  std::string text = R"(#compdef dmlop
# Completes dmlop in zsh; from 'dmlop completion zsh'.
_dmlop() {
  local -a commands
  commands=(
)";
  for (const CompletedCommand& command : commands) {
    text += fmt::format("    {}\n",
                        QuotedWord(fmt::format("{}:{}", command.name, ZshText(command.summary))));
  }
  text += R"(  )
  local -a before=("${(@)words[2,CURRENT-1]}")
)";
  text += fmt::format("  local command=${{before[(r)({})]}}\n", fmt::join(NamesOf(commands), "|"));
  text += "  if [[ -z $command ]]; then\n    _describe command commands\n    _arguments";
  text += ZshOptions(BeforeCommand(commands));
  text += R"(
    return
  fi
  while [[ $words[1] != $command ]]; do
    shift words
    ((CURRENT--))
  done
  case $command in
)";
  for (const CompletedCommand& command : commands) {
    text += fmt::format("    {})\n      _arguments{}", command.name, ZshOptions(command));
    const std::string rest = command.words.empty()
                                 ? ZshFiles(command.extensions)
                                 : fmt::format("({})", fmt::join(command.words, " "));
    text += fmt::format(" \\\n        {}\n      ;;\n", QuotedWord("*:argument:" + rest));
  }
  return text + R"(  esac
}
if [[ $funcstack[1] == _dmlop ]]; then
  _dmlop "$@"
else
  compdef _dmlop dmlop
fi
)";
}

std::string FishCompletion(std::span<const CompletedCommand> commands) {
  std::string text = "# Completes dmlop in fish; from 'dmlop completion fish'.\n";
  for (const CompletedCommand& command : commands) {
    text += fmt::format("complete -c dmlop -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        QuotedWord(command.summary));
    if (!command.words.empty()) {
      text += fmt::format("complete -c dmlop -f -n '__fish_seen_subcommand_from {}' -a '{}'\n",
                          command.name, fmt::join(command.words, " "));
    }
    if (!command.extensions.empty()) {
      text += fmt::format("complete -c dmlop -n '__fish_seen_subcommand_from {}'{}\n", command.name,
                          FishFiles(command.extensions));
    }
    const std::string is_given = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    for (const CompletedOption& option : command.options) text += FishOption(is_given, option);
  }
  for (const CompletedOption& option : BeforeCommand(commands).options) {
    text += FishOption("__fish_use_subcommand", option);
  }
  return text;
}

}  // namespace dmlop
