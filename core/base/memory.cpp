// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace dmlop {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

uint64_t OfMachine() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  uint64_t kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return kUnlimited;
}

uint64_t OfAddressSpace() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  const uint64_t taken = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<uint64_t>(taken, limit.rlim_cur);
}

// The text "max" is not a number, and means no limit.
uint64_t LimitIn(const std::filesystem::path& folder) {
  std::ifstream file(folder / "memory.max");
  uint64_t limit = 0;
  return file >> limit ? limit : kUnlimited;
}

// Returns the least of the group's own limit and those of its ancestors.
uint64_t OfControlGroups() {
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  uint64_t least = LimitIn(root);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::filesystem::path group = line.substr(4); !group.empty();
         group = group.parent_path()) {
      least = std::min(least, LimitIn(root / group));
    }
  }
  return least;
}

}  // namespace

uint64_t AvailableMemory() {
  return std::min({OfMachine(), OfAddressSpace(), OfControlGroups()});
}

void PreferHugePages(std::span<std::byte> bytes) {
  constexpr size_t kWorthwhile = size_t{1} << 22;
  if (bytes.size() < kWorthwhile) return;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t head = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  // If the system does not support huge pages, the advice has no effect.
  madvise(bytes.data() + head, bytes.size() - head, MADV_HUGEPAGE);
}

}  // namespace dmlop
