// How much memory the process may still take.
#pragma once

#include <cstdint>

namespace dmlop {

// Bytes: the least of what the machine has to give without swapping, what the limit of the address
// space leaves (RLIMIT_AS), and the limits of the process's control groups (version 2).
uint64_t AvailableMemory();

}  // namespace dmlop
