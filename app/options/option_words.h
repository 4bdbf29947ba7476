// Options as they are typed, for commands that messages tell.
#pragma once

#include <string>

#include "app/options/options.h"

namespace dmlop {

// What is not the default, each with a space before it, ready for a shell.
std::string RuleWords(const ComparisonRules& rules);
std::string RawFormWords(const RawForms& forms);
std::string ConfineWords(const std::string& folder);

}  // namespace dmlop
