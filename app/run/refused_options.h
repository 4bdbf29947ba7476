// SPDX-License-Identifier: Apache-2.0
// Options that suit only one kind of document, and that another would ignore.
#pragma once

#include <string_view>

namespace dmlop {

// Throws an Error of kind kUsage for options that bind an operator's tensors. The text begins as
// "-i is"; `way` is what a model has instead.
[[noreturn]] void RefuseForModel(std::string_view options_are, std::string_view way = "");

// Throws an Error of kind kUsage for folders of a model. The text begins as "--input-path is";
// `instead` names the options to use.
[[noreturn]] void RefuseForOperator(std::string_view folders_are, std::string_view instead);

}  // namespace dmlop
