// SPDX-License-Identifier: Apache-2.0
// Approximate products keep their bound on every instruction set.

#include <gtest/gtest.h>

#include <cmath>

#include "core/kernels/reduce/approximate_product.h"
#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

struct Product {
  double head = 1, tail = 0;
  int64_t exponent = 0;

  ApproximateProducts products() { return {&head, &tail, &exponent}; }
};

template <typename T>
void ExpectWithinBound(const Product& product, const std::vector<T>& row, bool tracked) {
  // Holds 2048 factors of 24 bits exactly.
  Real expected(1.0, 50000);
  for (const T x : row) {
    mpfr_mul_d(expected.get(), expected.get(), ToDouble(x), MPFR_RNDN);
  }
  EXPECT_EQ(std::signbit(product.head), mpfr_signbit(expected.get()) != 0);
  EXPECT_EQ(product.head == 0, mpfr_zero_p(expected.get()) != 0);
  if (product.head == 0) return;
  EXPECT_GE(std::fabs(product.head), 1);
  EXPECT_LT(std::fabs(product.head), 16);
  mpfr_mul_2si(expected.get(), expected.get(), -product.exponent, MPFR_RNDN);
  Real difference = expected;
  mpfr_sub_d(difference.get(), difference.get(), product.head, MPFR_RNDN);
  mpfr_sub_d(difference.get(), difference.get(), product.tail, MPFR_RNDN);
  if (tracked && product.tail == 0) {
    EXPECT_TRUE(mpfr_zero_p(difference.get()));
  }
  mpfr_mul_d(expected.get(), expected.get(),
             static_cast<double>(row.size()) * ApproximateProducts::RelativeBound(tracked),
             MPFR_RNDN);
  EXPECT_LE(mpfr_cmpabs(difference.get(), expected.get()), 0);
}

// The products of the columns of consecutive rows.
template <typename T>
std::vector<Product> MultiplyColumns(const std::vector<T>& tile, size_t columns, bool tracked) {
  std::vector<double> head(columns, 1.0), tail(columns, 0.0);
  std::vector<int64_t> exponent(columns, 0);
  const int64_t width = static_cast<int64_t>(columns);
  const int64_t rows = static_cast<int64_t>(tile.size()) / width;
  ApproximateProductKernelsFor<T>(tracked).multiply_columns(
      tile.data(), rows, width, width, {head.data(), tail.data(), exponent.data()});
  std::vector<Product> products;
  for (size_t c = 0; c < columns; ++c) products.push_back({head[c], tail[c], exponent[c]});
  return products;
}

template <typename T>
Product MultiplyRow(const std::vector<T>& row, bool tracked) {
  Product product;
  ApproximateProductKernelsFor<T>(tracked).multiply_row(
      row.data(), static_cast<int64_t>(row.size()), product.products());
  return product;
}

template <typename T>
std::vector<T> Column(const std::vector<T>& tile, size_t columns, size_t c) {
  std::vector<T> column;
  for (size_t i = c; i < tile.size(); i += columns) column.push_back(tile[i]);
  return column;
}

class ProductOnIsa : public OnIsa {};

TEST_P(ProductOnIsa, RowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t count) {
      const std::vector<T> row = DrawRow<T>(family, engine, count);
      for (const bool tracked : {false, true}) {
        ExpectWithinBound(MultiplyRow(row, tracked), row, tracked);
      }
    });
  });
}

TEST_P(ProductOnIsa, ColumnsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t columns) {
      if (columns > 33) return;
      const size_t n = static_cast<size_t>(columns);
      const std::vector<T> tile = DrawRow<T>(family, engine, UniformInt(engine, 1, 50) * columns);
      for (const bool tracked : {false, true}) {
        const std::vector<Product> products = MultiplyColumns(tile, n, tracked);
        for (size_t c = 0; c < n; ++c) {
          ExpectWithinBound(products[c], Column(tile, n, c), tracked);
        }
      }
    });
  });
}

// Only the least numbers, only the greatest, or both in turn: the limits of what a step may reach.
TEST_P(ProductOnIsa, ExtremesKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    const double least = Least<T>() * 3;
    const double factors[][2] = {
        {least, least}, {Format<T>::kMax, Format<T>::kMax}, {least, Format<T>::kMax}};
    for (const auto& [even, odd] : factors) {
      for (const bool tracked : {false, true}) {
        for (const int64_t count : kCounts) {
          std::vector<T> row;
          for (int64_t i = 0; i < count; ++i) row.push_back(FromDouble<T>(i % 2 ? odd : even));
          ExpectWithinBound(MultiplyRow(row, tracked), row, tracked);
          ExpectWithinBound(MultiplyColumns(row, 1, tracked)[0], row, tracked);
        }
        constexpr size_t kColumns = 40;
        std::vector<T> tile;
        for (size_t i = 0; i < 50 * kColumns; ++i) {
          tile.push_back(FromDouble<T>(i / kColumns % 2 ? odd : even));
        }
        for (const Product& product : MultiplyColumns(tile, kColumns, tracked)) {
          ExpectWithinBound(product, Column(tile, kColumns, 0), tracked);
        }
      }
    }
  });
}

// The greatest number of factors between two calls of MultiplyGroup, with as many bits as possible.
TEST_P(ProductOnIsa, LongTrackedProductsKeepTheirBound) {
  Engine engine = CaseEngine(0);
  std::vector<float> column(1 << 16);
  for (float& x : column) x = FromDouble<float>(Uniform(engine, 1, 2));
  constexpr size_t kColumns = 17;
  std::vector<float> tile;
  for (const float x : column) tile.insert(tile.end(), kColumns, x);
  Real expected(1.0, 400);
  for (const float x : column) mpfr_mul_d(expected.get(), expected.get(), ToDouble(x), MPFR_RNDN);
  std::vector<Product> products = MultiplyColumns(tile, kColumns, true);
  products.push_back(MultiplyRow(column, true));
  for (const Product& product : products) {
    Real difference = expected;
    mpfr_mul_2si(difference.get(), difference.get(), -product.exponent, MPFR_RNDN);
    mpfr_sub_d(difference.get(), difference.get(), product.head, MPFR_RNDN);
    mpfr_sub_d(difference.get(), difference.get(), product.tail, MPFR_RNDN);
    EXPECT_LE(std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN)),
              static_cast<double>(column.size()) * ApproximateProducts::RelativeBound(true));
  }
}

void ExpectSameBits(const Product& product, const Product& expected) {
  if (!std::isfinite(expected.head) || expected.head == 0) return;
  EXPECT_EQ(product.head, expected.head);
  EXPECT_EQ(product.tail, expected.tail);
  EXPECT_EQ(product.exponent, expected.exponent);
}

// Products whose rounding no bound decides rely on this.
TEST_P(ProductOnIsa, TrackedLanesHaveTheSameBitsEverywhere) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t rows) {
      if (rows > 300) return;
      constexpr int64_t kLanes = ApproximateProducts::kLanes;
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * kLanes);
      const std::vector<Product> products = MultiplyColumns(tile, kLanes, true);
      const SettingsGuard guard;
      ASSERT_TRUE(SelectIsa("portable"));
      const std::vector<Product> expected = MultiplyColumns(tile, kLanes, true);
      for (size_t lane = 0; lane < products.size(); ++lane) {
        ExpectSameBits(products[lane], expected[lane]);
      }
    });
  });
}

// The result is independent of the width of the rows; otherwise their order may suit the processor.
TEST_P(ProductOnIsa, TrackedColumnsHaveTheSameBitsAlone) {
  ForFloatAndHalf([]<typename T>() {
    for (const size_t columns : {250u, 512u, 1100u}) {
      SCOPED_TRACE(CaseTrace(static_cast<int>(columns)));
      Engine engine = CaseEngine(static_cast<int>(columns));
      std::vector<T> tile;
      for (size_t i = 0; i < 100 * columns; ++i) {
        tile.push_back(FromDouble<T>(1 + UniformInt(engine, 1, 1000) / 1024.0));
      }
      const std::vector<Product> products = MultiplyColumns(tile, columns, true);
      for (size_t c = 0; c < columns; ++c) {
        ExpectSameBits(products[c], MultiplyColumns(Column(tile, columns, c), 1, true)[0]);
      }
    }
  });
}

template <typename T>
Product MergeLanes(const std::vector<T>& tile, int64_t count) {
  constexpr int64_t kLanes = ApproximateProducts::kLanes;
  std::vector<double> head(kLanes, 1.0), tail(kLanes, 0.0);
  std::vector<int64_t> exponent(kLanes, 0);
  const ApproximateProducts products{head.data(), tail.data(), exponent.data()};
  const auto kernels = ApproximateProductKernelsFor<T>(/*tracked=*/true);
  kernels.multiply_columns(tile.data(), std::ssize(tile) / count, count, count, products);
  kernels.merge_lanes(products, count);
  return {head[0], tail[0], exponent[0]};
}

TEST_P(ProductOnIsa, MergedLanesKeepTheirBoundAndBits) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t rows) {
      if (rows > 60) return;
      const int64_t count = int64_t{1} << UniformInt(engine, 0, 4);
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * count);
      const Product product = MergeLanes(tile, count);
      if (!std::isfinite(product.head) || product.head == 0) return;
      ExpectWithinBound(product, tile, true);
      if (count != ApproximateProducts::kLanes) return;  // only then every vector is full
      const SettingsGuard guard;
      ASSERT_TRUE(SelectIsa("portable"));
      const Product expected = MergeLanes(tile, count);
      EXPECT_EQ(product.head, expected.head);
      EXPECT_EQ(product.tail, expected.tail);
      EXPECT_EQ(product.exponent, expected.exponent);
    });
  });
}

// All parts of such a product have few bits, in any order.
TEST_P(ProductOnIsa, ShortProductsAreExact) {
  for (const int64_t count : kCounts) {
    std::vector<float> row(static_cast<size_t>(count), 2.0f);
    row.front() = 0x1.000002p-100f;
    row.back() = -3.0f;
    for (const Product& product : {MultiplyRow(row, true), MultiplyColumns(row, 1, true)[0]}) {
      EXPECT_EQ(product.tail, 0.0);
      ExpectWithinBound(product, row, true);
    }
  }
}

TEST_P(ProductOnIsa, SpecialElementsShow) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      for (const double special : {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        std::vector<T> row(static_cast<size_t>(count), FromDouble<T>(1.5));
        row[static_cast<size_t>(count / 2)] = FromDouble<T>(special);
        for (const bool tracked : {false, true}) {
          for (const Product& product :
               {MultiplyRow(row, tracked), MultiplyColumns(row, 1, tracked)[0]}) {
            EXPECT_EQ(product.head == 0, special == 0);
            EXPECT_EQ(std::isnan(product.head), std::isnan(special));
            EXPECT_EQ(std::isinf(product.head), std::isinf(special));
            if (!std::isnan(special)) {
              EXPECT_EQ(std::signbit(product.head), std::signbit(special));
            }
          }
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Isas, ProductOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
