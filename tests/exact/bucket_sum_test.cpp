#include "core/exact/bucket_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/exact/rounding.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

// A bucket sum holds what ExactSum holds: their difference is exactly zero.
template <typename Term>
void ExpectSameSum(ExactSum sum, const std::vector<float>& values, Term&& term) {
  for (const float value : values) sum.Add(-term(static_cast<double>(value)));
  EXPECT_EQ(sum.Sign(), 0);
}

void ExpectEqualSums(const std::vector<float>& values) {
  const int64_t count = static_cast<int64_t>(values.size());
  BucketSum buckets;
  ExactSum sum, magnitudes, squares;
  buckets.Add(values.data(), count);
  EXPECT_FALSE(buckets.has_special());
  buckets.MoveTo(sum);
  buckets.AddMagnitudes(values.data(), count);
  buckets.MoveTo(magnitudes);
  buckets.AddSquares(values.data(), count);
  buckets.MoveSquaresTo(squares);
  EXPECT_TRUE(buckets.has_only_zeros());  // moving empties it
  ExpectSameSum(sum, values, [](double x) { return x; });
  ExpectSameSum(magnitudes, values, [](double x) { return std::fabs(x); });
  ExpectSameSum(squares, values, [](double x) { return x * x; });
}

TEST(BucketSum, EqualsExactSumOnRandomBits) {
  Engine engine = TestEngine();
  for (const size_t count : {size_t{1}, size_t{3}, size_t{4}, size_t{1001}}) {
    std::vector<float> values;
    while (values.size() < count) {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(engine()));
      if (std::isfinite(value)) values.push_back(value);
    }
    ExpectEqualSums(values);
  }
}

TEST(BucketSum, HoldsAsManyOfTheLargestAsItSays) {
  for (const float value : {std::bit_cast<float>(0x7F7FFFFFu), -1.99999988f, 0x1p-149f}) {
    ExpectEqualSums(std::vector<float>(static_cast<size_t>(BucketSum::kCapacity), value));
  }
}

TEST(BucketSum, KnowsZerosAndSpecialValues) {
  BucketSum buckets;
  const std::vector<float> zeros = {0.0f, -0.0f};
  buckets.Add(zeros.data(), 2);
  EXPECT_TRUE(buckets.has_only_zeros());
  for (const float special : {INFINITY, -INFINITY, NAN}) {
    BucketSum with_special;
    with_special.Add(&special, 1);
    EXPECT_TRUE(with_special.has_special());
    EXPECT_FALSE(with_special.has_only_zeros());
  }
}

}  // namespace
}  // namespace dmlop
