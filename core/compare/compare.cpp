#include "core/compare/compare.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/compare/element.h"
#include "core/compare/row_walk.h"
#include "core/compare/tile_walk.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

enum Operand : size_t { kActual, kExpected, kIndex, kOperands };
using Offsets = std::array<int64_t, kOperands>;

constexpr int64_t kBlockBytes = 1 << 9;         // compared as bytes before it is looked into
constexpr int64_t kParallelElements = 1 << 16;  // fewer are not worth a second thread

bool IsFirst(int64_t index, const Comparison& comparison) {
  return !comparison.first || index < comparison.first->index;
}

bool IsWorst(uint64_t ulp_error, int64_t index, const Comparison& comparison) {
  if (!comparison.worst) return true;
  const Difference& worst = *comparison.worst;
  return ulp_error != worst.ulp_error ? ulp_error > worst.ulp_error : index < worst.index;
}

// Keeps a difference where it is the first or the worst so far. Differences come in any order.
void Keep(const Difference& difference, Comparison& comparison) {
  if (IsFirst(difference.index, comparison)) comparison.first = difference;
  if (IsWorst(difference.ulp_error, difference.index, comparison)) comparison.worst = difference;
}

// Joins the results of two sets of elements. The outcome does not depend on the order of merges.
void Merge(const Comparison& part, Comparison& total) {
  total.difference_count += part.difference_count;
  total.nan_mismatches += part.nan_mismatches;
  total.infinity_mismatches += part.infinity_mismatches;
  if (part.first) Keep(*part.first, total);
  if (part.worst) Keep(*part.worst, total);
  total.max_absolute_error = std::max(total.max_absolute_error, part.max_absolute_error);
  total.max_relative_error = std::max(total.max_relative_error, part.max_relative_error);
  total.max_ulp_error = std::max(total.max_ulp_error, part.max_ulp_error);
  if (total.smallest_passing_ulp && part.smallest_passing_ulp) {
    total.smallest_passing_ulp = std::max(*total.smallest_passing_ulp, *part.smallest_passing_ulp);
  } else {
    total.smallest_passing_ulp.reset();
  }
  for (size_t bin = 0; bin < part.ulp_histogram.size(); ++bin) {
    total.ulp_histogram[bin] += part.ulp_histogram[bin];
  }
}

struct Errors {
  bool is_mismatch = false;
  double absolute = 0.0;
  double relative = 0.0;
  uint64_t ulp = 0;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Errors kMismatch = {true, kInfinity, kInfinity, Difference::kMismatchUlp};

template <typename T>
class Comparer {
 public:
  Comparer(const Tolerance& tolerance, std::span<DifferenceMap> maps)
      : tolerance_(tolerance), writers_(maps.begin(), maps.end()) {}

  const Comparison& result() const { return result_; }

  // `stride` and `index` are counted in elements.
  void CompareRun(const T* actual, const T* expected, int64_t index, const Offsets& stride,
                  int64_t count) {
    if (stride[kActual] != 1 || stride[kExpected] != 1) {
      return CompareElements(actual, expected, index, stride, count);
    }
    constexpr int64_t kStep = kBlock;
    for (int64_t i = 0; i < count; i += kStep) {
      const int64_t size = std::min(kStep, count - i);
      if (std::memcmp(actual + i, expected + i, static_cast<size_t>(size) * sizeof(T)) == 0) {
        result_.ulp_histogram[0] += size;
      } else if (!CountBlock(actual + i, expected + i, index + i * stride[kIndex], size)) {
        CompareElements(actual + i, expected + i, index + i * stride[kIndex], stride, size);
      }
    }
  }

  // A tile of at most kTileRows x kTileColumns elements, of which those of `actual` lie in another
  // order: they are brought into that of `expected`, of which a row has no gaps.
  void CompareTile(const T* actual, const T* expected, int64_t index, const Offsets& row_stride,
                   const Offsets& column_stride, int64_t rows, int64_t columns) {
    constexpr int64_t kLine = 64 / sizeof(T);
    constexpr int64_t kPitch = kTileColumns + kLine;  // keeps columns off one cache set
    alignas(64) std::array<T, kTileRows * kPitch> tile;
    for (int64_t j = 0; j < columns; ++j) {
      const T* from = actual + j * column_stride[kActual];
      T* to = tile.data() + j;
      for (int64_t i = 0; i < rows; ++i) to[i * kPitch] = from[i * row_stride[kActual]];
    }
    Offsets stride = column_stride;
    stride[kActual] = 1;
    for (int64_t i = 0; i < rows; ++i) {
      CompareRun(tile.data() + i * kPitch, expected + i * row_stride[kExpected],
                 index + i * row_stride[kIndex], stride, columns);
    }
  }

  static constexpr int64_t kTileRows = 64;
  static constexpr int64_t kTileColumns = kBlockBytes / sizeof(T);

 private:
  using Ulp = WideUnsigned<T>;
  static constexpr size_t kBlock = kBlockBytes / sizeof(T);

  struct BlockDifferences {
    int64_t count;
    Ulp most_not_close;  // the greatest ULP error that neither absolute nor relative errors excuse
  };

  // Counts the elements of a block in which no difference has to be written down: what differs and
  // does not pass is finite and neither the first difference nor a worse one than before. Else does
  // nothing and returns false.
  bool CountBlock(const T* actual, const T* expected, int64_t index, int64_t count) {
    if (!writers_.empty()) return false;
    const size_t size = static_cast<size_t>(count);
    std::array<Ulp, kBlock> ulps;
    Ulp most = 0;
    Ulp special = 0;
    for (size_t i = 0; i < size; ++i) {
      const Ulp ulp = UlpDistance(actual[i], expected[i]);
      ulps[i] = ulp;
      most = std::max(most, ulp);
      special |= SpecialDifference(actual[i], expected[i]);
    }
    if (special != 0) return false;
    const BlockDifferences differences = DifferencesOf(ulps.data(), most, actual, expected, size);
    if (differences.count > 0 && !IsKept(most, index)) return false;
    CountUlps(ulps.data(), size, most);
    result_.max_ulp_error = std::max(result_.max_ulp_error, uint64_t{most});
    TakeMaxima(ulps.data(), actual, expected, size);
    result_.difference_count += differences.count;
    if (result_.smallest_passing_ulp) {
      result_.smallest_passing_ulp =
          std::max(*result_.smallest_passing_ulp, uint64_t{differences.most_not_close});
    }
    return true;
  }

  // True where the first and the worst difference stay what they are, whatever elements from
  // `index` on have errors of at most `ulp`.
  bool IsKept(uint64_t ulp, int64_t index) const {
    return !IsFirst(index, result_) && !IsWorst(ulp, index, result_);
  }

  // Not 0 where unequal bits are those of a NaN or an infinity.
  static Ulp SpecialDifference(T a, T e) {
    if constexpr (std::is_integral_v<T>) {
      return 0;
    } else {
      using Signed = WideSigned<T>;
      constexpr Signed kInfinityBits = sizeof(T) == 2   ? Signed{0x7C00}
                                       : sizeof(T) == 4 ? Signed{0x7F800000}
                                                        : static_cast<Signed>(0x7FF0000000000000);
      constexpr Ulp kMagnitude = (Ulp{1} << (8 * sizeof(T) - 1)) - 1;
      const Ulp actual = static_cast<Ulp>(ElementBits(a));
      const Ulp expected = static_cast<Ulp>(ElementBits(e));
      const auto reaches_infinity = [](Ulp bits) {
        return static_cast<Ulp>(static_cast<Signed>(bits & kMagnitude) >= kInfinityBits);
      };
      return (reaches_infinity(actual) | reaches_infinity(expected)) &
             static_cast<Ulp>(actual != expected);
    }
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

  static int64_t CountAbove(uint64_t limit, const Ulp* ulps, size_t size) {
    if (limit > std::numeric_limits<Ulp>::max()) return 0;
    const Ulp most = static_cast<Ulp>(limit);
    Ulp count = 0;  // of the elements' width, for vectors; a block is not too long for it
    for (size_t i = 0; i < size; ++i) count += ulps[i] > most;
    return static_cast<int64_t>(count);
  }

  void CountUlps(const Ulp* ulps, size_t size, Ulp most) {
    constexpr size_t kFewBins = 6;
    const size_t bins = BinOf(most) + 1;
    if (bins > kFewBins) return CountUlpsOneByOne(ulps, size, bins);
    int64_t above = static_cast<int64_t>(size);  // what the bin before has at most
    for (size_t bin = 0; bin < bins; ++bin) {
      const uint64_t greatest = bin == 0 ? 0 : uint64_t{1} << (bin - 1);
      const int64_t count = CountAbove(greatest, ulps, size);
      result_.ulp_histogram[bin] += above - count;
      above = count;
    }
  }

  void CountUlpsOneByOne(const Ulp* ulps, size_t size, size_t bins) {
    // Several tables, because the next error often has the bin of the last.
    constexpr size_t kTables = 4;
    std::array<UlpHistogram, kTables> tables{};
    size_t i = 0;
    for (; i + kTables <= size; i += kTables) {
      for (size_t k = 0; k < kTables; ++k) ++tables[k][BinOf(ulps[i + k])];
    }
    for (; i < size; ++i) ++tables[0][BinOf(ulps[i])];
    for (const UlpHistogram& table : tables) {
      for (size_t bin = 0; bin < bins; ++bin) result_.ulp_histogram[bin] += table[bin];
    }
  }

  // Four maxima side by side, for vectors. What equal infinities and NaN give is NaN, which is no
  // maximum.
  void TakeMaxima(const Ulp* ulps, const T* actual, const T* expected, size_t size) {
    constexpr size_t kLanes = 4;
    std::array<double, kLanes> most_absolute{};
    std::array<double, kLanes> most_relative{};
    const auto take = [&](size_t i, size_t lane) {
      const double e = AsDouble(expected[i]);
      const double absolute = AbsoluteError(ulps[i], AsDouble(actual[i]), e);
      const double relative = absolute / std::abs(e);
      most_absolute[lane] = std::max(most_absolute[lane], absolute);
      most_relative[lane] = std::max(most_relative[lane], relative);
    };
    size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) take(i + lane, lane);
    }
    for (; i < size; ++i) take(i, 0);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      result_.max_absolute_error = std::max(result_.max_absolute_error, most_absolute[lane]);
      result_.max_relative_error = std::max(result_.max_relative_error, most_relative[lane]);
    }
  }

  BlockDifferences DifferencesOf(const Ulp* ulps, Ulp most, const T* actual, const T* expected,
                                 size_t size) const {
    BlockDifferences differences{};
    if (tolerance_.absolute == 0 && tolerance_.relative == 0) {
      differences = {CountAbove(tolerance_.ulp, ulps, size), most};
    } else {
      for (size_t i = 0; i < size; ++i) {
        const double e = AsDouble(expected[i]);
        const bool close = IsClose(ErrorsOf(ulps[i], AsDouble(actual[i]), e), std::abs(e));
        const Ulp not_close = ulps[i] & (Ulp{close} - 1);
        differences.most_not_close = std::max(differences.most_not_close, not_close);
        differences.count += not_close > tolerance_.ulp;
      }
    }
    if (tolerance_.bits) differences.count = CountUnequal(actual, expected, size);
    return differences;
  }

  static int64_t CountUnequal(const T* actual, const T* expected, size_t size) {
    Ulp count = 0;  // as in CountAbove
    for (size_t i = 0; i < size; ++i) {
      count +=
          static_cast<Ulp>(ElementBits(actual[i])) != static_cast<Ulp>(ElementBits(expected[i]));
    }
    return static_cast<int64_t>(count);
  }

  void CompareElements(const T* actual, const T* expected, int64_t index, const Offsets& stride,
                       int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T a = actual[i * stride[kActual]];
      const T e = expected[i * stride[kExpected]];
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
    // Few differences are the first or the worst so far; the others need not be written down.
    if (IsFirst(index, result_) || IsWorst(errors.ulp, index, result_)) {
      Keep({index, actual, expected, ElementBits(a), ElementBits(e), errors.is_mismatch,
            errors.absolute, errors.relative, errors.ulp},
           result_);
    }
  }

  static uint8_t Badness(const Errors& errors) {
    return errors.is_mismatch ? DifferenceMap::kMismatch
                              : static_cast<uint8_t>(1 + UlpBin(errors.ulp));
  }

  static double AbsoluteError(uint64_t ulp, double actual, double expected) {
    return std::is_integral_v<T> ? static_cast<double>(ulp) : std::abs(actual - expected);
  }

  static Errors ErrorsOf(uint64_t ulp, double actual, double expected) {
    if (ulp == 0) return {};
    const double absolute = AbsoluteError(ulp, actual, expected);
    return {false, absolute, absolute / std::abs(expected), ulp};
  }

  // True when the errors are tolerated.
  bool CountFinite(const Errors& errors, double magnitude) {
    ++result_.ulp_histogram[UlpBin(errors.ulp)];
    result_.max_absolute_error = std::max(result_.max_absolute_error, errors.absolute);
    result_.max_relative_error = std::max(result_.max_relative_error, errors.relative);
    result_.max_ulp_error = std::max(result_.max_ulp_error, errors.ulp);
    if (IsClose(errors, magnitude)) return true;
    if (result_.smallest_passing_ulp) {
      result_.smallest_passing_ulp = std::max(*result_.smallest_passing_ulp, errors.ulp);
    }
    return errors.ulp <= tolerance_.ulp;
  }

  void CountMismatch(bool has_nan) {
    ++(has_nan ? result_.nan_mismatches : result_.infinity_mismatches);
    result_.smallest_passing_ulp.reset();
  }

  // Equal as values, or within the absolute and relative tolerance.
  bool IsClose(const Errors& errors, double magnitude) const {
    if (errors.ulp == 0) return true;
    const double limit = tolerance_.absolute + tolerance_.relative * magnitude;
    if constexpr (std::is_integral_v<T>) {
      // The error as a double may be rounded; as an integer it is exact.
      return limit >= 0x1p64 || (limit >= 1.0 && errors.ulp <= static_cast<uint64_t>(limit));
    } else {
      // An error too large for a double is close to nothing, whatever the limit overflows to.
      return std::isfinite(errors.absolute) && errors.absolute <= limit;
    }
  }

  const Tolerance tolerance_;
  Comparison result_;
  std::vector<DifferenceMap::Writer> writers_;
};

// Visits `expected` in the order of its memory; the third operand is the row-major number.
LoopNest<kOperands> PlanLoops(const Layout& actual, const Layout& expected) {
  const LoopNest<kOperands> nest{expected.sizes,
                                 {actual.strides, expected.strides, PackedStrides(expected.sizes)}};
  return WithARow(Merged(SortedByStride(Merged(nest), kExpected)));
}

// Visits the loop along which `actual` lies closest last but one, where that is not the last loop
// itself, but one of an `expected` without gaps. Empty where the tensors lie in one order.
std::optional<LoopNest<kOperands>> WithRowsOfActual(const LoopNest<kOperands>& nest) {
  const size_t last = nest.rank() - 1;
  const Dims& strides = nest.strides[kActual];
  size_t closest = last;
  for (size_t d = 0; d < last; ++d) {
    if (std::abs(strides[d]) < std::abs(strides[closest])) closest = d;
  }
  if (closest == last || nest.strides[kExpected][last] != 1) return std::nullopt;
  LoopNest<kOperands> reordered = Without(Without(nest, last), closest);
  reordered.Push(nest.sizes[closest], nest.Step(closest));
  reordered.Push(nest.sizes[last], nest.Step(last));
  return reordered;
}

template <typename T>
class TensorComparison {
 public:
  TensorComparison(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, std::span<DifferenceMap> maps)
      : actual_(actual.elements<T>()),
        expected_(expected.elements<T>()),
        bytes_(expected.element_bytes()),
        tolerance_(tolerance),
        maps_(maps),
        nest_(PlanLoops(actual.layout, expected.layout)) {
    total_.element_count = expected.layout.element_count();
  }

  Comparison Result() {
    if (const auto tiled = WithRowsOfActual(nest_)) {
      CompareTiles(*tiled);
    } else {
      CompareRuns();
    }
    return total_;
  }

 private:
  // Calls compare(comparer, begin, end) on the parts of [0, count).
  template <typename Compare>
  void ForEachPart(int64_t count, int64_t grain, Compare&& compare) {
    std::mutex mutex;
    ParallelFor(count, grain, bytes_, [&](int64_t begin, int64_t end) {
      Comparer<T> comparer(tolerance_, maps_);
      compare(comparer, begin, end);
      const std::lock_guard lock(mutex);
      Merge(comparer.result(), total_);
    });
  }

  void CompareRuns() {
    const Offsets stride = nest_.Step(nest_.rank() - 1);
    ForEachPart(total_.element_count, kParallelElements,
                [&](Comparer<T>& comparer, int64_t begin, int64_t end) {
                  ForEachRun(nest_, begin, end, [&](const Offsets& offset, int64_t count) {
                    comparer.CompareRun(actual_ + offset[kActual], expected_ + offset[kExpected],
                                        offset[kIndex], stride, count);
                  });
                });
  }

  void CompareTiles(const LoopNest<kOperands>& nest) {
    constexpr int64_t kRows = Comparer<T>::kTileRows;
    constexpr int64_t kColumns = Comparer<T>::kTileColumns;
    const TileWalk<kOperands> tiles(nest, kRows, kColumns);
    const Offsets row_stride = nest.Step(nest.rank() - 2);
    const Offsets column_stride = nest.Step(nest.rank() - 1);
    ForEachPart(
        tiles.tile_count(), kParallelElements / (kRows * kColumns) + 1,
        [&](Comparer<T>& comparer, int64_t begin, int64_t end) {
          tiles.ForEach(begin, end, [&](const Offsets& offset, int64_t rows, int64_t columns) {
            comparer.CompareTile(actual_ + offset[kActual], expected_ + offset[kExpected],
                                 offset[kIndex], row_stride, column_stride, rows, columns);
          });
        });
  }

  const T* actual_;
  const T* expected_;
  const int64_t bytes_;
  const Tolerance& tolerance_;
  const std::span<DifferenceMap> maps_;
  const LoopNest<kOperands> nest_;
  Comparison total_;
};

}  // namespace

size_t UlpBin(uint64_t ulp_error) {
  return ulp_error == 0 ? 0 : 1 + static_cast<size_t>(std::bit_width(ulp_error - 1));
}

uint64_t LeastUlp(size_t bin) {
  return bin < 2 ? bin : (uint64_t{1} << (bin - 2)) + 1;
}

uint64_t MostUlp(size_t bin) {
  constexpr size_t kLastBin = std::tuple_size_v<UlpHistogram> - 1;
  if (bin == kLastBin) return std::numeric_limits<uint64_t>::max();
  return bin == 0 ? 0 : uint64_t{1} << (bin - 1);
}

Comparison Compare(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, std::span<DifferenceMap> maps) {
  assert(actual.type == expected.type && actual.layout.sizes == expected.layout.sizes);
  Comparison result;
  const Work work("comparing", expected.element_bytes());
  VisitDataType(AllTypes{}, expected.type, [&]<typename T>() {
    result = TensorComparison<T>(actual, expected, tolerance, maps).Result();
  });
  return result;
}

}  // namespace dmlop
