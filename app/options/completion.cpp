// SPDX-License-Identifier: Apache-2.0
#include "app/options/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "app/options/completion.bash.h"
#include "app/options/completion.fish.h"
#include "app/options/completion.zsh.h"
#include "app/shell_word.h"
#include "app/text/table_text.h"

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

// A function of bash and fish that offers values of a kind, and the arguments that it takes.
struct Offer {
  Kind kind;
  const char* function;
  std::vector<std::string> CompletedValue::*arguments;
};

constexpr Offer kOffers[] = {
    {Kind::kWords, "_dmlop_words", &CompletedValue::words},
    {Kind::kNames, "_dmlop_names", &CompletedValue::words},
    {Kind::kFiles, "_dmlop_files", &CompletedValue::extensions},
    {Kind::kNamedFiles, "_dmlop_named_files", &CompletedValue::extensions},
    {Kind::kFolders, "_dmlop_folders", &CompletedValue::words},
    {Kind::kSided, "_dmlop_sided", &CompletedValue::words},
    {Kind::kTensors, "_dmlop_tensors", &CompletedValue::words},
    {Kind::kDispatchables, "_dmlop_dispatchables", &CompletedValue::words},
    {Kind::kKept, "_dmlop_kept", &CompletedValue::extensions},
};

// The command that offers such values; empty if nothing is offered.
std::string Offering(const CompletedValue& value) {
  const auto* const offer = std::ranges::find(kOffers, value.kind, &Offer::kind);
  if (offer == std::end(kOffers)) return "";
  return offer->function + Appended(value.*offer->arguments);
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

std::string CommandWords(const CompletedCommand& before, std::string_view separator) {
  return fmt::format("{}", fmt::join(before.arguments.front().words, separator));
}

std::string PlaceOf(const CompletedCommand& command, size_t argument, size_t number,
                    const char* any) {
  const bool is_last = argument + 1 == command.arguments.size();
  return is_last && command.repeats ? any : fmt::format("{}", number);
}

std::string BashCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands) {
  const auto of_all = [&](std::string (*of_one)(const CompletedCommand&)) {
    std::string text = of_one(before);
    for (const CompletedCommand& command : commands) text += of_one(command);
    return text;
  };
  return WithParts(kBashScript, {{"@OPTIONS@\n", of_all(BashCommand)},
                                 {"@VALUES@\n", of_all(BashValues)},
                                 {"@ARGUMENTS@\n", of_all(BashArguments)},
                                 {"@COMMANDS@", CommandWords(before, "|")}});
}

std::string FishCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands) {
  std::string valued = FishValued(before), completions;
  for (const CompletedCommand& command : commands) {
    valued += FishValued(command);
    completions += fmt::format("complete -c dmlop -n '_dmlop_in none' -a {} -d {}\n", command.name,
                               QuotedWord(command.summary));
  }
  for (const CompletedOption& option : before.options) completions += FishOption("none", option);
  for (const CompletedCommand& command : commands) completions += FishCommand(command);
  return WithParts(kFishScript, {{"@VALUED@", valued},
                                 {"@COMMANDS@", CommandWords(before, " ")},
                                 {"@COMPLETIONS@\n", completions}});
}

// --- zsh -----------------------------------------------------------------------------------------

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
