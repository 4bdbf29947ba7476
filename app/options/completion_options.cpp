// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "app/files/output.h"
#include "app/options/command_options.h"
#include "app/options/completion.h"
#include "app/options/option_kinds.h"
#include "app/text/operator_words.h"
#include "core/io/tensor_file.h"
#include "core/judge/varied_run.h"
#include "core/kernels/simd/isa.h"
#include "core/ops/operator.h"
#include "core/ops/words.h"
#include "core/tensor/data_type.h"

namespace dmlop {
namespace {

using Kind = CompletedValue::Kind;
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

std::vector<std::string> WordsOf(const CLI::Option& option, const std::string& type) {
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
  const std::vector<std::string> words = WordsOf(option, type);
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
