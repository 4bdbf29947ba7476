#include "core/exact/exact_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/case_name.h"
#include "tests/support/float_families.h"
#include "tests/support/near_ties.h"

namespace dmlop {
namespace {

// The same product in the class under test and in the oracle.
struct ProductPair {
  ScaledProduct actual;
  Real expected = Real(1.0, 1024);

  void Multiply(double factor) {
    actual.Multiply(factor);
    mpfr_mul_d(expected.get(), expected.get(), factor, MPFR_RNDN);
  }

  void Merge(const ProductPair& other) {
    actual.Merge(other.actual);
    mpfr_mul(expected.get(), expected.get(), other.expected.get(), MPFR_RNDN);
  }
};

// Stricter than the promised 0.5001 ULP: no case here is so near to a tie that the error could
// matter.
template <typename T>
void ExpectRoundedProduct(const ProductPair& product) {
  const T expected = RoundReal<T>(product.expected);
  EXPECT_EQ(BitsOf(product.actual.Round<T>()), BitsOf(expected)) << ToDouble(expected);
}

template <typename T>
class ProductTest : public testing::Test {
 protected:
  double NonzeroFactor(const Family& family) {
    const double factor = Draw<T>(family, engine_);
    return factor != 0.0 ? factor : 1.0;
  }

  Engine engine_ = TestEngine();
};

using NarrowTypes = testing::Types<Half, float>;
TYPED_TEST_SUITE(ProductTest, NarrowTypes);

TYPED_TEST(ProductTest, RandomFactors) {
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.name);
    for (int round = 0; round < 1000; ++round) {
      ProductPair product;
      const int count = UniformInt(this->engine_, 1, 40);
      for (int i = 0; i < count; ++i) product.Multiply(this->NonzeroFactor(family));
      ExpectRoundedProduct<TypeParam>(product);
    }
  }
}

// Each factor is followed by one that brings the product back, so that thousands stay in range.
TYPED_TEST(ProductTest, LongProductsAndTheirMerge) {
  for (int round = 0; round < 20; ++round) {
    ProductPair whole;
    const int parts = UniformInt(this->engine_, 1, 5);
    for (int part = 0; part < parts; ++part) {
      ProductPair product;
      for (int i = UniformInt(this->engine_, 0, 2000); i > 0; --i) {
        const double factor = ToDouble(FromDouble<TypeParam>(Uniform(this->engine_, 0.01, 100.0)));
        product.Multiply(factor);
        product.Multiply(ToDouble(FromDouble<TypeParam>(1.0 / factor)));
        ExpectRoundedProduct<TypeParam>(product);
      }
      whole.Merge(product);
    }
    ExpectRoundedProduct<TypeParam>(whole);
  }
}

// A tie made of two factors, then less than it by 2^-46 or so: (1 + 2^-23)(1 - 2^-23) < 1.
TYPED_TEST(ProductTest, TiesAndTheirNeighbours) {
  const int tie_bits = Format<TypeParam>::kPrecision + 1;
  for (int round = 0; round < 2000; ++round) {
    const int small = 2 * UniformInt(this->engine_, 1, 100) + 1;
    const int from = (1 << (tie_bits - 1)) / small + 1;
    const int large = UniformInt(this->engine_, from, 2 * from - 4) | 1;
    ProductPair product;
    product.Multiply(RandomSign(this->engine_) * small);
    product.Multiply(std::ldexp(large, UniformInt(this->engine_, -20, 20)));
    ExpectRoundedProduct<TypeParam>(product);
    product.Multiply(1.0 + 0x1p-23);
    product.Multiply(1.0 - 0x1p-23);
    ExpectRoundedProduct<TypeParam>(product);
  }
}

TYPED_TEST(ProductTest, NearTiesInAnyOrderAndGrouping) {
  for (std::vector<double> factors : NearTies<float>()) {
    std::sort(factors.begin(), factors.end());
    do {
      for (size_t split = 0; split <= factors.size(); ++split) {
        ProductPair left;
        ProductPair right;
        left.Multiply(0x1p-80);
        for (size_t i = 0; i < split; ++i) left.Multiply(factors[i]);
        for (size_t i = split; i < factors.size(); ++i) right.Multiply(factors[i]);
        left.Merge(right);
        ExpectRoundedProduct<TypeParam>(left);
      }
    } while (std::next_permutation(factors.begin(), factors.end()));
  }
}

// 2^32 factors by repeated squaring, which sends every error the same way.
TYPED_TEST(ProductTest, AsManyFactorsAsATensorHas) {
  for (float base : {1.0f + FLT_EPSILON, 1.0f - FLT_EPSILON, -1.0f + FLT_EPSILON / 2}) {
    ProductPair product;
    product.Multiply(static_cast<double>(base));
    for (int i = 0; i < 32; ++i) {
      product.Merge(product);
      ExpectRoundedProduct<TypeParam>(product);
    }
  }
}

struct ProductCase {
  const char* name;
  std::vector<double> factors;
  uint32_t float_bits;
  uint16_t half_bits;
};

const ProductCase kProductCases[] = {
    {"Empty", {}, 0x3F800000, 0x3C00},
    {"Sign", {-1.0, 2.0, -3.0, -0.5}, 0xC0400000, 0xC200},
    {"BackFromOverflow", {FLT_MAX, FLT_MAX, 0x1p-126, 0x1p-126}, 0x417FFFFE, 0x4C00},
    {"BackFromUnderflow", {0x1p-149, 0x1p-149, 0x1p127, 0x1p127, 0x1p44}, 0x3F800000, 0x3C00},
    {"Overflow", {FLT_MAX, -2.0}, 0xFF800000, 0xFC00},
    {"Underflow", {0x1p-149, -0x1p-149}, 0x80000000, 0x8000},
    {"Subnormal", {0x1p-100, 3.0, 0x1p-49}, 0x00000003, 0x0000},
    {"SubnormalTie", {0x1p-100, 3.0, 0x1p-50}, 0x00000002, 0x0000},
    {"HalfTie", {65504.0, 1.0 + 0x1p-12}, 0x477FEFFE, 0x7BFF},
    {"HalfSubnormalTie", {0x1p-12, 1.5, 0x1p-12}, 0x33C00000, 0x0002},
};

class ProductCases : public testing::TestWithParam<ProductCase> {};

TEST_P(ProductCases, RoundToFloatAndHalf) {
  ScaledProduct product;
  for (double factor : GetParam().factors) product.Multiply(factor);
  EXPECT_EQ(BitsOf(product.Round<float>()), GetParam().float_bits);
  EXPECT_EQ(BitsOf(product.Round<Half>()), GetParam().half_bits);
}

INSTANTIATE_TEST_SUITE_P(Product, ProductCases, testing::ValuesIn(kProductCases),
                         CaseName<ProductCase>);

TEST(Product, ExponentsFarBeyondTheFormatsSaturate) {
  ScaledProduct huge;
  ScaledProduct tiny;
  huge.Multiply(static_cast<double>(FLT_MAX));
  tiny.Multiply(-0x1p-149);
  for (int i = 0; i < 32; ++i) huge.Merge(huge);
  for (int i = 0; i < 32; ++i) tiny.Merge(tiny);
  EXPECT_EQ(BitsOf(huge.Round<float>()), 0x7F800000u);
  EXPECT_EQ(BitsOf(tiny.Round<float>()), 0u);
  tiny.Merge(huge);
  EXPECT_EQ(BitsOf(tiny.Round<Half>()), 0u);
}

}  // namespace
}  // namespace dmlop
