// Options that one kind of document takes, and another would ignore.
#pragma once

#include <string_view>

namespace dmlop {

// Throws an Error of kind kUsage for options that bind the tensors of an operator: "-i is"; `way`
// is what a model has in their place.
[[noreturn]] void RefuseForModel(std::string_view options_are, std::string_view way = "");

// The same for folders of a model: "--input-path is"; `instead` has the options to name them in.
[[noreturn]] void RefuseForOperator(std::string_view folders_are, std::string_view instead);

}  // namespace dmlop
