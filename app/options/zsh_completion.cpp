// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/options/completion.h"
#include "app/shell_word.h"

namespace dmlop {
namespace {

using Kind = CompletedValue::Kind;

// Escapes text in a specification of zsh's _arguments, whose parts end at ':' and brackets.
std::string ZshText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string ZshFiles(const std::vector<std::string>& extensions) {
  if (extensions.size() < 2) return extensions.empty() ? "" : " -g \"*." + extensions[0] + "\"";
  return fmt::format(" -g \"*.({})\"", fmt::join(extensions, "|"));
}

// Returns text such as ":FILE:_files".
std::string ZshValue(const CompletedValue& value) {
  std::string action = " ";
  if (value.kind == Kind::kWords) action = fmt::format("({})", fmt::join(value.words, " "));
  if (value.kind == Kind::kNames)
    action = fmt::format("compadd -S= -- {}", fmt::join(value.words, " "));
  if (value.kind == Kind::kFiles) action = "_files" + ZshFiles(value.extensions);
  if (value.kind == Kind::kNamedFiles) action = "_dmlop_named_files" + ZshFiles(value.extensions);
  if (value.kind == Kind::kFolders) action = "_files -/";
  if (value.kind == Kind::kSided) {
    action = fmt::format("_dmlop_sided -- {}", fmt::join(value.words, " "));
  }
  if (value.kind == Kind::kTensors) action = "_dmlop_tensors";
  if (value.kind == Kind::kDispatchables) action = "_dmlop_dispatchables";
  if (value.kind == Kind::kKept) action = "_dmlop_kept" + ZshFiles(value.extensions);
  return fmt::format(":{}:{}", ZshText(value.type), action);
}

// An option's value follows it, or is in the same word.
std::string ZshOption(const CompletedOption& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const bool has_value = !option.value.type.empty();
    const char* joint = !has_value ? "" : name.starts_with("--") ? "=" : "+";
    const std::string value = has_value ? ZshValue(option.value) : "";
    text += fmt::format(
        " \\\n        {}",
        QuotedWord(fmt::format("*{}{}[{}]{}", name, joint, ZshText(option.description), value)));
  }
  return text;
}

// The arguments of zsh's _arguments.
std::string ZshArguments(const CompletedCommand& command) {
  std::string text;
  for (const CompletedOption& option : command.options) text += ZshOption(option);
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string place = PlaceOf(command, i, i + 1, "*");
    text += " \\\n        " + QuotedWord(place + ZshValue(command.arguments[i]));
  }
  return text;
}

}  // namespace

std::string ZshCompletion(const CompletedCommand& before,
                          std::span<const CompletedCommand> commands) {
  std::string text = R"sh(#compdef dmlop
# Completes dmlop in zsh; from 'dmlop completion zsh'.
_dmlop_named_files() {
  compset -P 1 '*='
  _files "$@"
}
# Words for one side of a comparison, or for both.
_dmlop_sided() {
  compset -P 1 '*=' || compadd -S= -- actual expected
  compadd "$@"
}
# Puts names of the descriptor, which is the argument before, into $listed.
_dmlop_list() {
  local descriptor=${(Q)line[1]}
  local -a of_line=(${opt_args[--line]:+--line=$opt_args[--line]})
  listed=(${(f)"$(${program/#\~\//$HOME/} explain --list $1 $of_line "${descriptor/#\~\//$HOME/}" 2>/dev/null)"})
}
_dmlop_tensors() {
  local -a listed
  _dmlop_list tensors
  compadd "$@" -S '' -a listed
}
_dmlop_dispatchables() {
  local -a listed
  _dmlop_list dispatchables
  compadd "$@" -a listed
}
_dmlop_kept() {
  local -a listed
  if compset -P 1 '*='; then
    _files "$@"
  else
    _dmlop_list filled
    compadd -S= -a listed
  fi
}
_dmlop() {
  local program=${(Q)words[1]}
  local -a dmlop_commands
  dmlop_commands=(
)sh";
  for (const CompletedCommand& command : commands) {
    text += fmt::format("    {}\n",
                        QuotedWord(fmt::format("{}:{}", command.name, ZshText(command.summary))));
  }
  text += R"sh(  )
  local -a before=("${(@)words[2,CURRENT-1]}")
)sh";
  text += fmt::format("  local command=${{before[(r)({})]}}\n",
                      fmt::join(before.arguments.front().words, "|"));
  text += "  if [[ -z $command ]]; then\n    _arguments";
  for (const CompletedOption& option : before.options) text += ZshOption(option);
  text += R"sh( \
        '1:command:{_describe command dmlop_commands}'
    return
  fi
  while [[ $words[1] != $command ]]; do
    shift words
    ((CURRENT--))
  done
  case $command in
)sh";
  for (const CompletedCommand& command : commands) {
    text +=
        fmt::format("    {})\n      _arguments{}\n      ;;\n", command.name, ZshArguments(command));
  }
  return text + R"sh(  esac
}
if [[ $funcstack[1] == _dmlop ]]; then
  _dmlop "$@"
else
  compdef _dmlop dmlop
fi
)sh";
}

}  // namespace dmlop
