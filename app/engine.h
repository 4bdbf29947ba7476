// How the operators run: options that several commands share.
#pragma once

#include <optional>
#include <string>

namespace dmlop {

// Sets the threads and the instruction set, where they are given. Throws an Error of kind kUsage
// for an instruction set that this machine does not have.
void SetEngine(std::optional<int> threads, const std::string& isa);

}  // namespace dmlop
