// Memory of the process: how much it may still take, and in what pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

// Bytes: the least of what the machine has to give without swapping, what the limit of the address
// space leaves (RLIMIT_AS), and the limits of the process's control groups (version 2).
uint64_t AvailableMemory();

// Asks for large pages where bytes that were not touched yet are long enough for some: fewer faults
// to fill them, and reads that run on where small pages end.
void PreferHugePages(std::span<std::byte> bytes);

}  // namespace dmlop
