#include "core/kernels/isa.h"

#include <algorithm>
#include <atomic>

namespace dmlop {
namespace {

// What the kernels of that name may use, as Highway defines its targets.
bool IsSupported(std::string_view name) {
  if (name == "portable") return true;
#if defined(__x86_64__)
  const bool sse4 = __builtin_cpu_supports("sse4.2");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
  return (name == "sse4" && sse4) || (name == "avx2" && avx2) || (name == "avx512" && avx512);
#elif defined(__aarch64__)
  return name == "neon";
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
  const auto found = std::find(std::begin(kIsaNames), std::end(kIsaNames), name);
  if (found == std::end(kIsaNames) || !IsSupported(name)) return false;
  Current() = static_cast<size_t>(found - std::begin(kIsaNames));
  return true;
}

}  // namespace dmlop
