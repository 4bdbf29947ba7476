// SPDX-License-Identifier: Apache-2.0
// On every instruction set, approximate sums keep their bound and binned sums are exact.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/exact/exact_sum.h"
#include "core/kernels/reduce/approximate_sum.h"
#include "core/kernels/reduce/binned_sum.h"
#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

constexpr SumMap kTerms[] = {SumMap::kItself, SumMap::kMagnitude, SumMap::kSquare};

template <typename T>
double TermValue(SumMap map, T element) {
  const double x = ToDouble(element);
  return map == SumMap::kItself ? x : map == SumMap::kMagnitude ? std::fabs(x) : x * x;
}

template <typename T>
double BoundOf(SumMap map) {
  switch (map) {
    case SumMap::kItself:
      return kRelativeBound<T, SumMap::kItself>;
    case SumMap::kMagnitude:
      return kRelativeBound<T, SumMap::kMagnitude>;
    case SumMap::kSquare:
      return kRelativeBound<T, SumMap::kSquare>;
  }
  return 0;
}

void Add(Real& sum, double value) {
  mpfr_add_d(sum.get(), sum.get(), value, MPFR_RNDN);
}

// The state of a few groups.
struct Groups {
  explicit Groups(size_t count)
      : head(count, -0.0), tail(count, 0.0), peak(count, 0), block(count) {}

  ApproximateSums sums() { return {head.data(), tail.data(), peak.data(), block.data()}; }

  std::vector<double> head, tail;
  std::vector<uint32_t> peak;
  std::vector<double> block;
};

// Compares group `i` with the elements that were added to it.
template <typename T>
void ExpectWithinBound(SumMap map, const Groups& groups, size_t i, const std::vector<T>& row) {
  Real difference, magnitudes;
  double peak = 0;
  for (const T x : row) {
    Add(difference, TermValue(map, x));
    Add(magnitudes, std::fabs(TermValue(map, x)));
    peak = std::max(peak, std::fabs(ToDouble(x)));
  }
  Add(difference, -groups.head[i]);
  Add(difference, -groups.tail[i]);
  mpfr_mul_d(magnitudes.get(), magnitudes.get(), BoundOf<T>(map), MPFR_RNDN);
  EXPECT_LE(mpfr_cmpabs(difference.get(), magnitudes.get()), 0);
  if (map == SumMap::kItself && kNeedsPeak<T, SumMap::kItself>) {
    EXPECT_EQ(groups.peak[i], BitsOf(static_cast<float>(peak)));
  }
}

class SumOnIsa : public OnIsa {};

TEST_P(SumOnIsa, ApproximateRowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t count) {
      const std::vector<T> row = DrawRow<T>(family, engine, count);
      for (const SumMap map : kTerms) {
        Groups groups(1);
        ApproximateSumKernelsFor<T>(map).add_row(row.data(), count, groups.sums());
        ExpectWithinBound(map, groups, 0, row);
      }
    });
  });
}

// Rows long enough to be read as several streams with a remainder.
TEST_P(SumOnIsa, LongApproximateRowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    int number = 0;
    for (const FloatFamily& family : kFamilies) {
      SCOPED_TRACE(CaseTrace(number) + ", " + family.name);
      Engine engine = CaseEngine(number++);
      const int64_t count = (1 << 15) / static_cast<int64_t>(sizeof(T));
      const std::vector<T> row = DrawRow<T>(family, engine, count + UniformInt(engine, 0, 999));
      for (const SumMap map : kTerms) {
        Groups groups(1);
        ApproximateSumKernelsFor<T>(map).add_row(row.data(), std::ssize(row), groups.sums());
        ExpectWithinBound(map, groups, 0, row);
      }
    }
  });
}

TEST_P(SumOnIsa, ApproximateColumnsKeepTheirBound) {
  constexpr int64_t kGap = 3;
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t columns) {
      if (columns > 33) return;
      // Either less than a block of 64 rows, or a few blocks.
      const int64_t rows =
          OneIn(engine, 2) ? UniformInt(engine, 1, 64) : UniformInt(engine, 65, 210);
      const int64_t stride = columns + kGap;
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * stride);
      for (const SumMap map : kTerms) {
        Groups groups(static_cast<size_t>(columns));
        ApproximateSumKernelsFor<T>(map).add_columns(tile.data(), rows, stride, columns,
                                                     groups.sums());
        for (int64_t c = 0; c < columns; ++c) {
          std::vector<T> column;
          for (int64_t r = 0; r < rows; ++r) {
            column.push_back(tile[static_cast<size_t>(r * stride + c)]);
          }
          ExpectWithinBound(map, groups, static_cast<size_t>(c), column);
        }
      }
    });
  });
}

TEST_P(SumOnIsa, ApproximateSumsKeepTheSignOfZeros) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      std::vector<T> row(static_cast<size_t>(count), FromDouble<T>(-0.0));
      Groups negative(1), mixed(1);
      const auto kernels = ApproximateSumKernelsFor<T>(SumMap::kItself);
      kernels.add_row(row.data(), count, negative.sums());
      EXPECT_EQ(BitsOf(negative.head[0]), BitsOf(-0.0));
      row[static_cast<size_t>(count / 2)] = FromDouble<T>(0.0);
      kernels.add_row(row.data(), count, mixed.sums());
      EXPECT_EQ(BitsOf(mixed.head[0]), BitsOf(0.0));
    }
  });
}

// Every second column has one +0, each in a different row and so in any part of a block of rows.
TEST_P(SumOnIsa, ApproximateColumnsKeepTheSignOfZeros) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t columns : {1, 7, 33, 200}) {
      std::vector<T> tile(static_cast<size_t>(100 * columns), FromDouble<T>(-0.0));
      for (int64_t c = 1; c < std::min<int64_t>(columns, 100); c += 2) {
        tile[static_cast<size_t>(c * columns + c)] = FromDouble<T>(0.0);
      }
      for (const SumMap map : kTerms) {
        Groups groups(static_cast<size_t>(columns));
        ApproximateSumKernelsFor<T>(map).add_columns(tile.data(), 100, columns, columns,
                                                     groups.sums());
        for (int64_t c = 0; c < columns; ++c) {
          const bool has_positive = map != SumMap::kItself || (c % 2 == 1 && c < 100);
          EXPECT_EQ(BitsOf(groups.head[static_cast<size_t>(c)]), BitsOf(has_positive ? 0.0 : -0.0));
        }
      }
    }
  });
}

// Terms that cancel each other leave +0, as in IEEE 754.
TEST_P(SumOnIsa, ApproximateSumsThatCancelArePositiveZeros) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      std::vector<T> row(static_cast<size_t>(2 * count), FromDouble<T>(1.5));
      std::fill(row.begin(), row.begin() + count, FromDouble<T>(-1.5));
      const auto kernels = ApproximateSumKernelsFor<T>(SumMap::kItself);
      Groups of_row(1), of_columns(static_cast<size_t>(count));
      kernels.add_row(row.data(), 2 * count, of_row.sums());
      kernels.add_columns(row.data(), 2, count, count, of_columns.sums());
      EXPECT_EQ(BitsOf(of_row.head[0] + of_row.tail[0]), BitsOf(0.0));
      for (const double head : of_columns.head) EXPECT_EQ(BitsOf(head), BitsOf(0.0));
    }
  });
}

// The largest sums that fit where FLOAT16 is summed in integers.
TEST_P(SumOnIsa, ApproximateSumsOfTheLargestHalvesKeepTheirBound) {
  constexpr int64_t kRows = 130, kColumns = 70;
  for (const double sign : {1.0, -1.0}) {
    for (const double value : {65504.0, 0x1.FFCp0, 0x1.FFCp1, 0x1p-14, 0x1.FF8p-15, 0x1p-24}) {
      const std::vector<Half> tile(kRows * kColumns, FromDouble<Half>(sign * value));
      const std::vector<Half> column(kRows, tile[0]);
      for (const SumMap map : kTerms) {
        const auto kernels = ApproximateSumKernelsFor<Half>(map);
        Groups of_row(1), of_columns(kColumns);
        kernels.add_row(tile.data(), std::ssize(tile), of_row.sums());
        kernels.add_columns(tile.data(), kRows, kColumns, kColumns, of_columns.sums());
        ExpectWithinBound(map, of_row, 0, tile);
        for (size_t c = 0; c < kColumns; ++c) ExpectWithinBound(map, of_columns, c, column);
      }
    }
  }
}

TEST_P(SumOnIsa, ApproximateColumnsMeetInfinitiesAndNan) {
  static constexpr int64_t kRows = 75;
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t columns : {5, 32, 45, 100}) {
      std::vector<T> tile(static_cast<size_t>(kRows * columns), FromDouble<T>(1.0));
      const auto at = [&](int64_t r, int64_t c) -> T& {
        return tile[static_cast<size_t>(r * columns + c)];
      };
      at(3, 0) = FromDouble<T>(INFINITY);
      at(20, 1) = FromDouble<T>(-INFINITY);
      at(70, 2) = FromDouble<T>(NAN);
      at(9, 3) = FromDouble<T>(INFINITY);
      at(71, 3) = FromDouble<T>(-INFINITY);
      Groups groups(static_cast<size_t>(columns));
      ApproximateSumKernelsFor<T>(SumMap::kItself)
          .add_columns(tile.data(), kRows, columns, columns, groups.sums());
      EXPECT_EQ(groups.head[0], INFINITY);
      EXPECT_EQ(groups.head[1], -INFINITY);
      EXPECT_TRUE(std::isnan(groups.head[2]));
      EXPECT_TRUE(std::isnan(groups.head[3]));
      for (size_t c = 4; c < static_cast<size_t>(columns); ++c) EXPECT_EQ(groups.head[c], kRows);
    }
  });
}

TEST_P(SumOnIsa, ApproximateSumsMeetInfinitiesAndNan) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      const std::vector<T> ones(static_cast<size_t>(count), FromDouble<T>(1.0));
      const auto head_with = [&](double first, double last) {
        std::vector<T> row = ones;
        row.push_back(FromDouble<T>(last));
        row.front() = FromDouble<T>(first);
        Groups groups(1);
        ApproximateSumKernelsFor<T>(SumMap::kItself).add_row(row.data(), count + 1, groups.sums());
        return groups.head[0];
      };
      EXPECT_EQ(head_with(INFINITY, 1), INFINITY);
      EXPECT_EQ(head_with(1, -INFINITY), -INFINITY);
      EXPECT_TRUE(std::isnan(head_with(INFINITY, -INFINITY)));
      EXPECT_TRUE(std::isnan(head_with(NAN, INFINITY)));
    }
  });
}

// Binned sums of a few groups.
class Binned {
 public:
  template <typename T>
  Binned(SumMap map, T, int64_t groups)
      : count_(CountFor<T>(map)),
        pitch_((groups / BinnedSums::kLanes + 1) * BinnedSums::kLanes),
        bins_(static_cast<size_t>(count_ * pitch_)) {}

  BinnedSums sums() { return {bins_.data(), pitch_}; }

  // The sign of the sum of a group's bins less the terms of a row.
  template <typename T>
  int SignOfDifference(int64_t group, SumMap map, const std::vector<T>& row) const {
    ExactSum difference;
    for (const T x : row) difference.Add(-TermValue(map, x));
    for (int64_t b = 0; b < count_; ++b) difference.Add(Bin(group, b));
    return difference.Sign();
  }

  double Bin(int64_t group, int64_t b) const {
    return bins_[static_cast<size_t>(b * pitch_ + group)];
  }
  int64_t count() const { return count_; }

 private:
  template <typename T>
  static int64_t CountFor(SumMap map) {
    return map == SumMap::kSquare ? SumBins<T, SumMap::kSquare>::kCount
                                  : SumBins<T, SumMap::kItself>::kCount;
  }

  int64_t count_;
  int64_t pitch_;
  std::vector<double> bins_;
};

TEST_P(SumOnIsa, BinnedRowsAreExactAndMerge) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t count) {
      std::vector<T> row = DrawRow<T>(family, engine, count);
      const std::vector<T> more = DrawRow<T>(kFamilies[0], engine, UniformInt(engine, 1, 20));
      for (const SumMap map : kTerms) {
        const auto kernels = BinnedSumKernelsFor<T>(map);
        Binned binned(map, T(), 1), other(map, T(), 1);
        kernels.add_row(row.data(), count, binned.sums());
        EXPECT_EQ(binned.SignOfDifference(0, map, row), 0);
        kernels.add_row(more.data(), std::ssize(more), other.sums());
        kernels.merge(other.sums(), binned.sums());
        std::vector<T> all = row;
        all.insert(all.end(), more.begin(), more.end());
        EXPECT_EQ(binned.SignOfDifference(0, map, all), 0);
      }
    });
  });
}

TEST_P(SumOnIsa, BinnedColumnsAreExact) {
  constexpr int64_t kGap = 3;
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t columns) {
      if (columns > 33) return;
      const int64_t rows = UniformInt(engine, 1, 40);
      const int64_t stride = columns + kGap;
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * stride);
      for (const SumMap map : kTerms) {
        Binned binned(map, T(), columns);
        const auto kernels = BinnedSumKernelsFor<T>(map);
        const int64_t first = rows / 2;
        kernels.add_columns(tile.data(), first, stride, columns, binned.sums());
        kernels.add_columns(tile.data() + first * stride, rows - first, stride, columns,
                            binned.sums());
        for (int64_t c = 0; c < columns; ++c) {
          std::vector<T> column;
          for (int64_t r = 0; r < rows; ++r) {
            column.push_back(tile[static_cast<size_t>(r * stride + c)]);
          }
          EXPECT_EQ(binned.SignOfDifference(c, map, column), 0);
        }
      }
    });
  });
}

// A row with the least and greatest magnitudes of these exponents, and some between them.
template <typename T>
std::vector<T> DrawInRange(Engine& engine, int least, int most) {
  const double step = std::ldexp(1.0, 1 - Format<T>::kPrecision);
  std::vector<double> values = {std::ldexp(1 + step, least), std::ldexp(2 - step, most)};
  while (values.size() < 75) {
    values.push_back(std::ldexp(Uniform(engine, 1.0, 2.0), UniformInt(engine, least, most)));
  }
  std::vector<T> row;
  for (const double value : values) {
    const T rounded = FromDouble<T>(WithRandomSign(engine, value));
    if (std::isfinite(ToDouble(rounded))) row.push_back(rounded);
  }
  return row;
}

// Rows that need one bin, a few or all of them.
TEST_P(SumOnIsa, BinnedSumsOfAnyRangeAreExact) {
  ForFloatAndHalf([]<typename T>() {
    constexpr int kMost = Format<T>::kPrecision == 11 ? 15 : 127;
    int number = 0;
    for (int most = Format<T>::kLeastExponent; most <= kMost; most += 3) {
      for (int least = most; least >= Format<T>::kLeastExponent; least -= 7) {
        SCOPED_TRACE(CaseTrace(number));
        Engine engine = CaseEngine(number++);
        const std::vector<T> row = DrawInRange<T>(engine, least, most);
        for (const SumMap map : kTerms) {
          const auto kernels = BinnedSumKernelsFor<T>(map);
          Binned by_row(map, T(), 1), by_columns(map, T(), 1);
          kernels.add_row(row.data(), std::ssize(row), by_row.sums());
          kernels.add_columns(row.data(), std::ssize(row), 1, 1, by_columns.sums());
          EXPECT_EQ(by_row.SignOfDifference(0, map, row), 0) << least << ' ' << most;
          EXPECT_EQ(by_columns.SignOfDifference(0, map, row), 0) << least << ' ' << most;
        }
      }
    }
  });
}

// All exponents from the least to the greatest, and the greatest number so often that bins must be
// carried again and again.
TEST_P(SumOnIsa, BinsHoldTheWholeRange) {
  constexpr size_t kCount = 60000;
  std::vector<float> row;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    row.push_back(std::ldexp(exponent < 0 ? 1.0f : -1.0f, exponent));
  }
  row.resize(kCount, std::numeric_limits<float>::max());
  for (const SumMap map : kTerms) {
    const auto kernels = BinnedSumKernelsFor<float>(map);
    Binned by_row(map, 0.0f, 1), by_columns(map, 0.0f, 1);
    kernels.add_row(row.data(), kCount, by_row.sums());
    kernels.add_columns(row.data(), kCount, 1, 1, by_columns.sums());
    EXPECT_EQ(by_row.SignOfDifference(0, map, row), 0);
    EXPECT_EQ(by_columns.SignOfDifference(0, map, row), 0);
  }
}

// Such terms leave rests of half a unit, all with the same sign.
TEST_P(SumOnIsa, BinsAreCarriedOver) {
  using Bins = SumBins<float, SumMap::kItself>;
  const std::vector<float> row(40000, std::ldexp(1.0f, Bins::UnitExponent(2) - 1));
  Binned binned(SumMap::kItself, 0.0f, 1);
  BinnedSumKernelsFor<float>(SumMap::kItself).add_row(row.data(), std::ssize(row), binned.sums());
  EXPECT_EQ(binned.SignOfDifference(0, SumMap::kItself, row), 0);
  for (int b = 1; b < Bins::kCount; ++b) {
    EXPECT_LE(std::fabs(binned.Bin(0, b)), std::ldexp(0.5, Bins::UnitExponent(b - 1))) << b;
  }
}

TEST_P(SumOnIsa, BinnedSumsTellSpecialRows) {
  for (const float special : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> row(37, 1.0f);
    row[36] = special;
    Binned binned(SumMap::kItself, 0.0f, 1);
    BinnedSumKernelsFor<float>(SumMap::kItself).add_row(row.data(), 37, binned.sums());
    bool is_finite = true;
    for (int64_t b = 0; b < binned.count(); ++b) is_finite &= std::isfinite(binned.Bin(0, b)) != 0;
    EXPECT_FALSE(is_finite);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, SumOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
