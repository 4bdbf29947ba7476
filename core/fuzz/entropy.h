// SPDX-License-Identifier: Apache-2.0
// A source of random choices: a random number generator, or the bytes of a fuzzer. A seed means the
// same choices on every machine. An expression draws at most once: machines differ in the order in
// which they evaluate operands and arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <random>
#include <utility>

namespace dmlop {

// The standard defines the engine to the bit, but not its distributions.
using RandomEngine = std::mt19937_64;

// Both bounds are included.
inline uint64_t DrawBetween(RandomEngine& engine, uint64_t low, uint64_t high) {
  __extension__ using Wide = unsigned __int128;
  const Wide count = Wide{high - low} + 1;
  return low + static_cast<uint64_t>((engine() * count) >> 64);
}

// In [low, high).
inline double DrawReal(RandomEngine& engine, double low, double high) {
  return low + (high - low) * (static_cast<double>(engine() >> 11) * 0x1p-53);
}

// In [-6, 6], mostly near 0; of deviation 1.
inline double DrawNormal(RandomEngine& engine) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += DrawReal(engine, 0, 1);
  return sum;
}

class Entropy {
 public:
  using Function = std::function<uint64_t(uint64_t low, uint64_t high)>;

  // Draws numbers from an engine, which must outlive this object.
  Entropy(RandomEngine& engine)  // NOLINT(google-explicit-constructor): an engine is such a source
      : between_(
            [&engine](uint64_t low, uint64_t high) { return DrawBetween(engine, low, high); }) {}
  explicit Entropy(Function between) : between_(std::move(between)) {}

  // Both bounds are included. An exhausted source returns `low`.
  uint64_t Between(uint64_t low, uint64_t high) const { return between_(low, high); }

  int64_t Int(int64_t low, int64_t high) const {
    return low + static_cast<int64_t>(Between(0, static_cast<uint64_t>(high - low)));
  }
  uint32_t Number(uint64_t low, uint64_t high) const {
    return static_cast<uint32_t>(Between(low, high));
  }
  size_t Index(size_t count) const { return static_cast<size_t>(Between(0, count - 1)); }

  // True once in `period` times; never from an exhausted source.
  bool OneIn(uint64_t period) const { return Between(1, period) == period; }

  template <typename Range>
  auto& OneOf(const Range& range) const {
    return range[Index(std::size(range))];
  }

  // A separate engine, for a use that needs many numbers.
  RandomEngine Fork() const { return RandomEngine(Between(0, UINT64_MAX)); }

 private:
  Function between_;
};

}  // namespace dmlop
