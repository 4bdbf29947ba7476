// SPDX-License-Identifier: Apache-2.0
// The result of comparing two tensors, and what is tolerated.
#pragma once

#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/compare/error_measure.h"
#include "core/compare/wrong_elements.h"
#include "core/tensor/data_type.h"
#include "core/tensor/tensor.h"
#include "core/tensor/unit_tolerance.h"

namespace dmlop {

// The larger it is, the worse is a difference; units count where they are known.
struct ErrorSize {
  double units = 0;
  uint64_t ulp = 0;

  auto operator<=>(const ErrorSize&) const = default;
};

struct Difference {
  // The ULP error of a mismatch. No distance of two floating-point numbers is this large.
  static constexpr uint64_t kMismatchUlp = std::numeric_limits<uint64_t>::max();

  int64_t index = 0;  // row-major number of the element
  double actual = 0.0;
  double expected = 0.0;  // 64-bit integers are rounded here, unlike in the bits
  uint64_t actual_bits = 0;
  uint64_t expected_bits = 0;
  bool is_mismatch = false;
  double absolute_error = 0.0;  // infinite in a mismatch; 0 between two NaN of different bits
  double relative_error = 0.0;  // relative to |expected|; infinite if only that is 0
  uint64_t ulp_error = 0;  // steps between values of actual's type; for integers, the difference
  std::optional<double> units = std::nullopt;  // if they are known; infinite in a mismatch

  ErrorSize size() const { return {units.value_or(0), ulp_error}; }
  bool is_finite() const {
    return !is_mismatch && std::isfinite(actual) && std::isfinite(expected);
  }
};

// Counts of ULP errors by powers of two: bin 0 holds equal values (including two NaN and two equal
// infinities), bin 1 an error of 1, bin 2 of 2, bin 3 of 3 and 4, bin k of (2^(k-2), 2^(k-1)].
// Mismatches are in no bin.
using UlpHistogram = std::array<int64_t, 66>;
size_t UlpBin(uint64_t ulp_error);

// Return the least and the largest error of a bin.
uint64_t LeastUlp(size_t bin);
uint64_t MostUlp(size_t bin);

// The errors of elements that are finite on both sides, or equal.
struct ErrorTally {
  double max_absolute_error = 0.0;
  double max_relative_error = 0.0;
  uint64_t max_ulp_error = 0;
  UlpHistogram ulp_histogram{};
};

struct Comparison {
  DataType expected_type = DataType::kUnknown;  // type of the expected bits
  int64_t element_count = 0;
  int64_t difference_count = 0;  // number of elements that do not pass
  int64_t nan_mismatches = 0;
  int64_t infinity_mismatches = 0;  // number of infinities that face a number or another infinity
  std::optional<Difference> first;  // by index
  std::optional<Difference> worst;  // by size, mismatches being the worst; the first of equals
  std::optional<Difference> worst_finite;  // the same, among those that are finite on both sides
  size_t most_listed = 0;                  // largest size of `listed`
  std::vector<Difference> listed;          // the worst of all, in order once they are sorted
  ErrorTally passing;                      // errors of the elements that pass
  ErrorTally failing;                      // errors of those that do not
  int64_t actual_subnormals = 0;
  int64_t expected_subnormals = 0;
  // The largest part that an element uses of its tolerance: 1 at the limit, more beyond it,
  // infinite if nothing is tolerated. Of several limits, the one that is used least counts, since
  // each of them lets the element pass.
  double most_used = 0.0;
  // The least Tolerance::ulp with which all elements pass, given `absolute` and `relative` and with
  // `bits` off; empty if there is a mismatch.
  std::optional<uint64_t> smallest_passing_ulp = 0;
  std::optional<UnitStatistics> units;  // of all elements, if they are known

  // If asked for: where the elements lie that do not pass, and in which ways they are wrong.
  Where where;
  std::vector<ValueClass> classes;

  bool passes() const { return difference_count == 0; }

  // Returns the errors that decide: those of the failing elements or, if all pass, of all.
  const ErrorTally& decisive() const { return passes() ? passing : failing; }
};

// Returns true if Keep would keep a difference: few are the first or among the worst so far, so
// most need not be recorded.
bool IsNotable(const ErrorSize& size, int64_t index, bool is_finite, const Comparison& comparison);

// Keeps a difference if it is the first or among the worst so far. Differences come in any order.
void Keep(const Difference& difference, Comparison& comparison);

// Sorts the listed differences. Nothing may be kept after that.
void SortListed(Comparison& comparison);

// Merges the results of two sets of elements. The outcome does not depend on the order of merges.
void Merge(const Comparison& part, Comparison& total);

// Replaces the general limits for elements of one data type.
struct TypedTolerance {
  DataType type = DataType::kUnknown;
  std::optional<double> absolute;
  std::optional<double> relative;
  std::optional<uint64_t> ulp;

  Tolerance In(Tolerance tolerance) const;
};

struct Tolerances {
  Tolerance all;
  std::vector<TypedTolerance> typed;  // the last one for a type counts

  Tolerance For(DataType type) const;
};

// Returns the share of the tolerance that no element has used: 1 if all are equal, negative if they
// do not pass. All would still pass with every limit reduced by that share. Empty if nothing is
// tolerated, or if there is a mismatch, which no tolerance lets pass.
std::optional<double> HeadroomOf(const Comparison& comparison, const Tolerance& tolerance);

// --- comparing -----------------------------------------------------------------------------------

// Compares two tensors: how many elements differ, where, and by how much.
//
// Errors are measured on elements that are finite on both sides. An element is a mismatch if
// exactly one side is NaN, or if an infinity faces anything but itself; no tolerance lets it pass.

// The optional results of a comparison.
struct ComparisonDetails {
  size_t most_listed = 0;          // number of worst differences to list
  WrongElements* wrong = nullptr;  // receives the elements that do not pass
  bool is_located = false;         // fills Comparison::where and classes
  // The elements' errors in units, which then decide which is worse. Those with allowed units pass.
  const UnitErrors* units = nullptr;
};

// Takes views of equal types and sizes, in any layout. The type is at least a byte wide. If both
// are packed, elements need not be aligned. The types may differ if both are floats: errors are
// then those of the values, and ULP are those of the actual type, counted from its number nearest
// to the expected value; an actual element that is this number passes.
Comparison Compare(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, const ComparisonDetails& details = {});

}  // namespace dmlop
