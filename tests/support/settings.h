// SPDX-License-Identifier: Apache-2.0
// Settings of the engine, on which results must not depend.
#pragma once

#include <string_view>

#include "core/base/parallel.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {

// Results are compared with these numbers of threads and every instruction set.
inline constexpr int kThreadCounts[] = {1, 2, 3, 4, 5, 6, 7, 8};

// Restores the instruction set and the number of threads when it is destroyed.
class SettingsGuard {
 public:
  SettingsGuard() = default;
  SettingsGuard(const SettingsGuard&) = delete;
  SettingsGuard& operator=(const SettingsGuard&) = delete;
  ~SettingsGuard() {
    SelectIsa(isa_);
    SetThreadCount(threads_);
  }

 private:
  std::string_view isa_ = CurrentIsa();
  int threads_ = ThreadCount();
};

}  // namespace dmlop
