// Exact sums of many FLOAT32 values at the speed of a table look-up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/exact/exact_sum.h"

namespace dmlop {

// Values with the same sign and exponent are integers of 24 bits on a common scale, so their sum
// needs no rounding: one integer for each of the 512 combinations. Only at the end are these put
// together.
class BucketSum {
 public:
  // How many values one BucketSum may take before MoveTo: their squares fill 64 bits.
  static constexpr int64_t kCapacity = 1 << 16;

  // Adds values, their magnitudes or their squares.
  void Add(const float* values, int64_t count);
  void AddMagnitudes(const float* values, int64_t count);
  void AddSquares(const float* values, int64_t count);

  // True if a value was not finite. The sum is then without meaning.
  bool has_special() const;

  // True if no value but zeros was added.
  bool has_only_zeros() const;

  // Adds what Add or AddMagnitudes collected, or what AddSquares collected, to `sum`.
  void MoveTo(ExactSum& sum);
  void MoveSquaresTo(ExactSum& sum);

 private:
  static constexpr size_t kBuckets = 512;
  // Neighbours go to different tables: adding to one place again and again would wait for the
  // store.
  static constexpr size_t kTables = 4;

  template <typename Term>
  void AddTerms(const float* values, int64_t count, Term&& term);
  uint64_t Total(size_t bucket) const;
  template <typename Take>
  void TakeAll(Take&& take);

  std::array<std::array<uint64_t, kBuckets>, kTables> tables_{};
};

}  // namespace dmlop
