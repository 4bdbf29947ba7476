// SPDX-License-Identifier: Apache-2.0
#include "app/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {

void SetEngine(std::optional<int> threads, const std::string& isa) {
  if (threads) SetThreadCount(*threads);
  if (isa.empty() || SelectIsa(isa)) return;
  throw Error(ErrorKind::kUsage, "this machine has no instruction set '{}'; it has {}", isa,
              fmt::join(SupportedIsas(), ", "));
}

}  // namespace dmlop
