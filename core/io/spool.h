// Bytes that come one part after another: in memory or, where they may be many, on the disk.
#pragma once

#include <optional>

#include "core/io/output_file.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// What is smaller is kept in memory, what is larger in a file.
inline constexpr size_t kLargeFile = size_t{16} << 20;

class Spool {
 public:
  // For at most `limit` bytes. Of the disk only what is appended is taken.
  explicit Spool(size_t limit);

  void Append(std::span<const std::byte> part);

  // All that was appended, 64-byte aligned; nothing may follow.
  std::span<const std::byte> bytes();

 private:
  Buffer buffer_;
  std::optional<ScratchFile> file_;
  size_t size_ = 0;
};

}  // namespace dmlop
