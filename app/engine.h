// SPDX-License-Identifier: Apache-2.0
// Options of the engine that several commands share.
#pragma once

#include <optional>
#include <string>

namespace dmlop {

// Sets the number of threads and the instruction set, if given. Throws an Error of kind kUsage if
// this machine does not have the instruction set.
void SetEngine(std::optional<int> threads, const std::string& isa);

}  // namespace dmlop
