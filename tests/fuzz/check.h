// SPDX-License-Identifier: Apache-2.0
// Checks what a fuzz target promises besides not crashing.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace dmlop {

inline void Require(bool holds, const std::string& message) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace dmlop
