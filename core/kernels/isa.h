// The instruction sets that kernels are compiled for. Results never depend on the choice.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dmlop {

// Best first. "portable" is what every machine of the architecture runs.
inline constexpr std::string_view kIsaNames[] = {"avx512", "avx2", "sse4", "neon", "portable"};
inline constexpr size_t kIsaCount = std::size(kIsaNames);

// Those that this machine can run, best first.
std::vector<std::string_view> SupportedIsas();

// The one that kernels use, and its index in kIsaNames.
std::string_view CurrentIsa();
size_t CurrentIsaIndex();

// Makes kernels use `name`; false when this machine cannot run it.
bool SelectIsa(std::string_view name);

// Whether the processor reads memory quickest at several places by turns, if each has `bytes` to
// read: it looks ahead at every one. Others are as quick at one place, if they are told what comes
// next.
bool ReadsByTurns(int64_t bytes);

// Whether one that reads by turns is quicker still if all that comes next is asked for.
bool ReadsQuickestWhenAsked();

}  // namespace dmlop
