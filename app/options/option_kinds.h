// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and kinds of options.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/exit_status.h"
#include "app/options/options.h"
#include "core/base/text.h"
#include "core/tensor/data_type.h"

namespace dmlop {

// The fault of a value of an option.
template <typename... Args>
CLI::ValidationError Invalid(const std::string& option, fmt::format_string<Args...> text,
                             Args&&... args) {
  return CLI::ValidationError(option, fmt::format(text, std::forward<Args>(args)...));
}

// Adds the options that every command has.
void AddCommon(CLI::App& command, CommonOptions& options);

// A value, or several, as CLI11 reads them; `type` is what --help calls it.
template <typename T>
CLI::Option* AddValue(CLI::App& command, const std::string& name, const std::string& type,
                      const std::string& description, T& value) {
  return command.add_option(name, value, description)->type_name(type);
}

// A value that a function makes of its text; the function may throw what Invalid returns.
template <typename Value, typename Parse>
CLI::Option* AddParsed(CLI::App& command, const std::string& name, const std::string& type,
                       const std::string& description, Value& value, Parse parse) {
  const auto store = [&value, parse](const std::string& text) { value = parse(text); };
  return command.add_option_function<std::string>(name, store, description)->type_name(type);
}

// An option that may be repeated; a function takes each text.
template <typename Take>
CLI::Option* AddEach(CLI::App& command, const std::string& name, const std::string& type,
                     const std::string& description, Take take) {
  const auto take_all = [take](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) take(text);
  };
  return command.add_option_function<std::vector<std::string>>(name, take_all, description)
      ->allow_extra_args(false)
      ->type_name(type);
}

// One of several words, in any case. The option's type lists them: "text|json".
template <typename T, typename Choice = T>
CLI::Option* AddChoice(CLI::App& command, const std::string& name, const std::string& description,
                       T& value, const std::vector<std::pair<std::string, Choice>>& choices) {
  std::vector<std::string> names;
  for (const auto& [choice, meaning] : choices) names.push_back(choice);
  const auto store = [name, names, choices, &value](const std::string& text) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& choice) {
      return EqualIgnoringCase(choice, text);
    });
    if (found == names.end()) {
      throw Invalid(name, "'{}' is not {}{}", text, names.size() > 1 ? "one of " : "",
                    fmt::join(names, ", "));
    }
    value = choices[static_cast<size_t>(found - names.begin())].second;
  };
  return command.add_option_function<std::string>(name, store, description)
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

// Parses a decimal number without sign or fraction; null if it is none, or too large.
template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : ParseNumber<T>(text);
}

// A decimal number from `least` to `most`, stored in any type that takes a T.
template <typename T, typename Value>
CLI::Option* AddWhole(CLI::App& command, const std::string& name, const std::string& description,
                      Value& value, T least, T most = std::numeric_limits<T>::max()) {
  const std::string shown = name.substr(name.find("--"));
  const auto store = [shown, least, most, &value](const std::string& text) {
    const std::optional<T> number = ParseWhole<T>(text);
    if (number && *number >= least && *number <= most) {
      value = *number;
      return;
    }
    const std::string bound = most == std::numeric_limits<T>::max()
                                  ? fmt::format("of at least {}", least)
                                  : fmt::format("from {} to {}", least, most);
    throw Invalid(shown, "'{}' is not a whole number {}", text, bound);
  };
  return command.add_option_function<std::string>(name, store, description)->type_name("N");
}

// [NAME=]FILE, may be repeated.
inline constexpr std::string_view kBoundFile = "[NAME=]FILE";
CLI::Option* AddFiles(CLI::App& command, const std::string& name, const std::string& description,
                      std::vector<std::string>& files);

void AddConfine(CLI::App& command, std::string& folder);
void AddDescriptor(CLI::App& command, std::string& descriptor);
void AddFormat(CLI::App& command, TextFormat& format);
void AddInputPath(CLI::App& command, std::string& folder);

// -f and -b, the sizes that an ONNX model leaves open.
void AddModelSizes(CLI::App& command, ModelSizes& sizes);
void AddIsa(CLI::App& command, std::string& isa);
void AddLine(CLI::App& command, std::optional<int64_t>& line);
FeatureLevel ParseLevel(const std::string& text);
template <typename Level>
void AddLevel(CLI::App& command, Level& level) {
  AddParsed(command, "-L,--feature-level", "LEVEL",
            "Apply the rules of this feature level (default: 6_4)", level, ParseLevel);
}

// Adds what is shown of differences; `picture` are the names of the option for a picture.
void AddDrawing(CLI::App& command, DrawingOptions& drawing, const std::string& picture);
CLI::Option* AddSync(CLI::App& command, bool& sync);
// The form of raw files. With two sides, "actual=" or "expected=" before a value chooses one; a
// value without applies to each side that has none of its own.
void AddRawForm(CLI::App& command, RawForm& form);
void AddRawForms(CLI::App& command, RawForms& forms);

// Accepts arrays with the same number of elements.
CLI::Option* AddReshape(CLI::App& command, FileShapes& shapes);
void AddThreads(CLI::App& command, std::optional<int>& threads);

// Ids of what is computed in place of the operator's result; see core/judge/varied_run.h.
void AddAs(CLI::App& command, std::vector<std::string>& ids);

// Rules of equality, without the WebNN tolerance, which needs an operator.
void AddRules(CLI::App& command, ComparisonRules& rules);

// Rules of equality with the WebNN tolerance.
void AddOperatorRules(CLI::App& command, ComparisonRules& rules);

// Returns whether one of the rules of equality was given, other than those of types and shapes.
bool HasTolerance(const CLI::App& command);

// Splits text into a number and its unit. Null if the number is missing, negative or infinite.
std::optional<std::pair<double, std::string>> ParseQuantity(const std::string& text);

// A time such as "0.5", "500ms" or "1min".
inline constexpr double kSecondsPerHour = 3600;
double ParseSeconds(const std::string& option, const std::string& text,
                    double most = kSecondsPerHour);

DataType ParseDataType(const std::string& option, const std::string& name);

// Throws if there are rules although nothing is compared.
void RequireComparison(const CLI::App& command, std::initializer_list<std::string> compare);

// The greatest number of threads that an option accepts.
inline constexpr int kMostThreads = 1 << 16;

// --- options as they are typed -------------------------------------------------------------------

// The options that differ from the default, each after a space, quoted for a shell.
std::string RuleWords(const ComparisonRules& rules);
std::string LeniencyWords(const ComparisonRules& rules);  // those of types and shapes
std::string RawFormWords(const RawForms& forms);
std::string ConfineWords(const std::string& folder);

// --- faults --------------------------------------------------------------------------------------

// The library would split "[0, 1]" as a list, but not with a trailing space.
std::string WithGuard(std::string argument);
std::string WithoutGuard(std::string argument);

// The fault that the library found in the options of `command`.
std::string FaultOf(const CLI::ParseError& error, const CLI::App& command);

}  // namespace dmlop

// The options of each command.
namespace dmlop {

using Command = std::function<ExitStatus()>;

// Declares the options of one command, which parsing fills in. The result runs the command with
// them; it keeps a reference to `common`.
using DeclareOptions = Command(CLI::App& command, const CommonOptions& common);
DeclareOptions DeclareRun, DeclareValidate, DeclareBench, DeclareCompare, DeclareShow,
    DeclareExplain, DeclareDiagnose, DeclareFuzz, DeclareShrink, DeclareBatch, DeclareReport,
    DeclareOps, DeclareSchema, DeclareCompletion;

struct CommandEntry {
  const char* name;
  const char* summary;
  DeclareOptions* declare;
};

// The commands in the order of --help.
std::span<const CommandEntry> Commands();

}  // namespace dmlop
