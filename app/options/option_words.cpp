// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "core/base/spelling.h"
#include "core/io/file.h"
#include "core/io/tensor_file.h"
#include "core/tensor/data_type.h"

namespace dmlop {

std::string RuleWords(const ComparisonRules& rules) {
  std::string text;
  const auto add = [&](const std::string& type, const auto& absolute, const auto& relative,
                       const auto& ulp) {
    if (absolute) text += fmt::format(" --atol {}{}", type, *absolute);
    if (relative) text += fmt::format(" --rtol {}{}", type, *relative);
    if (ulp) text += fmt::format(" --ulp {}{}", type, *ulp);
  };
  const auto positive = [](auto value) { return value > 0 ? std::optional(value) : std::nullopt; };
  const auto& [tolerances, units, webnn, leniency, shapes, have_precedence] = rules;
  add("", positive(tolerances.all.absolute), positive(tolerances.all.relative),
      positive(tolerances.all.ulp));
  for (const TypedTolerance& one : tolerances.typed) {
    add(fmt::format("{}=", Name(one.type)), one.absolute, one.relative, one.ulp);
  }
  const auto& [no_type, absolute, relative, ulp] = leniency.of_bfloat16;
  add(fmt::format("{}=", kBfloat16Name), absolute, relative, ulp);
  if (tolerances.all.bits) text += " --bits";
  if (units.units > 0) text += fmt::format(" --units {}", units.units);
  if (webnn) text += " --tolerance webnn";
  if (!units.word().empty()) text += " --tolerance " + units.word();
  return text + LeniencyWords(rules);
}

std::string LeniencyWords(const ComparisonRules& rules) {
  std::string text;
  if (rules.leniency.unit_sizes) text += " --squeeze";
  if (rules.leniency.integer_types) text += " --any-integers";
  if (rules.leniency.float_types) text += " --any-floats";
  if (rules.shapes == FileShapes::kByCount) text += " --reshape";
  return text;
}

namespace {

// The option values that describe a form; empty for those that are not set.
std::array<std::string, 4> PartsOf(const RawForm& form) {
  return {form.is_bfloat16 ? kBfloat16Name
          : form.type      ? std::string(Name(*form.type))
                           : "",
          fmt::format("{}", fmt::join(form.sizes, ",")),
          fmt::format("{}", fmt::join(form.strides, ",")),
          form.offset ? fmt::format("{}", *form.offset) : ""};
}

}  // namespace

std::string RawFormWords(const RawForms& forms) {
  constexpr std::array<std::string_view, 4> kOptions = {"--type", "--sizes", "--strides",
                                                        "--offset"};
  const auto actual = PartsOf(forms.actual);
  const auto expected = PartsOf(forms.expected);
  std::string text;
  const auto add = [&](size_t i, std::string_view side, const std::string& part) {
    if (!part.empty()) text += fmt::format(" {} {}{}", kOptions[i], side, part);
  };
  for (size_t i = 0; i < kOptions.size(); ++i) {
    if (actual[i] == expected[i]) {
      add(i, "", actual[i]);
    } else {
      add(i, "actual=", actual[i]);
      add(i, "expected=", expected[i]);
    }
  }
  return text;
}

std::string ConfineWords(const std::string& folder) {
  return folder.empty() ? "" : " --confine " + PathWord(folder);
}

// --- faults --------------------------------------------------------------------------------------

namespace {

std::string UnknownLongOption(const std::string& name, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return fmt::format("there is no option '{}'{}", name, DidYouMean(name, candidates));
}

// The first argument that the command did not take, if it is an unknown option; otherwise empty.
std::string UnknownOption(const std::vector<std::string>& not_taken, const CLI::App& command) {
  for (const std::string& argument : not_taken) {
    if (argument == "--") break;
    if (argument.size() < 2 || argument[0] != '-') continue;
    if (argument[1] == '-') {
      return UnknownLongOption(argument.substr(0, argument.find('=')), command);
    }
    const bool is_number = std::isdigit(static_cast<unsigned char>(argument[1])) != 0;
    if (!is_number) return fmt::format("there is no option '{}'", argument.substr(0, 2));
  }
  return "";
}

std::string ExtraArgument(const std::string& argument, const CLI::App& command) {
  std::string hint;
  if (command.get_option_no_throw("-i") != nullptr) {
    if (HasTensorExtension(argument)) hint = "; -i binds an input to a file";
    if (HasExtension(argument, ".json")) {
      hint = "; the descriptor is the first argument, and -i binds an input to a file";
    }
  }
  return fmt::format("'{}' is one argument too many{}", argument, hint);
}

// Rewords "--threads: 1 required N missing" and "--threads: At Most 1 required but received 2".
std::string WrongCount(std::string_view said, const CLI::App& command) {
  const std::string name(said.substr(0, said.find(':')));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return std::string(said);
  return option->count() > 1
             ? fmt::format("{} is given {} times; it takes one value", name, option->count())
             : fmt::format("{} needs a value: {} {}", name, name, option->get_type_name());
}

// Rewords "Could not convert: --quiet = often", which only flags cause: other options take text.
std::string FlagWithValue(std::string_view said) {
  const size_t begin = said.find("--");
  if (begin == std::string_view::npos) return std::string(said);
  return fmt::format("{} takes no value", said.substr(begin, said.find(' ', begin) - begin));
}

// Names options or arguments that are not accepted, or are missing.
std::string WrongArguments(const CLI::ParseError& error, const CLI::App& command) {
  // A misspelt option is reported before what the library finds wrong because of it.
  std::vector<std::string> not_taken = command.remaining();
  const std::string unknown = UnknownOption(not_taken, command);
  if (!unknown.empty()) return unknown;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  std::erase(not_taken, "--");
  if (not_taken.empty()) not_taken = command.get_parent()->remaining();  // the arguments after "--"
  std::erase(not_taken, "--");
  return not_taken.empty() ? error.what() : ExtraArgument(WithoutGuard(not_taken.front()), command);
}

}  // namespace

std::string WithGuard(std::string argument) {
  return argument.starts_with('[') ? argument + ' ' : argument;
}

std::string WithoutGuard(std::string argument) {
  if (argument.starts_with('[') && argument.ends_with(' ')) argument.pop_back();
  return argument;
}

std::string FaultOf(const CLI::ParseError& error, const CLI::App& command) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return WrongCount(error.what(), command);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return FlagWithValue(error.what());
  }
  const bool is_of_arguments = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                               dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  return is_of_arguments ? WrongArguments(error, command) : error.what();
}

}  // namespace dmlop
