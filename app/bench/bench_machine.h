// SPDX-License-Identifier: Apache-2.0
// The machine on which bench measures.
#pragma once

#include <string>

namespace dmlop {

struct Machine {
  std::string cpu_model;
  int cpus = 1;             // that the process may use
  std::string isa;          // instruction set of the kernels
  std::string governor;     // of the CPU frequency; empty if not visible
  double load_average = 0;  // over the last minute
};

Machine DescribeMachine();

// Such as "AMD EPYC, 2 CPUs, avx2; no frequency governor; load average 0.31".
std::string MachineText(const Machine& machine);

}  // namespace dmlop
