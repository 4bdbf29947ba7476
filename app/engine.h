// How the operators run: options that several commands share.
#pragma once

#include <string>

namespace dmlop {

// Makes kernels use that instruction set. Throws an Error of kind kUsage for one that this machine
// does not have.
void RequireIsa(const std::string& name);

}  // namespace dmlop
