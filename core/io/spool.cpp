// SPDX-License-Identifier: Apache-2.0
#include "core/io/spool.h"

#include <algorithm>

namespace dmlop {

Spool::Spool(size_t limit) {
  if (limit < kLargeFile) {
    buffer_ = Buffer(limit);
  } else {
    file_.emplace(limit);
  }
}

void Spool::Append(std::span<const std::byte> part) {
  if (file_) {
    file_->Write(size_, part);
  } else {
    std::copy(part.begin(), part.end(), buffer_.data() + size_);
  }
  size_ += part.size();
}

std::span<const std::byte> Spool::bytes() {
  if (file_ && size_ > 0) return file_->Map(size_);
  return buffer_.bytes().first(size_);
}

}  // namespace dmlop
