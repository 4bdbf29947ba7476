// What a comparison of two tensors tolerates, and what it tells.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace dmlop {

// An element passes if any of these lets it: equality of values (NaN equals NaN, -0 equals +0),
// |actual - expected| <= absolute + relative * |expected|, or at most `ulp` units in the last
// place.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
  uint64_t ulp = 0;
  bool bits = false;  // equal bits, and nothing less
};

struct Difference {
  // The ULP error of a mismatch. The distance of two floating-point numbers never is as large.
  static constexpr uint64_t kMismatchUlp = std::numeric_limits<uint64_t>::max();

  int64_t index = 0;  // row-major number of the element
  double actual = 0.0;
  double expected = 0.0;  // 64-bit integers are rounded here; the bits have all of them
  uint64_t actual_bits = 0;
  uint64_t expected_bits = 0;
  bool is_mismatch = false;
  double absolute_error = 0.0;  // infinite in a mismatch; 0 between two NaN of different bits
  double relative_error = 0.0;  // by |expected|; infinite where only that is 0
  uint64_t ulp_error = 0;       // representable values from one to the other; integers: difference
};

// Counts of ULP errors by powers of two: bin 0 holds equal values (two NaN and two equal infinities
// among them), bin 1 an error of 1, bin 2 of 2, bin 3 of 3 and 4, bin k of (2^(k-2), 2^(k-1)].
// Mismatches are in no bin.
using UlpHistogram = std::array<int64_t, 66>;
size_t UlpBin(uint64_t ulp_error);

// The least and the largest error of a bin.
uint64_t LeastUlp(size_t bin);
uint64_t MostUlp(size_t bin);

struct Comparison {
  int64_t element_count = 0;
  int64_t difference_count = 0;  // elements that do not pass
  int64_t nan_mismatches = 0;
  int64_t infinity_mismatches = 0;  // without NaN on the other side
  std::optional<Difference> first;  // by index
  std::optional<Difference> worst;  // by ULP error, mismatches above all; of equals, the first
  double max_absolute_error = 0.0;
  double max_relative_error = 0.0;
  uint64_t max_ulp_error = 0;
  // The least Tolerance::ulp with which all elements pass, `absolute` and `relative` as they are
  // and `bits` off; empty where there is a mismatch.
  std::optional<uint64_t> smallest_passing_ulp = 0;
  UlpHistogram ulp_histogram{};

  bool passes() const { return difference_count == 0; }
};

// True where a difference at `index` would come first.
bool IsFirst(int64_t index, const Comparison& comparison);

// True where a difference at `index` would be the worst.
bool IsWorst(uint64_t ulp_error, int64_t index, const Comparison& comparison);

// Keeps a difference where it is the first or the worst so far. Differences come in any order.
void Keep(const Difference& difference, Comparison& comparison);

// Joins the results of two sets of elements. The outcome does not depend on the order of merges.
void Merge(const Comparison& part, Comparison& total);

}  // namespace dmlop
