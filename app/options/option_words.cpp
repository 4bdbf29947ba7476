#include "app/options/option_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  const auto& [tolerances, webnn, leniency] = rules;
  add("", positive(tolerances.all.absolute), positive(tolerances.all.relative),
      positive(tolerances.all.ulp));
  for (const TypedTolerance& one : tolerances.typed) {
    add(fmt::format("{}=", Name(one.type)), one.absolute, one.relative, one.ulp);
  }
  if (tolerances.all.bits) text += " --bits";
  if (webnn) text += " --tolerance webnn";
  if (leniency.unit_sizes) text += " --squeeze";
  if (leniency.integer_types) text += " --any-integers";
  if (leniency.float_types) text += " --any-floats";
  return text;
}

std::string RawFormWords(const RawForm& form) {
  std::string text;
  if (form.type) text += fmt::format(" --type {}", Name(*form.type));
  if (!form.sizes.empty()) text += fmt::format(" --sizes {}", fmt::join(form.sizes, ","));
  if (!form.strides.empty()) text += fmt::format(" --strides {}", fmt::join(form.strides, ","));
  if (form.offset) text += fmt::format(" --offset {}", *form.offset);
  return text;
}

std::string ConfineWords(const std::string& folder) {
  return folder.empty() ? "" : " --confine " + PathWord(folder);
}

}  // namespace dmlop
