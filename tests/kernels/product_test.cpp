// Rough products keep their bound, and tell exact ones, on every instruction set.

#include <gtest/gtest.h>

#include <cmath>

#include "core/kernels/rough_product.h"
#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

struct Product {
  double head = 1, tail = 0;
  int64_t exponent = 0;
  uint32_t least = 0x7F7FFFFF, greatest = 0;

  RoughProducts products() { return {&head, &tail, &exponent, &least, &greatest}; }
};

template <typename T>
void ExpectWithinBound(Product& product, const std::vector<T>& row) {
  // 2048 factors of 24 bits fit without rounding.
  Real expected(1.0, 50000);
  for (const T x : row) {
    mpfr_mul_d(expected.get(), expected.get(), ToDouble(x), MPFR_RNDN);
  }
  EXPECT_EQ(std::signbit(product.head), mpfr_signbit(expected.get()) != 0);
  EXPECT_EQ(product.least == 0, mpfr_zero_p(expected.get()) != 0);
  if (product.least == 0) return;
  mpfr_mul_2si(expected.get(), expected.get(), -product.exponent, MPFR_RNDN);
  Real difference = expected;
  mpfr_sub_d(difference.get(), difference.get(), product.head, MPFR_RNDN);
  mpfr_sub_d(difference.get(), difference.get(), product.tail, MPFR_RNDN);
  if (product.tail == 0) {
    EXPECT_TRUE(mpfr_zero_p(difference.get()));
    return;
  }
  mpfr_mul_d(expected.get(), expected.get(),
             static_cast<double>(row.size()) * RoughProducts::kRelativeBound, MPFR_RNDN);
  EXPECT_LE(mpfr_cmpabs(difference.get(), expected.get()), 0);
}

class ProductOnIsa : public OnIsa {};

TEST_P(ProductOnIsa, RowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const Family& family, int64_t count) {
      const std::vector<T> row = DrawRow<T>(family, engine, count);
      Product product;
      RoughProductKernelsFor<T>().multiply_row(row.data(), count, product.products());
      ExpectWithinBound(product, row);
    });
  });
}

TEST_P(ProductOnIsa, ColumnsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const Family& family, int64_t columns) {
      if (columns > 33) return;
      const int64_t rows = UniformInt(engine, 1, 50);
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * columns);
      const size_t n = static_cast<size_t>(columns);
      std::vector<double> head(n, 1.0), tail(n, 0.0);
      std::vector<int64_t> exponent(n, 0);
      std::vector<uint32_t> least(n, 0x7F7FFFFF), greatest(n, 0);
      RoughProductKernelsFor<T>().multiply_columns(
          tile.data(), rows, columns, columns,
          {head.data(), tail.data(), exponent.data(), least.data(), greatest.data()});
      for (size_t c = 0; c < n; ++c) {
        std::vector<T> column;
        for (size_t r = 0; r < static_cast<size_t>(rows); ++r) column.push_back(tile[r * n + c]);
        Product product{head[c], tail[c], exponent[c], least[c], greatest[c]};
        ExpectWithinBound(product, column);
      }
    });
  });
}

// All parts of such a product have few bits, in any order.
TEST_P(ProductOnIsa, ShortProductsAreExact) {
  for (const int64_t count : kCounts) {
    std::vector<float> row(static_cast<size_t>(count), 2.0f);
    row.front() = 0x1.000002p-100f;
    row.back() = -3.0f;
    if (count == 1) row.front() = -3.0f;
    Product product;
    RoughProductKernelsFor<float>().multiply_row(row.data(), count, product.products());
    EXPECT_EQ(product.tail, 0.0);
    ExpectWithinBound(product, row);
  }
}

TEST_P(ProductOnIsa, SpecialElementsShow) {
  for (const int64_t count : kCounts) {
    for (const float special : {INFINITY, -INFINITY, NAN}) {
      std::vector<float> row(static_cast<size_t>(count), 1.5f);
      row[static_cast<size_t>(count / 2)] = special;
      Product product;
      RoughProductKernelsFor<float>().multiply_row(row.data(), count, product.products());
      EXPECT_EQ(product.greatest, BitsOf(std::fabs(special)));
      EXPECT_EQ(std::signbit(product.head), std::signbit(special));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ProductOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
