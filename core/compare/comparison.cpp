// SPDX-License-Identifier: Apache-2.0
#include "core/compare/comparison.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <type_traits>
#include <utility>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/compare/comparer.h"
#include "core/compare/elements.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

bool IsFirst(int64_t index, const Comparison& comparison) {
  return !comparison.first || index < comparison.first->index;
}

// Returns true if a difference at `index` is worse than `other`.
bool IsWorse(const ErrorSize& size, int64_t index, const Difference& other) {
  return size != other.size() ? size > other.size() : index < other.index;
}

bool IsWorst(const ErrorSize& size, int64_t index, const std::optional<Difference>& worst) {
  return !worst || IsWorse(size, index, *worst);
}

bool IsWorseDifference(const Difference& a, const Difference& b) {
  return IsWorse(a.size(), a.index, b);
}

// The list is a heap until it is sorted: its front is the least bad, which the next may replace.
bool IsListed(const ErrorSize& size, int64_t index, const Comparison& comparison) {
  if (comparison.listed.size() < comparison.most_listed) return true;
  return comparison.most_listed > 0 && IsWorse(size, index, comparison.listed.front());
}

void List(const Difference& difference, Comparison& comparison) {
  if (!IsListed(difference.size(), difference.index, comparison)) return;
  std::vector<Difference>& listed = comparison.listed;
  if (listed.size() == comparison.most_listed) {
    std::pop_heap(listed.begin(), listed.end(), IsWorseDifference);
    listed.pop_back();
  }
  listed.push_back(difference);
  std::push_heap(listed.begin(), listed.end(), IsWorseDifference);
}

void Merge(const ErrorTally& part, ErrorTally& total) {
  total.max_absolute_error = std::max(total.max_absolute_error, part.max_absolute_error);
  total.max_relative_error = std::max(total.max_relative_error, part.max_relative_error);
  total.max_ulp_error = std::max(total.max_ulp_error, part.max_ulp_error);
  for (size_t bin = 0; bin < part.ulp_histogram.size(); ++bin) {
    total.ulp_histogram[bin] += part.ulp_histogram[bin];
  }
}

// Records a difference everywhere but in the list.
void Note(const Difference& difference, Comparison& comparison) {
  const auto [size, index] = std::pair(difference.size(), difference.index);
  if (IsFirst(index, comparison)) comparison.first = difference;
  if (IsWorst(size, index, comparison.worst)) comparison.worst = difference;
  if (difference.is_finite() && IsWorst(size, index, comparison.worst_finite)) {
    comparison.worst_finite = difference;
  }
}

}  // namespace

size_t UlpBin(uint64_t ulp_error) {
  return ulp_error == 0 ? 0 : 1 + static_cast<size_t>(std::bit_width(ulp_error - 1));
}

uint64_t LeastUlp(size_t bin) {
  return bin < 2 ? bin : (uint64_t{1} << (bin - 2)) + 1;
}

uint64_t MostUlp(size_t bin) {
  constexpr size_t kLastBin = UlpHistogram().size() - 1;
  if (bin == kLastBin) return std::numeric_limits<uint64_t>::max();
  return bin == 0 ? 0 : uint64_t{1} << (bin - 1);
}

bool IsNotable(const ErrorSize& size, int64_t index, bool is_finite, const Comparison& comparison) {
  return IsFirst(index, comparison) || IsWorst(size, index, comparison.worst) ||
         (is_finite && IsWorst(size, index, comparison.worst_finite)) ||
         IsListed(size, index, comparison);
}

void Keep(const Difference& difference, Comparison& comparison) {
  Note(difference, comparison);
  List(difference, comparison);
}

void SortListed(Comparison& comparison) {
  std::sort_heap(comparison.listed.begin(), comparison.listed.end(), IsWorseDifference);
}

void Merge(const Comparison& part, Comparison& total) {
  total.difference_count += part.difference_count;
  total.nan_mismatches += part.nan_mismatches;
  total.infinity_mismatches += part.infinity_mismatches;
  for (const auto& difference : {part.first, part.worst, part.worst_finite}) {
    if (difference) Note(*difference, total);
  }
  for (const Difference& difference : part.listed) List(difference, total);
  Merge(part.passing, total.passing);
  Merge(part.failing, total.failing);
  total.actual_subnormals += part.actual_subnormals;
  total.expected_subnormals += part.expected_subnormals;
  total.most_used = std::max(total.most_used, part.most_used);
  if (total.smallest_passing_ulp && part.smallest_passing_ulp) {
    total.smallest_passing_ulp = std::max(*total.smallest_passing_ulp, *part.smallest_passing_ulp);
  } else {
    total.smallest_passing_ulp.reset();
  }
}

Tolerance TypedTolerance::In(Tolerance tolerance) const {
  tolerance.absolute = absolute.value_or(tolerance.absolute);
  tolerance.relative = relative.value_or(tolerance.relative);
  tolerance.ulp = ulp.value_or(tolerance.ulp);
  return tolerance;
}

Tolerance Tolerances::For(DataType type) const {
  Tolerance tolerance = all;
  for (const TypedTolerance& one : typed) {
    if (one.type == type) tolerance = one.In(tolerance);
  }
  return tolerance;
}

std::optional<double> HeadroomOf(const Comparison& comparison, const Tolerance& tolerance) {
  if (tolerance.bits || comparison.nan_mismatches + comparison.infinity_mismatches > 0) {
    return std::nullopt;
  }
  const bool has_units = comparison.units && comparison.units->has_limits;
  if (tolerance.absolute == 0 && tolerance.relative == 0 && tolerance.ulp == 0 && !has_units) {
    return std::nullopt;
  }
  const double left = 1 - comparison.most_used;
  return comparison.passes() ? std::max(0.0, left) : left;
}

// --- comparing -----------------------------------------------------------------------------------

namespace {

// Splits a nest of loops into tiles of its two innermost ones, for operands in different orders: a
// tile of each fits into the caches.
template <size_t kOperands>
class TileWalk {
 public:
  using Offsets = std::array<int64_t, kOperands>;

  // The nest must have a rank of at least 2.
  TileWalk(const LoopNest<kOperands>& nest, int64_t tile_rows, int64_t tile_columns)
      : tile_rows_(tile_rows),
        tile_columns_(tile_columns),
        rows_(nest.sizes[nest.rank() - 2]),
        columns_(nest.sizes.back()) {
    for (size_t d = 0; d < nest.rank(); ++d) {
      const int64_t row_step = d + 2 == nest.rank() ? tile_rows : 0;
      const int64_t column_step = d + 1 == nest.rank() ? tile_columns : 0;
      const int64_t step = std::max<int64_t>({row_step, column_step, 1});
      std::array<int64_t, kOperands + 2> steps;
      for (size_t k = 0; k < kOperands; ++k) steps[k] = step * nest.strides[k][d];
      steps[kOperands] = row_step;
      steps[kOperands + 1] = column_step;
      tiles_.Push(CeilDiv(nest.sizes[d], step), steps);
    }
  }

  int64_t tile_count() const { return Product(tiles_.sizes); }

  // Calls body(offsets, rows, columns) for the tiles [begin, end); `offsets` has the offset of a
  // tile's first element for each operand.
  template <typename Body>
  void ForEach(int64_t begin, int64_t end, Body&& body) const {
    Walk<kOperands + 2> place(tiles_, begin);
    for (int64_t i = begin; i < end; ++i, place.Next()) {
      Offsets offsets;
      for (size_t k = 0; k < kOperands; ++k) offsets[k] = place.offset(k);
      body(offsets, std::min(tile_rows_, rows_ - place.offset(kOperands)),
           std::min(tile_columns_, columns_ - place.offset(kOperands + 1)));
    }
  }

 private:
  int64_t tile_rows_, tile_columns_;
  int64_t rows_, columns_;
  LoopNest<kOperands + 2> tiles_;  // first row and column are operands, too
};

using Loops = CompareLoops;

using FloatsOfAnyWidth = Join<TypeList<double>, Floats>;

constexpr int64_t kPartElements = 1 << 16;  // fewer are not worth a second thread

// Visits `expected` in the order of its memory; the third operand is the row-major number.
LoopNest<Loops::kOperands> PlanLoops(const Layout& actual, const Layout& expected) {
  const LoopNest<Loops::kOperands> nest{
      expected.sizes, {actual.strides, expected.strides, PackedStrides(expected.sizes)}};
  return WithARow(Merged(SortedByStride(Merged(nest), Loops::kExpected)));
}

// If `expected` is contiguous along the last loop, but `actual` is closest to it along another one,
// moves that loop to the last but one. Empty if both tensors lie in the same order.
std::optional<LoopNest<Loops::kOperands>> WithRowsOfActual(const LoopNest<Loops::kOperands>& nest) {
  const size_t last = nest.rank() - 1;
  const Dims& strides = nest.strides[Loops::kActual];
  size_t closest = last;
  for (size_t d = 0; d < last; ++d) {
    if (std::abs(strides[d]) < std::abs(strides[closest])) closest = d;
  }
  if (closest == last || nest.strides[Loops::kExpected][last] != 1) return std::nullopt;
  LoopNest<Loops::kOperands> reordered = Without(Without(nest, last), closest);
  reordered.Push(nest.sizes[closest], nest.Step(closest));
  reordered.Push(nest.sizes[last], nest.Step(last));
  return reordered;
}

// Compares elements of T with those of E; both are the same type, or floats.
template <typename T, typename E = T>
class TensorComparison {
 public:
  TensorComparison(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, const ComparisonDetails& details)
      : actual_(actual.elements<T>()),
        expected_(expected.elements<E>()),
        bytes_(expected.element_bytes()),
        tolerance_(tolerance),
        details_(details),
        nest_(PlanLoops(actual.layout, expected.layout)) {
    total_.expected_type = expected.type;
    total_.element_count = expected.layout.element_count();
    total_.most_listed = details.most_listed;
  }

  Comparison Result() {
    CompareAll();
    SortListed(total_);
    return total_;
  }

 private:
  // Calls compare(comparer, begin, end) for the parts of [0, count).
  template <typename Compare>
  void ForEachPart(int64_t count, int64_t grain, Compare&& compare) {
    std::mutex mutex;
    ParallelFor(count, grain, bytes_, [&](int64_t begin, int64_t end) {
      Comparer<T> comparer(tolerance_, details_);
      compare(comparer, begin, end);
      const std::lock_guard lock(mutex);
      Merge(comparer.result(), total_);
    });
  }

  void CompareAll() {
    if constexpr (std::is_same_v<T, E>) {
      if (const auto tiled = WithRowsOfActual(nest_)) return CompareTiles(*tiled);
    }
    CompareRuns();
  }

  void CompareRuns() {
    const Loops::Offsets stride = nest_.Step(nest_.rank() - 1);
    ForEachPart(total_.element_count, kPartElements,
                [&](Comparer<T>& comparer, int64_t begin, int64_t end) {
                  ForEachRun(nest_, begin, end, [&](const Loops::Offsets& offset, int64_t count) {
                    comparer.CompareRun(actual_ + offset[Loops::kActual],
                                        expected_ + offset[Loops::kExpected], offset[Loops::kIndex],
                                        stride, count);
                  });
                });
  }

  void CompareTiles(const LoopNest<Loops::kOperands>& nest) {
    constexpr int64_t kRows = Comparer<T>::kTileRows;
    constexpr int64_t kColumns = Comparer<T>::kTileColumns;
    const TileWalk<Loops::kOperands> tiles(nest, kRows, kColumns);
    const Loops::Offsets row_stride = nest.Step(nest.rank() - 2);
    const Loops::Offsets column_stride = nest.Step(nest.rank() - 1);
    ForEachPart(tiles.tile_count(), kPartElements / (kRows * kColumns) + 1,
                [&](Comparer<T>& comparer, int64_t begin, int64_t end) {
                  tiles.ForEach(
                      begin, end, [&](const Loops::Offsets& offset, int64_t rows, int64_t columns) {
                        comparer.CompareTile(
                            actual_ + offset[Loops::kActual], expected_ + offset[Loops::kExpected],
                            offset[Loops::kIndex], row_stride, column_stride, rows, columns);
                      });
                });
  }

  const T* actual_;
  const E* expected_;
  const int64_t bytes_;
  const Tolerance& tolerance_;
  const ComparisonDetails& details_;
  const LoopNest<Loops::kOperands> nest_;
  Comparison total_;
};

Comparison Compared(const ConstTensorView& actual, const ConstTensorView& expected,
                    const Tolerance& tolerance, const ComparisonDetails& details) {
  Comparison result;
  if (actual.type == expected.type) {
    VisitDataType(AllTypes{}, actual.type, [&]<typename T>() {
      result = TensorComparison<T, T>(actual, expected, tolerance, details).Result();
    });
  } else {
    VisitDataType(FloatsOfAnyWidth{}, actual.type, [&]<typename T>() {
      VisitDataType(FloatsOfAnyWidth{}, expected.type, [&]<typename E>() {
        result = TensorComparison<T, E>(actual, expected, tolerance, details).Result();
      });
    });
  }
  if (details.units != nullptr && result.element_count > 0) {
    result.units = StatisticsOf(*details.units);
  }
  return result;
}

}  // namespace

Comparison Compare(const ConstTensorView& actual, const ConstTensorView& expected,
                   const Tolerance& tolerance, const ComparisonDetails& details) {
  assert(actual.layout.sizes == expected.layout.sizes);
  const Work work("comparing", expected.element_bytes());
  if (!details.is_located) return Compared(actual, expected, tolerance, details);
  std::optional<WrongElements> own;
  ComparisonDetails located = details;
  if (located.wrong == nullptr) {
    located.wrong = &own.emplace(expected.layout.element_count());
  }
  Comparison result = Compared(actual, expected, tolerance, located);
  if (result.passes()) return result;
  result.where = WhereOf(expected.layout.sizes, *located.wrong);
  result.classes = ClassesOf(actual, expected, *located.wrong);
  return result;
}

}  // namespace dmlop
