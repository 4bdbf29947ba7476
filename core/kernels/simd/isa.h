// The instruction sets that kernels are compiled for. Results never depend on the choice.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dmlop {

// Best first. "portable" is what every machine of the architecture runs.
inline constexpr std::string_view kIsaNames[] = {"avx512", "avx2", "sse4", "neon", "portable"};
inline constexpr size_t kIsaCount = std::size(kIsaNames);

// Those that this machine can run and the kernels are compiled for, best first.
std::vector<std::string_view> SupportedIsas();

// The one that kernels use, and its index in kIsaNames.
std::string_view CurrentIsa();
size_t CurrentIsaIndex();

// Makes kernels use `name`; false when this machine cannot run it.
bool SelectIsa(std::string_view name);

// Whether the processor reads memory quickest as several streams with prefetches. Others are as
// quick in one.
bool ReadsSeveralStreams();

}  // namespace dmlop
