// SPDX-License-Identifier: Apache-2.0
// Scripts that complete command lines in bash, zsh and fish.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/output.h"
#include "app/options/completion.bash.h"
#include "app/options/completion.fish.h"
#include "app/options/completion.zsh.h"
#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "app/text/operator_words.h"
#include "app/text/table_text.h"
#include "core/io/tensor_file.h"
#include "core/judge/varied_run.h"
#include "core/kernels/simd/isa.h"
#include "core/ops/operator.h"
#include "core/ops/words.h"
#include "core/tensor/data_type.h"

namespace dmlop {
namespace {

// The words that may be typed in one place.
struct CompletedValue {
  enum class Kind {
    kAnything,    // nothing is offered
    kWords,       // one of `words`
    kNames,       // one of `words`, followed by "=" and more: "FLOAT16=1e-3"
    kFiles,       // files with one of `extensions`, or any file if there are none
    kNamedFiles,  // the same, optionally after a name and "=": "InputTensor=x.npy"
    kFolders,
    kSided,  // the same as kWords, of one or both sides of a comparison: "actual=FLOAT16"
    // These belong to the descriptor that is the argument before:
    kTensors,
    kDispatchables,
    kKept,  // tensors that are filled, with "=" and a file behind it
  };

  std::string type{};  // as in --help, "[NAME=]FILE"; empty if there is no value
  Kind kind = Kind::kAnything;
  std::vector<std::string> words{};
  std::vector<std::string> extensions{};  // such as "npy"
};

struct CompletedOption {
  std::vector<std::string> names;  // such as "-t", "--threads"
  std::string description;
  CompletedValue value;
};

struct CompletedCommand {
  std::string name;
  std::string summary;
  std::vector<CompletedOption> options;
  std::vector<CompletedValue> arguments;  // in order of position
  bool repeats = false;                   // the last argument may be repeated
};

using Kind = CompletedValue::Kind;

// The commands, which are the words of the argument of `before`.
std::string CommandWords(const CompletedCommand& before, std::string_view separator) {
  return fmt::format("{}", fmt::join(before.arguments.front().words, separator));
}

// The number of an argument, or `any` if it may be repeated.
std::string PlaceOf(const CompletedCommand& command, size_t argument, size_t number,
                    const char* any) {
  const bool is_last = argument + 1 == command.arguments.size();
  return is_last && command.repeats ? any : fmt::format("{}", number);
}

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

// `before` describes what precedes the command, which is its argument; it has no name.
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

// --- what the options take -----------------------------------------------------------------------

using Writer = std::string (*)(const CompletedCommand& before,
                               std::span<const CompletedCommand> commands);

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

// The names of operators in other libraries.
std::vector<std::string> NamesElsewhere() {
  std::set<std::string> names;
  for (const OperatorInfo* info : Operators()) {
    const OtherNames others = OtherNamesOf(*info);
    for (const auto& of_library : {others.onnx, others.webnn, others.pytorch}) {
      names.insert(of_library.begin(), of_library.end());
    }
  }
  return Copied(names);
}

std::vector<std::string> LevelNames() {
  std::vector<std::string> names;
  for (const FeatureLevel level : FeatureLevels()) names.push_back(ToString(level));
  return names;
}

std::vector<std::string> GroupNames() {
  std::vector<std::string> names;
  for (const OperatorGroup& group : OperatorGroups()) names.emplace_back(group.name);
  names.emplace_back(kOnnxPage);
  std::ranges::sort(names);
  return names;
}

// The words of a type such as "text|json"; empty for other types.
std::vector<std::string> Alternatives(const std::string& type) {
  std::vector<std::string> words;
  if (type.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") != type.npos) return words;
  for (size_t begin = 0; begin <= type.size();) {
    const size_t end = std::min(type.find('|', begin), type.size());
    words.push_back(type.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> OfferedWords(const CLI::Option& option, const std::string& type) {
  if (type == "OPERATOR") return Copied(OperatorNames());
  const bool is_type = type == "TYPE" || type == "[SIDE=]TYPE" || type.starts_with("[TYPE=]");
  if (is_type) return Copied(DataTypeNames().subspan(1));
  if (type == "LEVEL") return LevelNames();
  if (type == "GROUP") return GroupNames();
  if (type == "ID") return VariationIds();
  if (option.check_lname("isa")) return Copied(SupportedIsas());
  if (option.check_lname("like")) return NamesElsewhere();
  return Alternatives(type);
}

// The extensions of the files that a value of a type names.
std::vector<std::string> ExtensionsOf(const std::string& type) {
  if (type == "DESCRIPTOR" || type == "MANIFEST") return {"json", "jsonl"};
  if (type.starts_with("FILE.")) return {type.substr(type.find('.') + 1)};
  if (type == "FILE") return {};
  std::vector<std::string> extensions = {"npz"};
  for (const TensorExtension& known : kTensorExtensions) {
    extensions.emplace_back(known.extension.substr(1));
  }
  return extensions;
}

CompletedValue ValueOf(const CLI::Option& option) {
  if (option.get_type_size_max() == 0) return {};
  const std::string type = option.get_type_name();
  const std::vector<std::string> words = OfferedWords(option, type);
  if (type.starts_with("[SIDE=]")) return {type, Kind::kSided, words};
  if (option.check_lname("dispatchable") || option.check_lname("node"))
    return {type, Kind::kDispatchables};
  if (option.check_lname("keep")) return {type, Kind::kKept, {}, ExtensionsOf(type)};
  if (!words.empty()) {
    return {type, type.starts_with("[TYPE=]") ? Kind::kNames : Kind::kWords, words};
  }
  if (type == "DIR") return {type, Kind::kFolders};
  if (type == "ELEMENT") return {type, Kind::kTensors};
  const bool is_file = type.find("FILE") != type.npos || type.find("ACTUAL") != type.npos ||
                       type == "EXPECTED" || type == "DESCRIPTOR" || type == "MANIFEST";
  if (!is_file) return {type};
  const bool is_named = type.find("NAME=") != type.npos;
  return {type, is_named ? Kind::kNamedFiles : Kind::kFiles, {}, ExtensionsOf(type)};
}

// Describes a command by the declarations that --help uses.
CompletedCommand Describe(const CommandEntry& entry) {
  CLI::App app;
  CommonOptions common;
  CLI::App& command = *app.add_subcommand(entry.name, entry.summary);
  AddCommon(command, common);
  entry.declare(command, common);
  CompletedCommand described{entry.name, entry.summary, {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    const CompletedValue value = ValueOf(*option);
    if (option->nonpositional()) {
      described.options.push_back({OptionNames(*option), option->get_description(), value});
    } else {
      described.arguments.push_back(value);
      // Slices are not files.
      described.repeats = option->get_expected_max() == CLI::detail::expected_max_vector_size &&
                          value.type != "FILE [SLICE]";
    }
  }
  return described;
}

CompletedCommand BeforeCommand(std::span<const CompletedCommand> commands) {
  CompletedCommand before{"", "", {}, {{"COMMAND", Kind::kWords, {}, {}}}};
  for (const CompletedCommand& command : commands) {
    before.arguments.front().words.push_back(command.name);
  }
  for (const CompletedOption& option : commands.front().options) {
    const bool is_common = std::ranges::all_of(commands, [&](const CompletedCommand& command) {
      return std::ranges::find(command.options, option.names, &CompletedOption::names) !=
             command.options.end();
    });
    if (is_common) before.options.push_back(option);
  }
  before.options.push_back({{"--version"}, "Print the version", {}});
  return before;
}

ExitStatus PrintCompletion(Writer write) {
  std::vector<CompletedCommand> commands;
  for (const CommandEntry& entry : Commands()) commands.push_back(Describe(entry));
  PrintResult(write(BeforeCommand(commands), commands));
  return ExitStatus::kSuccess;
}

}  // namespace

Command DeclareCompletion(CLI::App& command, const CommonOptions&) {
  const auto writer = std::make_shared<Writer>(nullptr);
  AddChoice<Writer>(command, "shell", "The shell that is to complete", *writer,
                    {{"bash", BashCompletion}, {"zsh", ZshCompletion}, {"fish", FishCompletion}})
      ->required();
  return [writer] { return PrintCompletion(*writer); };
}

}  // namespace dmlop
