// SPDX-License-Identifier: Apache-2.0
// Statistics of samples, against values computed by hand and by NumPy 1.24.

#include "app/timing.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/case_name.h"

namespace dmlop {
namespace {

TEST(SampleStatistics, OfOneValueIsThatValue) {
  const SampleStatistics statistics = StatisticsOf(std::vector<double>{3});
  for (const double figure :
       {statistics.median, statistics.minimum, statistics.mean, statistics.percentile_5,
        statistics.percentile_25, statistics.percentile_75, statistics.percentile_95,
        statistics.maximum}) {
    EXPECT_EQ(figure, 3);
  }
  EXPECT_EQ(statistics.deviation, 0);
  EXPECT_EQ(statistics.outliers, 0u);
}

TEST(SampleStatistics, InterpolatesAsNumPyDoes) {
  // numpy.percentile(x, [5, 25, 50, 75, 95]) is 1.3, 2, 3, 4, 8.2.
  const SampleStatistics statistics = StatisticsOf(std::vector<double>{4, 1, 10, 2, 3, 4, 2});
  EXPECT_NEAR(statistics.percentile_5, 1.3, 1e-12);
  EXPECT_NEAR(statistics.percentile_25, 2, 1e-12);
  EXPECT_NEAR(statistics.median, 3, 1e-12);
  EXPECT_NEAR(statistics.percentile_75, 4, 1e-12);
  EXPECT_NEAR(statistics.percentile_95, 8.2, 1e-12);
  EXPECT_NEAR(statistics.mean, 26.0 / 7, 1e-12);
  EXPECT_NEAR(statistics.deviation * statistics.deviation, (150 - 676.0 / 7) / 6, 1e-12);
  EXPECT_EQ(statistics.minimum, 1);
  EXPECT_EQ(statistics.maximum, 10);
}

TEST(SampleStatistics, MedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(StatisticsOf(std::vector<double>{8, 1, 2, 4}).median, 3);
}

TEST(SampleStatistics, CountsValuesFarFromTheMedianAsOutliers) {
  // The median is 10 and the median distance 1, so the limit is 3.5 / 0.6745 = 5.19 from the
  // median.
  EXPECT_EQ(StatisticsOf(std::vector<double>{9, 10, 11, 9, 10, 11, 10, 15, 5}).outliers, 0u);
  EXPECT_EQ(StatisticsOf(std::vector<double>{9, 10, 11, 9, 10, 11, 10, 15.2, 4.8}).outliers, 2u);
}

// --- the U test ----------------------------------------------------------------------------------

// Against scipy.stats.mannwhitneyu of SciPy 1.10 (method "asymptotic").

struct UTestCase {
  const char* name;
  std::vector<double> a, b;
  double p;
};

class MannWhitney : public testing::TestWithParam<UTestCase> {};

TEST_P(MannWhitney, IsAsInSciPyFromBothSides) {
  const UTestCase& c = GetParam();
  EXPECT_NEAR(MannWhitneyP(c.a, c.b), c.p, 1e-14);
  EXPECT_NEAR(MannWhitneyP(c.b, c.a), c.p, 1e-14);
}

INSTANTIATE_TEST_SUITE_P(
    , MannWhitney,
    testing::Values(
        UTestCase{"Separate",
                  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                  {11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
                  0.00018267179110955002},
        UTestCase{"Mixed",
                  {1, 3, 5, 7, 9, 11, 13, 15, 17, 19},
                  {2, 4, 6, 8, 10, 12, 14, 16, 18, 20},
                  0.7337299956962472},
        UTestCase{"Ties",
                  {1, 1, 2, 2, 3, 3, 4, 4, 5},
                  {2, 3, 3, 4, 4, 5, 5, 6, 6, 7},
                  0.034857087101444084},
        UTestCase{"AllEqual", {4, 4, 4}, {4, 4}, 1},
        UTestCase{"Same", {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 1},
        UTestCase{"OneSlow",
                  {10, 11, 12, 13, 14, 15, 16, 17, 18},
                  {10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16.5, 17.5, 900},
                  0.7239320396139757},
        UTestCase{"Uneven",
                  {1, 2, 3, 4, 5, 6, 7, 8, 9},
                  {5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16.5},
                  0.001992081015671852},
        UTestCase{"SciPyManual", {19, 22, 16, 29, 24}, {20, 11, 17, 12}, 0.11134688653314041}),
    CaseName<UTestCase>);

}  // namespace
}  // namespace dmlop
