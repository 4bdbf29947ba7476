// SPDX-License-Identifier: Apache-2.0
// Statistics of samples, against values computed by hand and by NumPy 1.24.

#include "app/timing.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace dmlop
