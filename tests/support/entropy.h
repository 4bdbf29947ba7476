// SPDX-License-Identifier: Apache-2.0
// A source of random choices: a random number generator, or the bytes of a fuzzer.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "tests/support/random.h"

namespace dmlop {

class Entropy {
 public:
  using Function = std::function<uint64_t(uint64_t low, uint64_t high)>;

  // Draws numbers from an engine, which must outlive this object.
  Entropy(Engine& engine)  // NOLINT(google-explicit-constructor): an engine is such a source
      : between_([&engine](uint64_t low, uint64_t high) {
          return std::uniform_int_distribution<uint64_t>(low, high)(engine);
        }) {}
  explicit Entropy(Function between) : between_(std::move(between)) {}

  // Both bounds are included. An exhausted source returns `low`.
  uint64_t Between(uint64_t low, uint64_t high) const { return between_(low, high); }

  int64_t Int(int64_t low, int64_t high) const {
    return low + static_cast<int64_t>(Between(0, static_cast<uint64_t>(high - low)));
  }
  size_t Index(size_t count) const { return static_cast<size_t>(Between(0, count - 1)); }

  // True once in `period` times; never from an exhausted source.
  bool OneIn(uint64_t period) const { return Between(1, period) == period; }

  template <typename Range>
  auto& OneOf(const Range& range) const {
    return range[Index(std::size(range))];
  }

  // A separate engine, for a use that needs many numbers.
  Engine Fork() const { return Engine(Between(0, UINT64_MAX)); }

 private:
  Function between_;
};

}  // namespace dmlop
