#include "app/options/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/shell_word.h"

namespace dmlop {
namespace {

using Kind = CompletedValue::Kind;

std::string Joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// With a space before it, unless it is empty.
std::string Appended(const std::vector<std::string>& words) {
  return words.empty() ? "" : " " + Joined(words);
}

std::vector<std::string> NamesOf(const std::vector<CompletedOption>& options, bool with_value) {
  std::vector<std::string> names;
  for (const CompletedOption& option : options) {
    if (with_value && option.value.type.empty()) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// The command of a function in bash or fish that offers such values; empty where nothing is
// offered.
std::string Offering(const CompletedValue& value) {
  switch (value.kind) {
    case Kind::kAnything:
      return "";
    case Kind::kWords:
      return "_dmlop_words" + Appended(value.words);
    case Kind::kNames:
      return "_dmlop_names" + Appended(value.words);
    case Kind::kFiles:
      return "_dmlop_files" + Appended(value.extensions);
    case Kind::kNamedFiles:
      return "_dmlop_named_files" + Appended(value.extensions);
    case Kind::kFolders:
      return "_dmlop_folders";
    case Kind::kTensors:
      return "_dmlop_tensors";
  }
  return "";
}

std::string BashCommand(const CompletedCommand& command) {
  std::string values;
  for (const CompletedOption& option : command.options) {
    if (option.value.type.empty()) continue;
    values += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"),
                          option.value.kind == Kind::kAnything ? ":" : Offering(option.value));
  }
  return fmt::format(
      "    {})\n      options={}\n      valued={}\n      case $before in\n{}      esac\n      ;;\n",
      command.name.empty() ? "''" : command.name,
      QuotedWord(Joined(NamesOf(command.options, false))),
      QuotedWord(Joined(NamesOf(command.options, true))), values);
}

// One pattern of a case statement for each argument that the command takes.
std::string BashArguments(const CompletedCommand& command) {
  std::string text;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    text += fmt::format("    {}:{}) {} ;;\n", command.name, PlaceOf(command, i, i, "*"),
                        Offering(command.arguments[i]));
  }
  return text;
}

std::string FishOption(const std::string& command, const CompletedOption& option) {
  std::string text = fmt::format("complete -c dmlop -n {}", QuotedWord("_dmlop_in " + command));
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    text += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
  }
  if (!option.value.type.empty()) text += " -x";
  const std::string offering = Offering(option.value);
  if (!offering.empty()) text += fmt::format(" -k -a '({})'", offering);
  return text + " -d " + QuotedWord(option.description) + "\n";
}

std::string FishCommand(const CompletedCommand& command) {
  const std::string name = command.name.empty() ? "none" : command.name;
  std::string text;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    text += fmt::format("complete -c dmlop -n '_dmlop_in {} {}' -k -a '({})'\n", name,
                        PlaceOf(command, i, i, ""), Offering(command.arguments[i]));
  }
  for (const CompletedOption& option : command.options) text += FishOption(name, option);
  return text;
}

// "run -i", for each option that takes a value.
std::string FishValued(const CompletedCommand& command) {
  std::string text;
  for (const std::string& name : NamesOf(command.options, true)) {
    text += fmt::format(" '{} {}'", command.name.empty() ? "none" : command.name, name);
  }
  return text;
}

}  // namespace

std::string PlaceOf(const CompletedCommand& command, size_t argument, size_t number,
                    const char* any) {
  const bool is_last = argument + 1 == command.arguments.size();
  return is_last && command.repeats ? any : fmt::format("{}", number);
}

std::string BashCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands) {
  std::string text = R"sh(# Completes dmlop in bash; from 'dmlop completion bash'.

# Those of the arguments that begin like $word, which is to be completed.
_dmlop_words() {
  local one
  for one; do
    [[ $one != "$word"* ]] || COMPREPLY+=("$one")
  done
}
_dmlop_names() {
  compopt -o nospace 2>/dev/null
  _dmlop_words "${@/%/=}"
}
# Paths as they are called, whatever the word has of quotes and backslashes; bash writes its own.
# Folders, and the files with the extensions or, where there are none, all files.
_dmlop_paths() {  # -d|-f EXTENSION...
  local name=${word#[\"\']} path extension found
  compopt -o filenames 2>/dev/null
  mapfile -t found < <(compgen "$1" -- "${name//\\/}")
  for path in "${found[@]}"; do
    if [[ -d $path ]]; then
      COMPREPLY+=("$path")
      continue
    fi
    for extension in "${@:2}"; do
      [[ $path != *.$extension ]] || COMPREPLY+=("$path")
    done
  done
  (($# > 1 && ${#COMPREPLY[@]} > 0)) || COMPREPLY=("${found[@]}")
}
_dmlop_files() { _dmlop_paths -f "$@"; }
_dmlop_folders() { _dmlop_paths -d; }
_dmlop_named_files() {
  word=${word#*=}
  _dmlop_paths -f "$@"
}
# Tensors of the descriptor, whose names may have any characters.
_dmlop_tensors() {
  local descriptor=${arguments[0]#[\"\']} tensors
  descriptor=${descriptor%[\"\']}
  mapfile -t tensors < <("${words[0]/#\~\//$HOME/}" explain --tensors "${descriptor/#\~\//$HOME/}" 2>/dev/null)
  ((${#tensors[@]} == 0)) || mapfile -t tensors < <(printf '%q\n' "${tensors[@]}")
  _dmlop_names "${tensors[@]}"
  COMPREPLY=("${COMPREPLY[@]%=}")
}
# Offers what may stand for $word, behind $before and $arguments.
_dmlop_offer() {
  local options valued other skip=
  case $command in
)sh";
  text += BashCommand(before);
  for (const CompletedCommand& command : commands) text += BashCommand(command);
  text += R"sh(  esac
  for other in "${words[@]:first:${#words[@]}-first-1}"; do
    if [[ -n $skip ]]; then
      skip=
    elif [[ $other != -?* ]]; then
      arguments+=("$other")
    elif [[ " $valued " == *" $other "* ]]; then
      skip=yes
    fi
  done
  if [[ $word == -* ]]; then
    _dmlop_words $options
    return
  fi
  case $command:${#arguments[@]} in
)sh";
  text += BashArguments(before);
  for (const CompletedCommand& command : commands) text += BashArguments(command);
  text += R"sh(  esac
}
_dmlop() {
  # bash takes '=' and ':' for words of their own.
  local words=() arguments=() piece=${COMP_WORDS[COMP_CWORD]} command= first=1 i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    if [[ $i -gt 1 && (${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i-1]} == [=:]) ]]; then
      words[-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  [[ $piece != [=:] ]] || piece=
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    case ${words[i]} in
)sh";
  text += fmt::format("      {}) command=${{words[i]}} first=$((i + 1)); break ;;\n",
                      fmt::join(before.arguments.front().words, "|"));
  return text + R"sh(    esac
  done
  local typed=${words[-1]} before=${words[-2]}
  local word=$typed
  if [[ $typed == -*=* ]]; then
    before=${typed%%=*} word=${typed#*=}
  fi
  COMPREPLY=()
  _dmlop_offer
  # What bash completes is the last of its pieces.
  local head=${typed%"$word"} cut=${typed%"$piece"} whole
  for i in "${!COMPREPLY[@]}"; do
    whole=$head${COMPREPLY[i]}
    COMPREPLY[i]=${whole:${#cut}}
  done
}
complete -F _dmlop dmlop
)sh";
}

std::string FishCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands) {
  std::string text =
      "# Completes dmlop in fish; from 'dmlop completion fish'.\nset -g _dmlop_valued";
  text += FishValued(before);
  for (const CompletedCommand& command : commands) text += FishValued(command);
  text += fmt::format(R"sh(
# Prints the command, or none, and the arguments behind it that are typed before.
function _dmlop_typed
    set -l command none
    set -l arguments
    set -l skip no
    for word in (commandline -opc)[2..]
        if test $skip = yes
            set skip no
        else if string match -q -- '-?*' $word
            contains -- "$command $word" $_dmlop_valued; and set skip yes
        else if test $command != none
            set -a arguments (string escape -- $word)
        else if contains -- $word {}
            set command $word
        end
    end
    printf '%s\n' $command $arguments
end
)sh",
                      Joined(before.arguments.front().words));
  text += R"sh(# Whether that is the command, with so many arguments behind it.
function _dmlop_in
    set -l typed (_dmlop_typed)
    test "$typed[1]" = $argv[1]; or return
    set -q argv[2]; or return 0
    test (count $typed) -eq (math $argv[2] + 1)
end
function _dmlop_words
    printf '%s\n' $argv
end
function _dmlop_names
    printf '%s=\n' $argv
end
# What is typed of an option's value, which may stand behind "=", or of an argument.
function _dmlop_value
    string replace -r -- '^-[^=]*=' '' (commandline -ct)
end
# Folders, and the files with the extensions or, where there are none, all files.
function _dmlop_files
    _dmlop_paths (_dmlop_value) $argv
end
function _dmlop_paths
    set -l paths (complete -C "__fish_command_without_completions $argv[1]")
    set -l endings (string escape --style=regex -- .$argv[2..])
    set -l fitting (string match -r -- ".*(?:/|"(string join '|' $endings)")\$" $paths)
    test (count $argv) -gt 1; and set -q fitting[1]; and set paths $fitting
    printf '%s\n' $paths
end
function _dmlop_named_files
    set -l value (_dmlop_value)
    set -l name (string match -r -- '^[^=]*=' $value)
    _dmlop_paths (string replace -r -- '^[^=]*=' '' $value) $argv | string replace -r -- '^' "$name"
end
function _dmlop_folders
    _dmlop_files | string match -- '*/'
end
# Tensors of the descriptor.
function _dmlop_tensors
    set -l typed (_dmlop_typed)
    set -l descriptor (string unescape -- $typed[2] | string collect | string replace -r '^~/' "$HOME/")
    set -l program (commandline -opc)[1]
    $program explain --tensors "$descriptor" 2>/dev/null
end
complete -c dmlop -f
)sh";
  for (const CompletedCommand& command : commands) {
    text += fmt::format("complete -c dmlop -n '_dmlop_in none' -a {} -d {}\n", command.name,
                        QuotedWord(command.summary));
  }
  for (const CompletedOption& option : before.options) text += FishOption("none", option);
  for (const CompletedCommand& command : commands) text += FishCommand(command);
  return text;
}

}  // namespace dmlop
