// SPDX-License-Identifier: Apache-2.0
// The instruction sets that kernels are compiled for. Results never depend on the choice.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dmlop {

// Best first. "portable" runs on every machine of the architecture.
inline constexpr std::string_view kIsaNames[] = {"avx512", "avx2", "sse4", "neon", "portable"};
inline constexpr size_t kIsaCount = std::size(kIsaNames);

// Returns the sets that this machine can run and the kernels are compiled for, best first.
std::vector<std::string_view> SupportedIsas();

// Return the set that kernels use, and its index in kIsaNames.
std::string_view CurrentIsa();
size_t CurrentIsaIndex();

// Makes kernels use `name`; returns false if this machine cannot run it.
bool SelectIsa(std::string_view name);

// Returns whether the processor reads memory fastest as several streams with prefetches. Others are
// as fast with one.
bool ReadsSeveralStreams();

}  // namespace dmlop
