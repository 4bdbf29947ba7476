// SPDX-License-Identifier: Apache-2.0
// Sums of exponentials keep their bound on every instruction set.

#include "core/kernels/reduce/exp_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

template <typename T>
void ExpectWithinBound(double max, double sum, const std::vector<T>& row) {
  double greatest = -INFINITY;
  for (const T x : row) greatest = std::max(greatest, ToDouble(x));
  EXPECT_LE(max, greatest);
  EXPECT_GE(max, greatest - ExpSums::kHeadroom);
  EXPECT_GE(sum, 1 - ExpSums::kRelativeBound<T>);
  Real expected = SumOfExponentials(row, max);
  Real difference = expected;
  mpfr_sub_d(difference.get(), difference.get(), sum, MPFR_RNDN);
  mpfr_mul_d(expected.get(), expected.get(), ExpSums::kRelativeBound<T>, MPFR_RNDN);
  EXPECT_LE(mpfr_cmpabs(difference.get(), expected.get()), 0);
}

class ExpSumOnIsa : public OnIsa {};

TEST_P(ExpSumOnIsa, RowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t count) {
      const std::vector<T> row = DrawRow<T>(family, engine, count);
      float max = ExpSums::kStartMax;
      double sum = 0;
      ExpSumKernelsFor<T>().add_row(row.data(), count, {&max, &sum});
      ExpectWithinBound(max, sum, row);
    });
  });
}

TEST_P(ExpSumOnIsa, ColumnsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t columns) {
      if (columns > 33) return;
      const int64_t rows = UniformInt(engine, 1, 50);
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * columns);
      const size_t n = static_cast<size_t>(columns);
      std::vector<float> max(n, ExpSums::kStartMax);
      std::vector<double> sum(n, 0.0);
      ExpSumKernelsFor<T>().add_columns(tile.data(), rows, columns, columns,
                                        {max.data(), sum.data()});
      for (size_t c = 0; c < n; ++c) {
        std::vector<T> column;
        for (size_t r = 0; r < static_cast<size_t>(rows); ++r) column.push_back(tile[r * n + c]);
        ExpectWithinBound(max[c], sum[c], column);
      }
    });
  });
}

// The first column needs a new maximum in every row, which also moves the sums beside it.
TEST_P(ExpSumOnIsa, SumsThatMoveKeepTheirBound) {
  constexpr int kRows = 1 << 16;
  for (const size_t columns : {2u, 11u, 32u}) {
    if (!IsInShare()) continue;
    std::vector<float> max(columns, ExpSums::kStartMax);
    std::vector<double> sum(columns, 0.0);
    std::vector<float> first, second;
    for (int i = 0; i < kRows; ++i) {
      first.push_back(static_cast<float>(i) * 20);
      second.push_back(1.0f + static_cast<float>(i) * 0x1p-17f);
      std::vector<float> row(columns, second.back());
      row.front() = first.back();
      const int64_t count = static_cast<int64_t>(columns);
      ExpSumKernelsFor<float>().add_columns(row.data(), 1, count, count, {max.data(), sum.data()});
    }
    ExpectWithinBound(max[0], sum[0], first);
    ExpectWithinBound(max[1], sum[1], second);
  }
}

// Terms as large as a sum takes without moving, for which differences lose most.
TEST_P(ExpSumOnIsa, LargeTermsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    Engine engine = CaseEngine(0);
    constexpr size_t kColumns = 17;
    std::vector<T> tile(kColumns, FromDouble<T>(-Least<T>()));
    while (tile.size() < 200 * kColumns) {
      const double near = ExpSums::kHeadroom - Uniform(engine, 0, 0.1);
      tile.push_back(FromDouble<T>(TowardZero<T>(near)));
    }
    std::vector<float> max(kColumns, ExpSums::kStartMax);
    std::vector<double> sum(kColumns, 0.0);
    for (size_t row = 0; row < 200; ++row) {
      ExpSumKernelsFor<T>().add_columns(tile.data() + row * kColumns, 1, kColumns, kColumns,
                                        {max.data(), sum.data()});
    }
    for (size_t c = 0; c < kColumns; ++c) {
      std::vector<T> column;
      for (size_t row = 0; row < 200; ++row) column.push_back(tile[row * kColumns + c]);
      ExpectWithinBound(max[c], sum[c], column);
    }
  });
}

TEST_P(ExpSumOnIsa, SpecialElementsShow) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      for (const double special : {INFINITY, NAN}) {
        const size_t at = static_cast<size_t>(count / 2);
        std::vector<T> row(static_cast<size_t>(count), FromDouble<T>(1.5));
        row[at] = FromDouble<T>(special);
        float max = ExpSums::kStartMax;
        double sum = 0;
        ExpSumKernelsFor<T>().add_row(row.data(), count, {&max, &sum});
        EXPECT_FALSE(std::isfinite(max) && std::isfinite(sum)) << count << " " << special;
        // The same as columns, only one of which has the special value.
        std::vector<float> maxima(row.size(), ExpSums::kStartMax);
        std::vector<double> sums(row.size(), 0.0);
        ExpSumKernelsFor<T>().add_columns(row.data(), 1, count, count,
                                          {maxima.data(), sums.data()});
        for (size_t c = 0; c < row.size(); ++c) {
          EXPECT_EQ(std::isfinite(maxima[c]) && std::isfinite(sums[c]), c != at)
              << count << " " << c;
        }
      }
    }
  });
}

// Masks contain negative infinities.
TEST_P(ExpSumOnIsa, NegativeInfinitiesAddNothing) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      std::vector<T> row(static_cast<size_t>(count), FromDouble<T>(-INFINITY));
      float max = ExpSums::kStartMax;
      double sum = 0;
      ExpSumKernelsFor<T>().add_row(row.data(), count, {&max, &sum});
      EXPECT_LT(sum, 0.5);
      row.front() = row.back() = FromDouble<T>(1.5);
      ExpSumKernelsFor<T>().add_row(row.data(), count, {&max, &sum});
      ExpectWithinBound(max, sum, row);
      std::vector<float> maxima(row.size(), ExpSums::kStartMax);
      std::vector<double> sums(row.size(), 0.0);
      ExpSumKernelsFor<T>().add_columns(row.data(), 1, count, count, {maxima.data(), sums.data()});
      for (size_t c = 0; c < row.size(); ++c) {
        const bool is_masked = std::isinf(ToDouble(row[c]));
        EXPECT_EQ(sums[c] < 0.5, is_masked) << count << " " << c;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Isas, ExpSumOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
