// SPDX-License-Identifier: Apache-2.0
// Options as they are typed, for commands that messages suggest.
#pragma once

#include <string>

#include "app/options/options.h"

namespace dmlop {

// The options that differ from the default, each after a space, quoted for a shell.
std::string RuleWords(const ComparisonRules& rules);
std::string RawFormWords(const RawForms& forms);
std::string ConfineWords(const std::string& folder);

}  // namespace dmlop
