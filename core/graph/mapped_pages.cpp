// SPDX-License-Identifier: Apache-2.0
#include "core/graph/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/integers.h"

namespace dmlop {

void ReleasePages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = RoundUp(reinterpret_cast<uintptr_t>(bytes.data()), page);
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace dmlop
