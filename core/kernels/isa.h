// The instruction sets that kernels are compiled for. Results never depend on the choice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dmlop {

// Those that this machine can run, best first, from "avx512", "avx2", "sse4", "neon", "portable".
std::vector<std::string_view> SupportedIsas();

// The one that kernels use.
std::string_view CurrentIsa();

// Makes kernels use `name`; false when this machine cannot run it.
bool SelectIsa(std::string_view name);

}  // namespace dmlop
