// How the engine computes, which results must not depend on.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/isa.h"
#include "core/tensor/data_type.h"

namespace dmlop {

// Puts the instruction set and the number of threads back at the end of its life.
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

// The instruction sets on which results are compared. Those that widen FLOAT16 in software do not
// know its infinities and NaN yet.
inline std::vector<std::string_view> IsasFor(DataType type) {
  std::vector<std::string_view> isas = SupportedIsas();
  if (type != DataType::kFloat16) return isas;
  const auto widens_in_software = [](std::string_view isa) {
    return isa == "sse4" || isa == "portable";
  };
  isas.erase(std::remove_if(isas.begin(), isas.end(), widens_in_software), isas.end());
  return isas;
}

}  // namespace dmlop
