// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/simd/isa.h"

#include <hwy/detect_targets.h>

#include <algorithm>
#include <atomic>

#if defined(__x86_64__)
#define _Bool bool  // the header is meant for C; Clang has _Bool only there
#include <sys/platform/x86.h>
#undef _Bool
#endif

#include "core/base/text.h"

namespace dmlop {
namespace {

// Builds for sanitizers leave some targets out.
constexpr bool IsCompiled(int64_t target) {
  return (HWY_TARGETS & target) != 0;
}

// The conditions are those by which Highway defines its targets.
bool IsSupported(std::string_view name) {
  if (name == "portable") return true;
#if defined(__x86_64__)
  // Uses what the C library found at start-up: on a virtual machine, asking the processor again
  // takes as long as a small operator.
  const bool sse4 = CPU_FEATURE_ACTIVE(SSE4_2);
  const bool avx2 = sse4 && CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA) &&
                    CPU_FEATURE_ACTIVE(F16C) && CPU_FEATURE_ACTIVE(BMI1) &&
                    CPU_FEATURE_ACTIVE(BMI2);
  const bool avx512 = avx2 && CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512VL) &&
                      CPU_FEATURE_ACTIVE(AVX512DQ) && CPU_FEATURE_ACTIVE(AVX512BW) &&
                      CPU_FEATURE_ACTIVE(AVX512CD);
  return (name == "sse4" && sse4 && IsCompiled(HWY_SSE4)) ||
         (name == "avx2" && avx2 && IsCompiled(HWY_AVX2)) ||
         (name == "avx512" && avx512 && IsCompiled(HWY_AVX3));
#elif defined(__aarch64__)
  return name == "neon" && IsCompiled(HWY_NEON);
#else
  return false;
#endif
}

size_t BestIsa() {
  return static_cast<size_t>(std::find_if(std::begin(kIsaNames), std::end(kIsaNames), IsSupported) -
                             std::begin(kIsaNames));
}

std::atomic<size_t>& Current() {
  static std::atomic<size_t> current = BestIsa();
  return current;
}

}  // namespace

bool ReadsSeveralStreams() {
#if defined(__x86_64__)
  // Intel's do, which lack SSE4a: two cores of an Emerald Rapids read 31 GB/s in four streams with
  // prefetches of each line and 24 GB/s in one; of an Ice Lake, 27 and 21 GB/s.
  static const bool is_intel = !CPU_FEATURE_ACTIVE(SSE4A);
  return is_intel;
#else
  return false;
#endif
}

std::vector<std::string_view> SupportedIsas() {
  std::vector<std::string_view> names;
  std::copy_if(std::begin(kIsaNames), std::end(kIsaNames), std::back_inserter(names), IsSupported);
  return names;
}

std::string_view CurrentIsa() {
  return kIsaNames[CurrentIsaIndex()];
}

size_t CurrentIsaIndex() {
  return Current().load(std::memory_order_relaxed);
}

bool SelectIsa(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kIsaNames), std::end(kIsaNames),
                   [&](std::string_view known) { return EqualIgnoringCase(known, name); });
  if (found == std::end(kIsaNames) || !IsSupported(*found)) return false;
  Current() = static_cast<size_t>(found - std::begin(kIsaNames));
  return true;
}

}  // namespace dmlop
