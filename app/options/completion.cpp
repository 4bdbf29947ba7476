// SPDX-License-Identifier: Apache-2.0
#include "app/options/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/shell_word.h"

namespace dmlop {
namespace {

using Kind = CompletedValue::Kind;

std::string Joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// The joined words after a space, or nothing if there are none.
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

// The command in a bash or fish function that offers such values; empty if nothing is offered.
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
    case Kind::kSided:
      return "_dmlop_sided" + Appended(value.words);
    case Kind::kTensors:
      return "_dmlop_tensors";
    case Kind::kDispatchables:
      return "_dmlop_dispatchables";
    case Kind::kKept:
      return "_dmlop_kept" + Appended(value.extensions);
  }
  return "";
}

std::string BashCommand(const CompletedCommand& command) {
  return fmt::format("    {})\n      options={}\n      valued={}\n      ;;\n",
                     command.name.empty() ? "''" : command.name,
                     QuotedWord(Joined(NamesOf(command.options, false))),
                     QuotedWord(Joined(NamesOf(command.options, true))));
}

// One pattern of a case statement for each option that takes a value.
std::string BashValues(const CompletedCommand& command) {
  std::string text;
  for (const CompletedOption& option : command.options) {
    if (option.value.type.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(command.name + ":" + name);
    text += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, "|"),
                        option.value.kind == Kind::kAnything ? ":" : Offering(option.value));
  }
  return text;
}

// One pattern of a case statement for each argument of the command.
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

// "run -i" for each option with a value.
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
# Words for one side of a comparison, or for both.
_dmlop_sided() {
  if [[ $word == *=* ]]; then
    word=${word#*=}
    _dmlop_words "$@"
    return
  fi
  _dmlop_words "$@"
  [[ actual != "$word"* && expected != "$word"* ]] || _dmlop_names actual expected
}
# Puts names of the descriptor into $listed; they may have any characters.
_dmlop_list() {
  local descriptor=${arguments[0]#[\"\']}
  descriptor=${descriptor%[\"\']}
  mapfile -t listed < <("${words[0]/#\~\//$HOME/}" explain --list "$1" "${line[@]}" "${descriptor/#\~\//$HOME/}" 2>/dev/null)
  ((${#listed[@]} == 0)) || mapfile -t listed < <(printf '%q\n' "${listed[@]}")
}
_dmlop_tensors() {
  _dmlop_list tensors
  _dmlop_names "${listed[@]}"
  COMPREPLY=("${COMPREPLY[@]%=}")
}
_dmlop_dispatchables() {
  _dmlop_list dispatchables
  _dmlop_words "${listed[@]}"
}
_dmlop_kept() {
  if [[ $word == *=* ]]; then
    _dmlop_named_files "$@"
  else
    _dmlop_list filled
    _dmlop_names "${listed[@]}"
  fi
}
# Offers what may stand for $word, behind $before and $arguments.
_dmlop_offer() {
  local options valued other skip= line=() listed=()
  case $command in
)sh";
  text += BashCommand(before);
  for (const CompletedCommand& command : commands) text += BashCommand(command);
  text += R"sh(  esac
  for other in "${words[@]:first:${#words[@]}-first-1}"; do
    if [[ -n $skip ]]; then
      [[ $skip != --line ]] || line=("--line=$other")
      skip=
    elif [[ $other != -?* ]]; then
      arguments+=("$other")
    elif [[ $other == --line=* ]]; then
      line=("$other")
    elif [[ " $valued " == *" $other "* ]]; then
      skip=$other
    fi
  done
  case $command:$before in
)sh";
  text += BashValues(before);
  for (const CompletedCommand& command : commands) text += BashValues(command);
  text += R"sh(  esac
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
# Words for one side of a comparison, or for both.
function _dmlop_sided
    set -l side (string match -r -- '^[^=]*=' (_dmlop_value))
    test -n "$side"; or printf '%s\n' actual= expected=
    set -q argv[1]; and string replace -r -- '^' "$side" $argv
end
# Names of the descriptor.
function _dmlop_list
    set -l typed (_dmlop_typed)
    set -l descriptor (string unescape -- $typed[2] | string collect | string replace -r '^~/' "$HOME/")
    set -l words (commandline -opc)
    set -l line (string match -- '--line=*' $words)
    set -l at (contains -i -- --line $words); and set line --line=$words[(math $at + 1)]
    $words[1] explain --list $argv[1] $line "$descriptor" 2>/dev/null
end
# An index or a byte follows, and so no space: fish writes none while there are two to choose from.
function _dmlop_tensors
    for tensor in (_dmlop_list tensors)
        printf '%s\n' "$tensor" "$tensor@"
    end
end
function _dmlop_dispatchables
    _dmlop_list dispatchables
end
function _dmlop_kept
    if string match -q -- '*=*' (_dmlop_value)
        _dmlop_named_files $argv
    else
        _dmlop_list filled | string replace -r -- '$' =
    end
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
