// Elements compared one after another: by the block where a block has nothing worth a note of its
// own, else one by one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/machine.h"
#include "core/compare/compare.h"
#include "core/compare/comparison.h"
#include "core/compare/difference_map.h"
#include "core/kernels/copy/copy.h"
#include "core/kernels/reduce/block_errors.h"
#include "core/tensor/element.h"

namespace dmlop {

// What a comparison walks along; the third is the row-major number of an element.
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
      : tolerance_(tolerance), writers_(details.maps.begin(), details.maps.end()) {
    result_.most_listed = details.most_listed;
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
      if (std::memcmp(actual + i, expected + i, static_cast<size_t>(size) * sizeof(T)) == 0) {
        result_.ulp_histogram[0] += size;
      } else if (are_aligned) {
        CompareBlock(actual + i, expected + i, first, stride, size);
      } else {
        const Block a(actual + i, size);
        const Block e(expected + i, size);
        CompareBlock(a.elements.data(), e.elements.data(), first, stride, size);
      }
    }
  }

  // A tile of at most kTileRows x kTileColumns elements, of which those of `actual` lie in another
  // order: they are brought into that of `expected`, of which a row has no gaps.
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

  // An aligned copy.
  struct Block {
    Block(const void* from, int64_t count) {
      std::memcpy(elements.data(), from, static_cast<size_t>(count) * sizeof(T));
    }
    alignas(64) std::array<T, kBlock> elements;
  };

  // Of elements that may lie anywhere, as those of archives do.
  static T At(const T* from) { return ElementOf<T>(reinterpret_cast<const std::byte*>(from)); }

  static bool IsAligned(const T* elements) {
    return reinterpret_cast<uintptr_t>(elements) % sizeof(T) == 0;
  }

  void CompareBlock(const T* actual, const T* expected, int64_t index, const Offsets& stride,
                    int64_t count) {
    if (CountBlock(actual, expected, index, count)) return;
    CompareElements(actual, expected, index, stride, count);
  }

  struct BlockDifferences {
    int64_t count;
    Ulp most_not_close;  // the greatest ULP error that neither absolute nor relative errors excuse
  };

  // Counts the elements of a block in which no difference has to be written down: what differs and
  // does not pass is finite and none of it is notable. Else does nothing and returns false.
  bool CountBlock(const T* actual, const T* expected, int64_t index, int64_t count) {
    if (!writers_.empty()) return false;
    std::array<Ulp, kBlock> ulps;
    const auto [most, has_special] = kernels_.measure(actual, expected, count, ulps.data());
    if (has_special) return false;
    const BlockDifferences differences = DifferencesOf(ulps.data(), most, actual, expected, count);
    if (differences.count > 0 && IsNotable(most, index, /*is_finite=*/true, result_)) return false;
    CountUlps(ulps.data(), count, most);
    result_.max_ulp_error = std::max(result_.max_ulp_error, uint64_t{most});
    LargestErrors largest{result_.max_absolute_error, result_.max_relative_error};
    kernels_.take_largest(ulps.data(), actual, expected, count, largest);
    result_.max_absolute_error = largest.absolute;
    result_.max_relative_error = largest.relative;
    result_.difference_count += differences.count;
    if (result_.smallest_passing_ulp) {
      result_.smallest_passing_ulp =
          std::max(*result_.smallest_passing_ulp, uint64_t{differences.most_not_close});
    }
    return true;
  }

  // UlpBin without a jump, which is a matter of luck where errors of 0 and 1 mix.
  static size_t BinOf(Ulp ulp) {
    if constexpr (sizeof(Ulp) == 8) {
      return UlpBin(ulp);
    } else {
      const uint64_t twice = 2 * uint64_t{ulp} - (ulp != 0);
      return static_cast<size_t>(63 - std::countl_zero(2 * twice | 1));
    }
  }

  void CountUlps(const Ulp* ulps, int64_t count, Ulp most) {
    constexpr size_t kFewBins = 16;
    const size_t bins = UlpBin(most) + 1;
    if (bins > kFewBins) return CountUlpsOneByOne(ulps, count, bins);
    int64_t above = count;  // what the bin before has at most
    for (size_t bin = 0; bin < bins; ++bin) {
      const int64_t rest = CountAbove(MostUlp(bin), ulps, count);
      result_.ulp_histogram[bin] += above - rest;
      above = rest;
    }
  }

  int64_t CountAbove(uint64_t limit, const Ulp* ulps, int64_t count) const {
    if (limit > std::numeric_limits<Ulp>::max()) return 0;
    return kernels_.count_above(static_cast<Ulp>(limit), ulps, count);
  }

  void CountUlpsOneByOne(const Ulp* ulps, int64_t count, size_t bins) {
    // Several tables, because the next error often has the bin of the last.
    constexpr int64_t kTables = 4;
    std::array<UlpHistogram, kTables> tables{};
    for (int64_t i = 0; i < count; ++i) ++tables[static_cast<size_t>(i % kTables)][BinOf(ulps[i])];
    for (const UlpHistogram& table : tables) {
      for (size_t bin = 0; bin < bins; ++bin) result_.ulp_histogram[bin] += table[bin];
    }
  }

  BlockDifferences DifferencesOf(const Ulp* ulps, Ulp most, const T* actual, const T* expected,
                                 int64_t count) const {
    BlockDifferences differences{};
    if (tolerance_.absolute == 0 && tolerance_.relative == 0) {
      differences = {CountAbove(tolerance_.ulp, ulps, count), most};
    } else {
      std::array<Ulp, kBlock> not_close;
      differences.most_not_close =
          kernels_.excuse_close(ulps, actual, expected, count, limits_, not_close.data());
      differences.count = CountAbove(tolerance_.ulp, not_close.data(), count);
    }
    if (tolerance_.bits) differences.count = kernels_.count_unequal_bits(actual, expected, count);
    return differences;
  }

  void CompareElements(const T* actual, const T* expected, int64_t index, const Offsets& stride,
                       int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T a = At(actual + i * stride[kActual]);
      const T e = At(expected + i * stride[kExpected]);
      if (ElementBits(a) == ElementBits(e)) {
        ++result_.ulp_histogram[0];
      } else {
        CompareUnequalBits(a, e, index + i * stride[kIndex]);
      }
    }
  }

  void CompareUnequalBits(T a, T e, int64_t index) {
    const double actual = AsDouble(a);
    const double expected = AsDouble(e);
    Errors errors;
    bool passes = false;
    if (std::isfinite(actual) && std::isfinite(expected)) {
      errors = ErrorsOf(UlpDistance(a, e), actual, expected);
      passes = CountFinite(errors, std::abs(expected));
    } else if (std::isnan(actual) && std::isnan(expected)) {
      ++result_.ulp_histogram[0];
      passes = true;
    } else {
      errors = kMismatch;
      CountMismatch(std::isnan(actual) || std::isnan(expected));
    }
    if (passes && !tolerance_.bits) return;
    ++result_.difference_count;
    for (DifferenceMap::Writer& writer : writers_) writer.Add(index, Badness(errors));
    const bool is_finite = std::isfinite(actual) && std::isfinite(expected);
    if (!IsNotable(errors.ulp, index, is_finite, result_)) return;
    Keep({index, actual, expected, ElementBits(a), ElementBits(e), errors.is_mismatch,
          errors.absolute, errors.relative, errors.ulp},
         result_);
  }

  static uint8_t Badness(const Errors& errors) {
    return errors.is_mismatch ? DifferenceMap::kMismatch
                              : static_cast<uint8_t>(1 + UlpBin(errors.ulp));
  }

  static Errors ErrorsOf(uint64_t ulp, double actual, double expected) {
    if (ulp == 0) return {};
    const double absolute =
        std::is_integral_v<T> ? static_cast<double>(ulp) : std::abs(actual - expected);
    return {false, absolute, absolute / std::abs(expected), ulp};
  }

  // True when the errors are tolerated.
  bool CountFinite(const Errors& errors, double magnitude) {
    ++result_.ulp_histogram[UlpBin(errors.ulp)];
    result_.max_absolute_error = std::max(result_.max_absolute_error, errors.absolute);
    result_.max_relative_error = std::max(result_.max_relative_error, errors.relative);
    result_.max_ulp_error = std::max(result_.max_ulp_error, errors.ulp);
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
  const ErrorLimits limits_{tolerance_.absolute, tolerance_.relative};
  const CopyTileFunction copy_tile_ = CopyTileFor(sizeof(T));
  const ErrorKernels<T> kernels_ = ErrorKernelsFor<T>();
  Comparison result_;
  std::vector<DifferenceMap::Writer> writers_;
};

}  // namespace dmlop
