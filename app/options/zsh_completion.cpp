// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/options/completion.h"
#include "app/options/completion.zsh.h"
#include "app/shell_word.h"
#include "app/text/table_text.h"

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
  std::string summaries, options, arguments;
  for (const CompletedOption& option : before.options) options += ZshOption(option);
  for (const CompletedCommand& command : commands) {
    const std::string summary = fmt::format("{}:{}", command.name, ZshText(command.summary));
    summaries += fmt::format("    {}\n", QuotedWord(summary));
    arguments +=
        fmt::format("    {})\n      _arguments{}\n      ;;\n", command.name, ZshArguments(command));
  }
  return WithParts(kZshScript, {{"@SUMMARIES@\n", summaries},
                                {"@COMMANDS@", CommandWords(before, "|")},
                                {"@OPTIONS@", options},
                                {"@ARGUMENTS@\n", arguments}});
}

}  // namespace dmlop
