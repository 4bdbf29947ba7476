// SPDX-License-Identifier: Apache-2.0
// Bytes that arrive in parts: in memory or, if there may be many, on the disk.
#pragma once

#include <optional>

#include "core/io/output_file.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Less than this is kept in memory, more in a file.
inline constexpr size_t kLargeFile = size_t{16} << 20;

class Spool {
 public:
  // Takes at most `limit` bytes. Only what is appended takes space on the disk.
  explicit Spool(size_t limit);

  void Append(std::span<const std::byte> part);

  // Returns all that was appended, 64-byte aligned; nothing may be appended afterwards.
  std::span<const std::byte> bytes();

 private:
  Buffer buffer_;
  std::optional<ScratchFile> file_;
  size_t size_ = 0;
};

}  // namespace dmlop
