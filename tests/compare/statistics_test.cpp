// SPDX-License-Identifier: Apache-2.0
// Statistics computed by hand and with MPFR.

#include "core/compare/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/compare/tensor_of.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
Statistics StatisticsOfValues(const std::vector<T>& values) {
  return ComputeStatistics(ViewOf(values));
}

TEST(Statistics, CountsSpecialValuesApart) {
  const Statistics s = StatisticsOfValues<float>(
      {NAN, -INFINITY, 2.0f, -0.0f, INFINITY, INFINITY, 0.0f, -6.0f, -NAN, -NAN});
  EXPECT_EQ(s.count, 10);
  EXPECT_EQ(s.nan_count, 3);
  EXPECT_EQ(s.positive_infinity_count, 2);
  EXPECT_EQ(s.negative_infinity_count, 1);
  EXPECT_EQ(s.zero_count, 2);
  EXPECT_EQ(s.finite_count(), 4);
  EXPECT_EQ(s.finite->min, Number(-6.0));
  EXPECT_EQ(s.finite->max, Number(2.0));
  EXPECT_EQ(s.finite->mean, -1.0);
}

TEST(Statistics, NoFiniteValueHasNoStatistics) {
  EXPECT_FALSE(StatisticsOfValues<float>({}).finite);
  EXPECT_FALSE(StatisticsOfValues<double>({kNan, kInf}).finite);
  EXPECT_FALSE(StatisticsOfValues<Half>({Half{0x7C00}, Half{0xFE00}}).finite);
}

TEST(Statistics, ZerosAreReportedWithoutSign) {
  const Statistics s = StatisticsOfValues<double>({-0.0, -0.0});
  EXPECT_FALSE(std::signbit(std::get<double>(s.finite->min)));
  EXPECT_FALSE(std::signbit(std::get<double>(s.finite->max)));
}

TEST(Statistics, RangeOfLongIntegersIsExact) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Statistics s = StatisticsOfValues<int64_t>({kMax, kMin, 0});
  EXPECT_EQ(s.finite->min, Number(kMin));
  EXPECT_EQ(s.finite->max, Number(kMax));
  EXPECT_EQ(s.finite->mean, -1.0 / 3.0);
  const Statistics u = StatisticsOfValues<uint64_t>({UINT64_MAX, UINT64_MAX - 1});
  EXPECT_EQ(u.finite->min, Number(UINT64_MAX - 1));
  EXPECT_EQ(u.finite->max, Number(UINT64_MAX));
}

TEST(Statistics, MeanSurvivesCancellationAndOverflow) {
  EXPECT_EQ(StatisticsOfValues<double>({1e300, 1.0, -1e300, 2.0}).finite->mean, 0.75);
  EXPECT_EQ(StatisticsOfValues<double>({DBL_MAX, DBL_MAX, DBL_MAX}).finite->mean, DBL_MAX);
  EXPECT_EQ(StatisticsOfValues<double>({DBL_MAX, -DBL_MAX}).finite->mean, 0.0);
  EXPECT_EQ(StatisticsOfValues<double>({0x1p-1074, 0x1p-1074}).finite->mean, 0x1p-1074);
  EXPECT_EQ(StatisticsOfValues<float>(std::vector<float>(300'000, 0.1f)).finite->mean, 0.1f);
}

TEST(Statistics, HistogramBinsBeginAtTheirLowerEdge) {
  std::vector<int8_t> values(17);
  std::iota(values.begin(), values.end(), int8_t{-8});
  std::vector<HistogramBin> one_each;
  for (int i = -8; i < 8; ++i) one_each.push_back({static_cast<double>(i), 1});
  one_each.back().count = 2;  // the maximum falls into it, too
  EXPECT_EQ(StatisticsOfValues(values).finite->histogram, one_each);
}

TEST(Statistics, FewIntegersHaveABinEach) {
  using Bins = std::vector<HistogramBin>;
  EXPECT_EQ(StatisticsOfValues<uint8_t>({0, 3, 0, 2}).finite->histogram,
            (Bins{{uint64_t{0}, 2}, {uint64_t{1}, 0}, {uint64_t{2}, 1}, {uint64_t{3}, 1}}));
  EXPECT_EQ(StatisticsOfValues<int32_t>({-5, -5}).finite->histogram, (Bins{{int64_t{-5}, 2}}));
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(StatisticsOfValues<int64_t>({kMax, kMax - 1}).finite->histogram,
            (Bins{{kMax - 1, 1}, {kMax, 1}}));
  EXPECT_EQ(StatisticsOfValues<int16_t>({0, 15}).finite->histogram.back(),
            (HistogramBin{int64_t{15}, 1}));
  EXPECT_EQ(StatisticsOfValues<int16_t>({0, 16}).finite->histogram.back(), (HistogramBin{15.0, 1}));
}

TEST(Statistics, HistogramSpansTheWholeRangeOfDouble) {
  const Statistics s = StatisticsOfValues<double>({-DBL_MAX, DBL_MAX, 0.0, -1.0});
  EXPECT_EQ(s.finite->histogram[0].count, 1);
  EXPECT_EQ(s.finite->histogram[7].count, 1);
  EXPECT_EQ(s.finite->histogram[8].count, 1);
  EXPECT_EQ(s.finite->histogram[15].count, 1);
}

TEST(Statistics, EqualValuesAreTheOnlyBin) {
  EXPECT_EQ(StatisticsOfValues<double>({0.1, 0.1, kNan, 0.1}).finite->histogram,
            (std::vector<HistogramBin>{{0.1, 3}}));
}

// Statistics of a tensor by their definitions, with exact sums and edges.
template <typename T>
class Oracle {
 public:
  explicit Oracle(const ConstTensorView& view) {
    reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
      Add(reference::FromBits<T>(reference::BitsAt(view, index)));
    });
  }

  void Expect(const Statistics& actual) const {
    EXPECT_EQ(actual.nan_count, expected_.nan_count);
    EXPECT_EQ(actual.positive_infinity_count, expected_.positive_infinity_count);
    EXPECT_EQ(actual.negative_infinity_count, expected_.negative_infinity_count);
    EXPECT_EQ(actual.zero_count, expected_.zero_count);
    EXPECT_EQ(actual.count, expected_.count);
    ASSERT_EQ(actual.finite.has_value(), !values_.empty());
    if (values_.empty()) return;
    const auto [min, max] = std::minmax_element(values_.begin(), values_.end());
    EXPECT_EQ(actual.finite->min, Number(*min));
    EXPECT_EQ(actual.finite->max, Number(*max));
    ExpectMean(actual.finite->mean);
    ExpectDeviation(actual.finite->deviation);
    ExpectPercentiles(actual.finite->percentiles);
    ExpectHistogram(actual.finite->histogram, *min, *max);
  }

 private:
  static constexpr bool kIsInteger = std::is_integral_v<T>;
  static constexpr mpfr_prec_t kExact = 2200;  // enough for any sum of doubles
  using Value = std::conditional_t<!kIsInteger, double,
                                   std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

  void Add(T element) {
    ++expected_.count;
    if constexpr (kIsInteger) {
      AddFinite(element);
    } else {
      const double value = ToDouble(element);
      if (std::isfinite(value)) return AddFinite(value);
      ++(std::isnan(value) ? expected_.nan_count
         : value > 0       ? expected_.positive_infinity_count
                           : expected_.negative_infinity_count);
    }
  }

  void AddFinite(Value value) {
    values_.push_back(value);
    if (value == 0) ++expected_.zero_count;
  }

  static Real Exact(Value value) {
    Real real(0.0, kExact);
    if constexpr (std::is_same_v<Value, uint64_t>) {
      mpfr_set_ui(real.get(), value, MPFR_RNDN);
    } else if constexpr (kIsInteger) {
      mpfr_set_si(real.get(), value, MPFR_RNDN);
    } else {
      mpfr_set_d(real.get(), value, MPFR_RNDN);
    }
    return real;
  }

  // The mean may be off by a unit in the last place but one, and by the error of a sum with twice
  // the precision of double.
  void ExpectMean(double actual) const {
    Real sum(0.0, kExact);
    Real magnitude(0.0, kExact);
    for (const Value value : values_) {
      const Real term = Exact(value);
      mpfr_add(sum.get(), sum.get(), term.get(), MPFR_RNDN);
      (mpfr_sgn(term.get()) < 0 ? mpfr_sub : mpfr_add)(magnitude.get(), magnitude.get(), term.get(),
                                                       MPFR_RNDN);
    }
    mpfr_div_ui(sum.get(), sum.get(), values_.size(), MPFR_RNDN);
    mpfr_div_ui(magnitude.get(), magnitude.get(), values_.size(), MPFR_RNDN);
    const double mean = mpfr_get_d(sum.get(), MPFR_RNDN);
    const double count = static_cast<double>(values_.size());
    const double lost = count * count * 0x1p-106 * mpfr_get_d(magnitude.get(), MPFR_RNDN);
    EXPECT_LE(std::abs(actual - mean), 0x1p-52 * std::abs(mean) + lost + 0x1p-1074);
  }

  // sqrt(n * sum of squares - square of the sum) / n, accurate except for the last places.
  void ExpectDeviation(double actual) const {
    constexpr mpfr_prec_t kExactSquares = 4500;
    Real sum(0.0, kExactSquares);
    Real squares(0.0, kExactSquares);
    Real square(0.0, kExactSquares);
    for (const Value value : values_) {
      const Real term = Exact(value);
      mpfr_add(sum.get(), sum.get(), term.get(), MPFR_RNDN);
      mpfr_sqr(square.get(), term.get(), MPFR_RNDN);
      mpfr_add(squares.get(), squares.get(), square.get(), MPFR_RNDN);
    }
    mpfr_mul_ui(squares.get(), squares.get(), values_.size(), MPFR_RNDN);
    mpfr_sqr(sum.get(), sum.get(), MPFR_RNDN);
    mpfr_sub(squares.get(), squares.get(), sum.get(), MPFR_RNDN);
    mpfr_sqrt(squares.get(), squares.get(), MPFR_RNDN);
    mpfr_div_ui(squares.get(), squares.get(), values_.size(), MPFR_RNDN);
    const double deviation = mpfr_get_d(squares.get(), MPFR_RNDN);
    EXPECT_LE(std::abs(actual - deviation), 0x1p-50 * deviation + 0x1p-1074);
  }

  // The percentile is the first value, in order of size, that enough others do not exceed.
  void ExpectPercentiles(const std::vector<Number>& actual) const {
    std::vector<Value> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(actual.size(), FiniteStatistics::kPercents.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      const size_t share = static_cast<size_t>(FiniteStatistics::kPercents[i]) * sorted.size();
      size_t k = 0;
      while ((k + 1) * 100 < share) ++k;
      EXPECT_EQ(actual[i], Number(sorted[k]));
    }
  }

  // Checks the counts if double holds the edges exactly; otherwise only their sum.
  void ExpectHistogram(const std::vector<HistogramBin>& actual, Value min, Value max) const {
    const auto add = [](int64_t sum, const HistogramBin& bin) { return sum + bin.count; };
    EXPECT_EQ(std::accumulate(actual.begin(), actual.end(), int64_t{0}, add), expected_finite());
    if (sizeof(T) == 8 || std::is_same_v<T, float>) return;
    const double range = static_cast<double>(max) - static_cast<double>(min);
    const bool has_bin_for_each = range == 0 || (kIsInteger && range < 16);
    const double count = has_bin_for_each ? range + 1 : 16;
    const double step = has_bin_for_each ? 1 : range / 16;
    ASSERT_EQ(static_cast<double>(actual.size()), count);
    std::vector<int64_t> expected(actual.size());
    for (const Value value : values_) {
      const double place = (static_cast<double>(value) - static_cast<double>(min)) / step;
      ++expected[static_cast<size_t>(std::min(place, count - 1))];
    }
    for (size_t bin = 0; bin < expected.size(); ++bin) EXPECT_EQ(actual[bin].count, expected[bin]);
  }

  int64_t expected_finite() const { return static_cast<int64_t>(values_.size()); }

  Statistics expected_;
  std::vector<Value> values_;
};

class StatisticsProperty : public testing::TestWithParam<DataType> {};

TEST_P(StatisticsProperty, AgreesWithDefinitionInAnyLayout) {
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const size_t rank = static_cast<size_t>(UniformInt(engine, 1, 5));
    const TestTensor tensor = RandomInput(engine, GetParam(), RandomSizes(engine, rank, 3000));
    const Statistics statistics = ComputeStatistics(tensor.view());
    VisitDataType(AllTypes(), GetParam(),
                  [&]<typename T>() { Oracle<T>(tensor.view()).Expect(statistics); });
  }
}

void ExpectSame(const Statistics& actual, const Statistics& expected) {
  EXPECT_EQ(actual.nan_count, expected.nan_count);
  EXPECT_EQ(actual.zero_count, expected.zero_count);
  ASSERT_TRUE(actual.finite && expected.finite);
  EXPECT_EQ(actual.finite->min, expected.finite->min);
  EXPECT_EQ(actual.finite->max, expected.finite->max);
  EXPECT_EQ(actual.finite->mean, expected.finite->mean);
  EXPECT_EQ(actual.finite->deviation, expected.finite->deviation);
  EXPECT_EQ(actual.finite->percentiles, expected.finite->percentiles);
  EXPECT_EQ(actual.finite->histogram, expected.finite->histogram);
}

TEST_P(StatisticsProperty, DoesNotDependOnThreadsOrLayout) {
  SCOPED_TRACE(CaseTrace(0));
  Engine engine = CaseEngine(0);
  const Dims sizes = {3, 500, 217};
  TestTensor tensor(GetParam(), PackedLayout(sizes));
  FillRandomly(engine, tensor);
  const TestTensor columns = CopyInto({sizes, FortranStrides(sizes)}, tensor.view());
  const Statistics expected = ComputeStatistics(tensor.view());
  ForEachThreadCount([&](int count) {
    SCOPED_TRACE(count);
    ExpectSame(ComputeStatistics(tensor.view()), expected);
    ExpectSame(ComputeStatistics(columns.view()), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(Types, StatisticsProperty, testing::ValuesIn(TypesOf(AllTypes())),
                         TypeName);

}  // namespace
}  // namespace dmlop
