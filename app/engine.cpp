#include "app/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {

void RequireIsa(const std::string& name) {
  if (SelectIsa(name)) return;
  throw Error(ErrorKind::kUsage, fmt::format("this machine has no instruction set '{}'; it has {}",
                                             name, fmt::join(SupportedIsas(), ", ")));
}

}  // namespace dmlop
