// Which files the cases of a batch read and write, so that no case depends on when another runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "app/manifest.h"

namespace dmlop {

// A file is known by a hash of what it is, so that many cases take little memory.
struct FileClaim {
  std::array<uint64_t, 2> file;
  int64_t line;  // 0: the batch itself
  bool writes;

  auto operator<=>(const FileClaim&) const = default;
};

// Throws an Error of kind kUsage where a file that one case writes is written or read by another,
// or where the file `report` (empty: none) or the manifest is written by a case too. Cases that
// are only checked write nothing. Leaves the manifest at its beginning. Lines that cannot be read
// claim nothing.
void RequireSeparateFiles(Manifest& manifest, const std::string& report, bool only_check);

}  // namespace dmlop
