// SPDX-License-Identifier: Apache-2.0
// Fixed-point sums of exponentials keep their bound on every instruction set, and have the same
// bits in any order.

#include "core/kernels/reduce/exp_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

struct FixedSum {
  int64_t high = 0, low = 0;

  friend bool operator==(const FixedSum&, const FixedSum&) = default;
};

template <typename T>
FixedSum SumOfRow(const std::vector<T>& row, double max) {
  FixedSum sum;
  FixedExpSumKernelsFor<T>().add_row(row.data(), static_cast<int64_t>(row.size()),
                                     {&max, &sum.high, &sum.low});
  return sum;
}

template <typename T>
double MaxOf(const std::vector<T>& row) {
  double max = -INFINITY;
  FixedExpSumKernelsFor<T>().max_row(row.data(), static_cast<int64_t>(row.size()), &max);
  return max;
}

template <typename T>
void ExpectWithinBound(const FixedSum& sum, const std::vector<T>& row, double max) {
  Real expected = SumOfExponentials(row, max);
  Real difference = expected;
  for (const auto& [units, unit] :
       {std::pair{sum.high, FixedExpSums::kHighUnit}, std::pair{sum.low, FixedExpSums::kLowUnit}}) {
    Real part(0.0, 200);
    mpfr_set_si(part.get(), units, MPFR_RNDN);
    mpfr_mul_d(part.get(), part.get(), unit, MPFR_RNDN);
    mpfr_sub(difference.get(), difference.get(), part.get(), MPFR_RNDN);
  }
  mpfr_mul_d(expected.get(), expected.get(), FixedExpSums::kRelativeBound<T>, MPFR_RNDN);
  mpfr_add_d(expected.get(), expected.get(), static_cast<double>(row.size()) * 0x1p-93, MPFR_RNDN);
  EXPECT_LE(mpfr_cmpabs(difference.get(), expected.get()), 0);
}

class FixedExpSumOnIsa : public OnIsa {};

TEST_P(FixedExpSumOnIsa, RowsKeepTheirBoundAndBits) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t count) {
      std::vector<T> row = DrawRow<T>(family, engine, count);
      const double max = MaxOf(row);
      const auto less = [](T a, T b) { return ToDouble(a) < ToDouble(b); };
      EXPECT_EQ(max, ToDouble(*std::max_element(row.begin(), row.end(), less)));
      const FixedSum sum = SumOfRow(row, max);
      ExpectWithinBound(sum, row, max);
      std::shuffle(row.begin(), row.end(), engine);
      EXPECT_EQ(SumOfRow(row, max), sum);
      ASSERT_TRUE(SelectIsa("portable"));
      EXPECT_EQ(SumOfRow(row, max), sum);
      ASSERT_TRUE(SelectIsa(GetParam()));
    });
  });
}

TEST_P(FixedExpSumOnIsa, ColumnsAreAsRows) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t columns) {
      if (columns > 33) return;
      const int64_t rows = UniformInt(engine, 1, 50);
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * columns);
      const size_t n = static_cast<size_t>(columns);
      std::vector<double> max(n, -INFINITY);
      std::vector<int64_t> high(n, 0), low(n, 0);
      const FixedExpSumKernels<T> kernels = FixedExpSumKernelsFor<T>();
      kernels.max_columns(tile.data(), rows, columns, columns, max.data());
      kernels.add_columns(tile.data(), rows, columns, columns,
                          {max.data(), high.data(), low.data()});
      for (size_t c = 0; c < n; ++c) {
        std::vector<T> column;
        for (size_t r = 0; r < static_cast<size_t>(rows); ++r) column.push_back(tile[r * n + c]);
        EXPECT_EQ(max[c], MaxOf(column));
        EXPECT_EQ((FixedSum{high[c], low[c]}), SumOfRow(column, max[c]));
      }
    });
  });
}

TEST_P(FixedExpSumOnIsa, ManyTermsFit) {
  const std::vector<float> row(1 << 16, 3.0f);
  EXPECT_EQ(SumOfRow(row, 3), (FixedSum{int64_t{1} << 62, 0}));
}

TEST_P(FixedExpSumOnIsa, NanIsTheMaximum) {
  for (const int64_t count : kCounts) {
    std::vector<float> row(static_cast<size_t>(count), INFINITY);
    EXPECT_EQ(MaxOf(row), INFINITY);
    row[static_cast<size_t>(count / 2)] = NAN;
    EXPECT_TRUE(std::isnan(MaxOf(row)));
    std::vector<double> max(row.size(), -INFINITY);
    FixedExpSumKernelsFor<float>().max_columns(row.data(), 1, count, count, max.data());
    for (size_t c = 0; c < row.size(); ++c) EXPECT_EQ(std::isnan(max[c]), std::isnan(row[c]));
  }
}

// Masks contain negative infinities.
TEST_P(FixedExpSumOnIsa, NegativeInfinitiesAddNothing) {
  for (const int64_t count : kCounts) {
    std::vector<Half> row(static_cast<size_t>(count), FromDouble<Half>(-INFINITY));
    EXPECT_EQ(MaxOf(row), -INFINITY);
    row.front() = FromDouble<Half>(2);
    EXPECT_EQ(SumOfRow(row, 2), (FixedSum{int64_t{1} << 46, 0}));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, FixedExpSumOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
