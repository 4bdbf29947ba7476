// SPDX-License-Identifier: Apache-2.0
// Uninitialized numbers for kernels, aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "core/base/memory.h"

namespace dmlop {

template <typename T>
class AlignedNumbers {
 public:
  explicit AlignedNumbers(int64_t count)
      : numbers_(
            static_cast<T*>(operator new(static_cast<size_t>(count) * sizeof(T), kAlignment))) {
    PreferHugePages(std::as_writable_bytes(std::span(data(), static_cast<size_t>(count))));
  }

  T* data() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* numbers) const { operator delete(numbers, kAlignment); }
  };

  std::unique_ptr<T, Free> numbers_;
};

}  // namespace dmlop
