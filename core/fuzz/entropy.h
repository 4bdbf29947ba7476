// SPDX-License-Identifier: Apache-2.0
// A source of random choices: a random number generator, or the bytes of a fuzzer. A seed means the
// same choices on every machine. An expression draws at most once: machines differ in the order in
// which they evaluate operands and arguments.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <random>
#include <utility>

namespace dmlop {

// Draws the numbers of std::mt19937_64, which the standard defines to the bit, unlike its
// distributions. Most engines draw a few dozens: words of the state are made when they are needed,
// where that of the library makes all of them twice before the first number.
class RandomEngine {
 public:
  using result_type = uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT64_MAX; }

  explicit RandomEngine(uint64_t seed) : seeded_(1) { state_[0] = seed; }

  result_type operator()() {
    SeedUpTo(next_ + kDistance);
    const size_t after = next_ + 1 == kWords ? 0 : next_ + 1;
    const size_t distant = next_ + kDistance - (next_ < kWords - kDistance ? 0 : kWords);
    uint64_t& word = state_[next_];
    const uint64_t joined = (word & kUpperBits) | (state_[after] & ~kUpperBits);
    word = state_[distant] ^ (joined >> 1) ^ ((joined & 1) != 0 ? kMatrix : 0);
    next_ = after;
    return Tempered(word);
  }

 private:
  static constexpr size_t kWords = std::mt19937_64::state_size;
  static constexpr size_t kDistance = std::mt19937_64::shift_size;
  static constexpr uint64_t kUpperBits = ~uint64_t{0} << std::mt19937_64::mask_bits;
  static constexpr uint64_t kMatrix = std::mt19937_64::xor_mask;

  void SeedUpTo(size_t word) {
    for (; seeded_ <= word && seeded_ < kWords; ++seeded_) {
      const uint64_t before = state_[seeded_ - 1];
      constexpr uint64_t kFactor = std::mt19937_64::initialization_multiplier;
      state_[seeded_] = kFactor * (before ^ (before >> 62)) + seeded_;
    }
  }

  static uint64_t Tempered(uint64_t word) {
    using Library = std::mt19937_64;
    word ^= (word >> Library::tempering_u) & Library::tempering_d;
    word ^= (word << Library::tempering_s) & Library::tempering_b;
    word ^= (word << Library::tempering_t) & Library::tempering_c;
    return word ^ (word >> Library::tempering_l);
  }

  std::array<uint64_t, kWords> state_;
  size_t seeded_;    // words that have their first values
  size_t next_ = 0;  // the word of the next number
};

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
