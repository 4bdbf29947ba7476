// SPDX-License-Identifier: Apache-2.0
#include "app/options/option_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "app/shell_word.h"
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
  const auto& [tolerances, units, webnn, leniency, shapes] = rules;
  add("", positive(tolerances.all.absolute), positive(tolerances.all.relative),
      positive(tolerances.all.ulp));
  for (const TypedTolerance& one : tolerances.typed) {
    add(fmt::format("{}=", Name(one.type)), one.absolute, one.relative, one.ulp);
  }
  if (tolerances.all.bits) text += " --bits";
  if (units.units > 0) text += fmt::format(" --units {}", units.units);
  if (webnn) text += " --tolerance webnn";
  if (!units.word().empty()) text += " --tolerance " + units.word();
  if (leniency.unit_sizes) text += " --squeeze";
  if (leniency.integer_types) text += " --any-integers";
  if (leniency.float_types) text += " --any-floats";
  if (shapes == FileShapes::kByCount) text += " --reshape";
  return text;
}

namespace {

// The option values that describe a form; empty for those that are not set.
std::array<std::string, 4> PartsOf(const RawForm& form) {
  return {form.type ? std::string(Name(*form.type)) : "",
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

}  // namespace dmlop
