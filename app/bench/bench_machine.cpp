// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_row.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

#include "core/base/counted.h"
#include "core/base/parallel.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

// The model name that Linux reports, or else the architecture.
std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

std::string Governor() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

Machine DescribeMachine() {
  Machine machine;
  machine.cpu_model = CpuModel();
  machine.cpus = AvailableCores();
  machine.isa = CurrentIsa();
  machine.governor = Governor();
  getloadavg(&machine.load_average, 1);
  return machine;
}

std::string MachineText(const Machine& machine) {
  const std::string governor = machine.governor.empty()
                                   ? "no frequency governor"
                                   : fmt::format("frequency governor {}", machine.governor);
  return fmt::format("{}, {}, {}; {}; load average {:.2f}", machine.cpu_model,
                     Counted(machine.cpus, "CPU"), machine.isa, governor, machine.load_average);
}

}  // namespace dmlop
