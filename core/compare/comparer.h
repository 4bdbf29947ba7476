// SPDX-License-Identifier: Apache-2.0
// Compares elements: by blocks where no difference has to be recorded, otherwise one by one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/base/memory.h"
#include "core/compare/comparison.h"
#include "core/kernels/copy/copy.h"
#include "core/kernels/reduce/block_errors.h"
#include "core/tensor/element.h"

namespace dmlop {

// The operands of the loops; the third one is the row-major number of an element.
struct CompareLoops {
  enum Operand : size_t { kActual, kExpected, kIndex, kOperands };
  using Offsets = std::array<int64_t, kOperands>;
};

// The errors of one element.
struct Errors {
  bool is_mismatch = false;
  double absolute = 0.0;
  double relative = 0.0;
  uint64_t ulp = 0;
  std::optional<double> units = std::nullopt;

  ErrorSize size() const { return {units.value_or(0), ulp}; }
};

inline constexpr Errors kMismatch = {true, std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity(),
                                     Difference::kMismatchUlp};

template <typename T>
class Comparer {
 public:
  using enum CompareLoops::Operand;
  using Offsets = CompareLoops::Offsets;

  Comparer(const Tolerance& tolerance, const ComparisonDetails& details)
      : tolerance_(tolerance), units_(details.units) {
    result_.most_listed = details.most_listed;
    if (details.wrong != nullptr) wrong_.emplace(*details.wrong);
  }

  const Comparison& result() const { return result_; }

  // `stride` and `index` are counted in elements.
  void CompareRun(const T* actual, const T* expected, int64_t index, const Offsets& stride,
                  int64_t count) {
    if (stride[kActual] != 1 || stride[kExpected] != 1) {
      return CompareElements(actual, expected, index, stride, count);
    }
    const bool are_aligned = IsAligned(actual) && IsAligned(expected);
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t size = std::min(kBlock, count - i);
      const int64_t first = index + i * stride[kIndex];
      if (are_aligned) {
        CompareBlock(actual + i, expected + i, first, stride, size);
      } else {
        const Block a(actual + i, size);
        const Block e(expected + i, size);
        CompareBlock(a.elements.data(), e.elements.data(), first, stride, size);
      }
    }
  }

  // Does the same one by one for floats of another type: errors are those of the values, and ULP
  // are counted from the number of T nearest to the expected value.
  template <typename E>
  void CompareRun(const T* actual, const E* expected, int64_t index, const Offsets& stride,
                  int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T a = At(actual + i * stride[kActual]);
      const E e = At(expected + i * stride[kExpected]);
      const T nearest = FromDouble<T>(AsDouble(e));
      CountSubnormals(a, e);
      if (ElementBits(a) == ElementBits(nearest) && AsDouble(nearest) == AsDouble(e)) {
        ++result_.passing.ulp_histogram[0];
      } else {
        CompareUnequal(a, nearest, e, index + i * stride[kIndex]);
      }
    }
  }

  // Compares a tile of at most kTileRows x kTileColumns elements that `actual` has in another
  // order: it is copied into that of `expected`, whose rows are contiguous.
  void CompareTile(const T* actual, const T* expected, int64_t index, const Offsets& row_stride,
                   const Offsets& column_stride, int64_t rows, int64_t columns) {
    constexpr int64_t kLine = kLineBytes / sizeof(T);
    constexpr int64_t kPitch = kTileColumns + kLine;  // keeps columns off one cache set
    alignas(64) std::array<T, kTileRows * kPitch> tile;
    const CopyTile copy{.outer_count = rows,
                        .inner_count = columns,
                        .to_outer_stride = kPitch,
                        .to_inner_stride = 1,
                        .from_outer_stride = row_stride[kActual],
                        .from_inner_stride = column_stride[kActual]};
    copy_tile_(copy, reinterpret_cast<std::byte*>(tile.data()),
               reinterpret_cast<const std::byte*>(actual));
    Offsets stride = column_stride;
    stride[kActual] = 1;
    for (int64_t i = 0; i < rows; ++i) {
      CompareRun(tile.data() + i * kPitch, expected + i * row_stride[kExpected],
                 index + i * row_stride[kIndex], stride, columns);
    }
  }

  static constexpr int64_t kBlock = 512 / sizeof(T);  // elements
  static_assert(kBlock <= kMaxErrorBlock);

  static constexpr int64_t kTileRows = 256;
  static constexpr int64_t kTileColumns = kBlock;

 private:
  using Ulp = WideUnsigned<T>;
  using Ulps = std::array<Ulp, kBlock>;

  // An aligned copy.
  struct Block {
    Block(const void* from, int64_t count) {
      std::memcpy(elements.data(), from, static_cast<size_t>(count) * sizeof(T));
    }
    alignas(64) std::array<T, kBlock> elements;
  };

  // Loads an element that need not be aligned, such as those of archives.
  template <typename E>
  static E At(const E* from) {
    return ElementOf<E>(reinterpret_cast<const std::byte*>(from));
  }

  static bool IsAligned(const T* elements) {
    return reinterpret_cast<uintptr_t>(elements) % sizeof(T) == 0;
  }

  void CompareBlock(const T* actual, const T* expected, int64_t index, const Offsets& stride,
                    int64_t count) {
    if (std::memcmp(actual, expected, static_cast<size_t>(count) * sizeof(T)) == 0) {
      result_.passing.ulp_histogram[0] += count;
      CountSubnormals(expected, expected, count);
      return;
    }
    if (CountBlock(actual, expected, index, stride[kIndex], count)) return;
    CompareElements(actual, expected, index, stride, count);
  }

  struct BlockDifferences {
    int64_t count;
    const Ulp* not_close;  // ULP errors that absolute and relative limits do not excuse, or 0
    Ulp most_not_close;
  };

  // Counts the elements of a block if no difference has to be recorded: all elements that fail are
  // finite, and none of them is notable. Otherwise does nothing and returns false.
  bool CountBlock(const T* actual, const T* expected, int64_t index, int64_t step, int64_t count) {
    if (units_ != nullptr) return false;
    Ulps ulps;
    const auto [most, has_special] = kernels_.measure(actual, expected, count, ulps.data());
    if (has_special) return false;
    Ulps not_close;
    const BlockDifferences differences =
        DifferencesOf(ulps, most, actual, expected, count, not_close);
    if (differences.count > 0 && IsNotable({0, uint64_t{most}}, index, /*is_finite=*/true, result_))
      return false;
    CountSubnormals(actual, expected, count);
    if (differences.count > 0 && wrong_) {
      AddWrong(differences, actual, expected, index, step, count);
    }
    if (differences.count == 0) {
      Count(ulps.data(), most, actual, expected, count, 0, result_.passing);
    } else if (tolerance_.bits || tolerates_nothing_) {
      const int64_t equal_count = count - differences.count;
      Count(ulps.data(), most, actual, expected, count, equal_count, result_.failing);
      result_.passing.ulp_histogram[0] += equal_count;
    } else {
      CountApart(ulps, differences, actual, expected, count);
    }
    result_.difference_count += differences.count;
    if (result_.smallest_passing_ulp) {
      result_.smallest_passing_ulp =
          std::max(*result_.smallest_passing_ulp, uint64_t{differences.most_not_close});
    }
    return true;
  }

  void AddWrong(const BlockDifferences& differences, const T* actual, const T* expected,
                int64_t index, int64_t step, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const bool is_wrong = tolerance_.bits ? ElementBits(actual[i]) != ElementBits(expected[i])
                                            : differences.not_close[i] > tolerance_.ulp;
      if (is_wrong) wrong_->Add(index + i * step);
    }
  }

  // Adds the errors of a block; `other_count` elements belong elsewhere and have the error 0.
  void Count(const Ulp* ulps, Ulp most, const T* actual, const T* expected, int64_t count,
             int64_t other_count, ErrorTally& tally) {
    CountUlps(ulps, count, most, tally.ulp_histogram);
    tally.ulp_histogram[0] -= other_count;
    tally.max_ulp_error = std::max(tally.max_ulp_error, uint64_t{most});
    LargestErrors largest{tally.max_absolute_error, tally.max_relative_error};
    kernels_.take_largest(ulps, actual, expected, count, largest);
    tally.max_absolute_error = largest.absolute;
    tally.max_relative_error = largest.relative;
  }

  // Counts a block in which some elements pass and others do not.
  void CountApart(const Ulps& ulps, const BlockDifferences& differences, const T* actual,
                  const T* expected, int64_t count) {
    const auto count_part = [&](bool above, int64_t other_count, ErrorTally& tally) {
      ErrorBlock<T> part;
      const Ulp most =
          kernels_.take_part(ulps.data(), differences.not_close, static_cast<Ulp>(tolerance_.ulp),
                             above, actual, expected, count, part);
      Count(part.ulps, most, part.actual, expected, count, other_count, tally);
    };
    count_part(/*above=*/false, differences.count, result_.passing);
    count_part(/*above=*/true, count - differences.count, result_.failing);
  }

  // Computes UlpBin without branches, which are unpredictable if errors of 0 and 1 mix.
  static size_t BinOf(Ulp ulp) {
    if constexpr (sizeof(Ulp) == 8) {
      return UlpBin(ulp);
    } else {
      const uint64_t twice = 2 * uint64_t{ulp} - (ulp != 0);
      return static_cast<size_t>(63 - std::countl_zero(2 * twice | 1));
    }
  }

  void CountUlps(const Ulp* ulps, int64_t count, Ulp most, UlpHistogram& histogram) {
    constexpr size_t kFewBins = 16;
    const size_t bins = UlpBin(most) + 1;
    if (bins > kFewBins) return CountUlpsOneByOne(ulps, count, bins, histogram);
    int64_t above = count;  // upper bound of the bin before
    for (size_t bin = 0; bin < bins; ++bin) {
      const int64_t rest = CountAbove(MostUlp(bin), ulps, count);
      histogram[bin] += above - rest;
      above = rest;
    }
  }

  int64_t CountAbove(uint64_t limit, const Ulp* ulps, int64_t count) const {
    if (limit > std::numeric_limits<Ulp>::max()) return 0;
    return kernels_.count_above(static_cast<Ulp>(limit), ulps, count);
  }

  static void CountUlpsOneByOne(const Ulp* ulps, int64_t count, size_t bins,
                                UlpHistogram& histogram) {
    // Several tables, because the next error often falls into the same bin, and would wait.
    constexpr int64_t kTables = 4;
    std::array<UlpHistogram, kTables> tables{};
    for (int64_t i = 0; i < count; ++i) ++tables[static_cast<size_t>(i % kTables)][BinOf(ulps[i])];
    for (const UlpHistogram& table : tables) {
      for (size_t bin = 0; bin < bins; ++bin) histogram[bin] += table[bin];
    }
  }

  // `not_close` receives the errors that are not close. Also records the tolerance's use.
  BlockDifferences DifferencesOf(const Ulps& ulps, Ulp most, const T* actual, const T* expected,
                                 int64_t count, Ulps& not_close) {
    BlockDifferences differences{0, ulps.data(), most};
    if (tolerance_.absolute == 0 && tolerance_.relative == 0) {
      TakeUsed(static_cast<double>(most), 0.0, 0.0);
    } else {
      differences.most_not_close = kernels_.excuse_close(
          ulps.data(), actual, expected, count, limits_, not_close.data(), result_.most_used);
      differences.not_close = not_close.data();
    }
    differences.count = CountAbove(tolerance_.ulp, differences.not_close, count);
    if (tolerance_.bits) differences.count = kernels_.count_unequal_bits(actual, expected, count);
    return differences;
  }

  void CompareElements(const T* actual, const T* expected, int64_t index, const Offsets& stride,
                       int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T a = At(actual + i * stride[kActual]);
      const T e = At(expected + i * stride[kExpected]);
      CountSubnormals(a, e);
      if (ElementBits(a) == ElementBits(e)) {
        ++result_.passing.ulp_histogram[0];
      } else {
        CompareUnequal(a, e, e, index + i * stride[kIndex]);
      }
    }
  }

  void CountSubnormals(const T* actual, const T* expected, int64_t count) {
    if constexpr (std::is_integral_v<T>) return;
    const int64_t expected_count = kernels_.count_subnormals(expected, count);
    result_.expected_subnormals += expected_count;
    result_.actual_subnormals +=
        actual == expected ? expected_count : kernels_.count_subnormals(actual, count);
  }

  template <typename E>
  void CountSubnormals(T actual, E expected) {
    result_.actual_subnormals += IsSubnormal(actual);
    result_.expected_subnormals += IsSubnormal(expected);
  }

  // `nearest`, which is e rounded to T, is the best that an element of T can be.
  template <typename E>
  void CompareUnequal(T a, T nearest, E e, int64_t index) {
    const double actual = AsDouble(a);
    const double expected = AsDouble(e);
    const double reachable = AsDouble(nearest);
    const bool is_finite = std::isfinite(actual) && std::isfinite(reachable);
    const bool are_equal = actual == reachable || (std::isnan(actual) && std::isnan(reachable));
    Errors errors;
    bool passes = true;
    if (is_finite) {
      errors = ErrorsOf(UlpDistance(a, nearest), actual, expected);
      if (units_ != nullptr) errors.units = units_->UnitsOf(index);
      passes = Tolerates(errors, std::abs(expected), index);
    } else if (!are_equal) {
      errors = kMismatch;
      passes = units_ != nullptr && units_->Allows(index);
      if (units_ != nullptr) errors.units = std::numeric_limits<double>::infinity();
      if (!passes) CountMismatch(std::isnan(actual) || std::isnan(reachable));
    }
    passes = tolerance_.bits ? ElementBits(a) == ElementBits(nearest) : passes;
    if (!errors.is_mismatch) Count(errors, passes ? result_.passing : result_.failing);
    if (passes) return;
    ++result_.difference_count;
    if (wrong_) wrong_->Add(index);
    if (!IsNotable(errors.size(), index, is_finite, result_)) return;
    Keep({index, actual, expected, ElementBits(a), ElementBits(e), errors.is_mismatch,
          errors.absolute, errors.relative, errors.ulp, errors.units},
         result_);
  }

  static Errors ErrorsOf(uint64_t ulp, double actual, double expected) {
    const double absolute =
        std::is_integral_v<T> ? static_cast<double>(ulp) : std::abs(actual - expected);
    if (absolute == 0) return {};
    return {false, absolute, absolute / std::abs(expected), ulp};
  }

  static void Count(const Errors& errors, ErrorTally& tally) {
    ++tally.ulp_histogram[UlpBin(errors.ulp)];
    tally.max_absolute_error = std::max(tally.max_absolute_error, errors.absolute);
    tally.max_relative_error = std::max(tally.max_relative_error, errors.relative);
    tally.max_ulp_error = std::max(tally.max_ulp_error, errors.ulp);
  }

  // `of_units` is the part that is used of the allowed units.
  void TakeUsed(double ulp, double absolute, double magnitude,
                double of_units = std::numeric_limits<double>::infinity()) {
    const double used = std::min(PartUsed(ulp, absolute, magnitude, limits_), of_units);
    result_.most_used = std::max(result_.most_used, used);
  }

  double PartOfUnits(int64_t index) const {
    const double allowed = units_ == nullptr ? 0 : units_->AllowedOf(index);
    return allowed > 0 ? units_->UnitsOf(index) / allowed : std::numeric_limits<double>::infinity();
  }

  // Also records how much of the tolerance is used.
  bool Tolerates(const Errors& errors, double magnitude, int64_t index) {
    TakeUsed(static_cast<double>(errors.ulp), errors.absolute, magnitude, PartOfUnits(index));
    if (units_ != nullptr && units_->Allows(index)) return true;
    if (IsClose<T>(static_cast<Ulp>(errors.ulp), errors.absolute, magnitude, limits_)) return true;
    if (result_.smallest_passing_ulp) {
      result_.smallest_passing_ulp = std::max(*result_.smallest_passing_ulp, errors.ulp);
    }
    return errors.ulp <= tolerance_.ulp;
  }

  void CountMismatch(bool has_nan) {
    ++(has_nan ? result_.nan_mismatches : result_.infinity_mismatches);
    result_.smallest_passing_ulp.reset();
  }

  const Tolerance tolerance_;
  const UnitErrors* const units_;
  const ErrorLimits limits_{tolerance_.absolute, tolerance_.relative, tolerance_.ulp};
  const bool tolerates_nothing_ =
      tolerance_.absolute == 0 && tolerance_.relative == 0 && tolerance_.ulp == 0;
  const CopyTileFunction copy_tile_ = CopyTileFor(sizeof(T));
  const ErrorKernels<T> kernels_ = ErrorKernelsFor<T>();
  Comparison result_;
  std::optional<WrongElements::Writer> wrong_;
};

}  // namespace dmlop
