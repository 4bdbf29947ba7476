// SPDX-License-Identifier: Apache-2.0
// The memory that the process may still take, and its pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

// Returns the bytes that the process may still take: the least of what the machine can give without
// swapping, what the limit of the address space leaves (RLIMIT_AS), and the limits of the process's
// control groups (version 2).
uint64_t AvailableMemory();

// Asks for huge pages if untouched bytes are long enough for some: filling them causes fewer
// faults, and hardware prefetchers run on past the ends of small pages.
void PreferHugePages(std::span<std::byte> bytes);

}  // namespace dmlop
