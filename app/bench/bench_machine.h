// The machine that a measurement was made on.
#pragma once

#include <string>

namespace dmlop {

struct Machine {
  std::string cpu_model;
  int cpus = 1;             // that the process may use
  std::string isa;          // that the kernels use
  std::string governor;     // of the processor's frequency; empty: there is none to be seen
  double load_average = 0;  // of the last minute
};

Machine DescribeMachine();

// "AMD EPYC, 2 CPUs, avx2; no frequency governor; load average 0.31"
std::string MachineText(const Machine& machine);

}  // namespace dmlop
