#include "core/kernels/isa.h"

#include <hwy/highway.h>

#include <array>

namespace dmlop {
namespace {

struct Isa {
  std::string_view name;
  int64_t target;
};

constexpr std::array kIsas = {Isa{"avx512", HWY_AVX3}, Isa{"avx2", HWY_AVX2}, Isa{"sse4", HWY_SSE4},
                              Isa{"neon", HWY_NEON}, Isa{"portable", HWY_EMU128 | HWY_SCALAR}};

int64_t Runnable(const Isa& isa) {
  return isa.target & HWY_TARGETS & hwy::SupportedTargets();
}

const Isa*& Selected() {
  static const Isa* selected = nullptr;
  return selected;
}

}  // namespace

std::vector<std::string_view> SupportedIsas() {
  std::vector<std::string_view> names;
  for (const Isa& isa : kIsas) {
    if (Runnable(isa) != 0) names.push_back(isa.name);
  }
  return names;
}

std::string_view CurrentIsa() {
  return Selected() != nullptr ? Selected()->name : SupportedIsas().front();
}

bool SelectIsa(std::string_view name) {
  for (const Isa& isa : kIsas) {
    if (isa.name != name || Runnable(isa) == 0) continue;
    hwy::GetChosenTarget().Update(Runnable(isa));
    Selected() = &isa;
    return true;
  }
  return false;
}

}  // namespace dmlop
