// SPDX-License-Identifier: Apache-2.0
// Uninitialized FLOAT64 numbers for kernels, aligned to 64 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace dmlop {

class AlignedNumbers {
 public:
  explicit AlignedNumbers(int64_t count)
      : numbers_(static_cast<double*>(operator new(static_cast<size_t>(count) * sizeof(double),
                                                   kAlignment))) {}

  double* data() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(double* numbers) const { operator delete(numbers, kAlignment); }
  };

  std::unique_ptr<double, Free> numbers_;
};

}  // namespace dmlop
