// Sums of exponentials keep their bound on every instruction set.

#include "core/kernels/exp_sum.h"

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
  EXPECT_GE(sum, 1);
  Real expected = SumOfExponentials(row, max);
  Real difference = expected;
  mpfr_sub_d(difference.get(), difference.get(), sum, MPFR_RNDN);
  mpfr_mul_d(expected.get(), expected.get(), ExpSums::kRelativeBound<T>, MPFR_RNDN);
  EXPECT_LE(mpfr_cmpabs(difference.get(), expected.get()), 0);
}

class ExpSumOnIsa : public OnIsa {};

TEST_P(ExpSumOnIsa, RowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const Family& family, int64_t count) {
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
    ForEachRow([](Engine& engine, const Family& family, int64_t columns) {
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

// The first column needs a new maximum in every row, and the sums beside it move with it.
TEST_P(ExpSumOnIsa, SumsThatMoveKeepTheirBound) {
  constexpr size_t kColumns = 64;
  std::vector<float> max(kColumns, ExpSums::kStartMax);
  std::vector<double> sum(kColumns, 0.0);
  std::vector<float> first, second;
  for (int i = 0; i < (1 << 16); ++i) {
    first.push_back(static_cast<float>(i) * 20);
    second.push_back(1.0f + static_cast<float>(i) * 0x1p-17f);
    std::vector<float> row(kColumns, second.back());
    row.front() = first.back();
    ExpSumKernelsFor<float>().add_columns(row.data(), 1, kColumns, kColumns,
                                          {max.data(), sum.data()});
  }
  ExpectWithinBound(max[0], sum[0], first);
  ExpectWithinBound(max[1], sum[1], second);
}

// Terms as large as a sum takes without moving, where differences lose most.
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
  for (const int64_t count : kCounts) {
    for (const float special : {INFINITY, NAN}) {
      std::vector<float> row(static_cast<size_t>(count), 1.5f);
      row[static_cast<size_t>(count / 2)] = special;
      float max = ExpSums::kStartMax;
      double sum = 0;
      ExpSumKernelsFor<float>().add_row(row.data(), count, {&max, &sum});
      EXPECT_FALSE(std::isfinite(max) && std::isfinite(sum)) << count << " " << special;
    }
  }
}

// As masks have them: they add nothing.
TEST_P(ExpSumOnIsa, NegativeInfinitiesAddNothing) {
  for (const int64_t count : kCounts) {
    std::vector<float> row(static_cast<size_t>(count), -INFINITY);
    float max = ExpSums::kStartMax;
    double sum = 0;
    ExpSumKernelsFor<float>().add_row(row.data(), count, {&max, &sum});
    EXPECT_LT(sum, 0.5);
    row.front() = row.back() = 1.5f;
    ExpSumKernelsFor<float>().add_row(row.data(), count, {&max, &sum});
    ExpectWithinBound(max, sum, row);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ExpSumOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
