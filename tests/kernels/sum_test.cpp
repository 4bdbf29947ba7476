// Rough sums keep their bound and split sums are exact, on every instruction set.

#include <gtest/gtest.h>

#include <cmath>

#include "core/exact/exact_sum.h"
#include "core/kernels/rough_sum.h"
#include "core/kernels/split_sum.h"
#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

constexpr SumTerm kTerms[] = {SumTerm::kItself, SumTerm::kMagnitude, SumTerm::kSquare};

// Calls check(term, ranged) for all kernels.
template <typename Check>
void ForEachKernel(Check&& check) {
  for (const SumTerm term : kTerms) {
    for (const bool ranged : {false, true}) check(term, ranged);
  }
}

template <typename T>
double TermOf(SumTerm term, T element) {
  const double x = ToDouble(element);
  return term == SumTerm::kItself ? x : term == SumTerm::kMagnitude ? std::fabs(x) : x * x;
}

template <typename T>
double BoundOf(SumTerm term) {
  switch (term) {
    case SumTerm::kItself:
      return kRelativeBound<T, SumTerm::kItself>;
    case SumTerm::kMagnitude:
      return kRelativeBound<T, SumTerm::kMagnitude>;
    case SumTerm::kSquare:
      return kRelativeBound<T, SumTerm::kSquare>;
  }
  return 0;
}

void Add(Real& sum, double value) {
  mpfr_add_d(sum.get(), sum.get(), value, MPFR_RNDN);
}

// The state of a few groups.
struct Groups {
  explicit Groups(size_t count)
      : head(count, -0.0),
        tail(count, 0.0),
        peak(count, 0),
        least(count, RoughSums::kNoLeast),
        block(count) {}

  RoughSums sums() { return {head.data(), tail.data(), peak.data(), least.data(), block.data()}; }

  std::vector<double> head, tail;
  std::vector<uint32_t> peak, least;
  std::vector<double> block;
};

// Group `i` against the elements that were added to it.
template <typename T>
void ExpectWithinBound(SumTerm term, bool ranged, const Groups& groups, size_t i,
                       const std::vector<T>& row) {
  Real difference, magnitudes;
  double peak = 0;
  double least = INFINITY;
  for (const T x : row) {
    Add(difference, TermOf(term, x));
    Add(magnitudes, std::fabs(TermOf(term, x)));
    const double magnitude = std::fabs(ToDouble(x));
    peak = std::max(peak, magnitude);
    if (magnitude != 0) least = std::min(least, magnitude);
  }
  Add(difference, -groups.head[i]);
  Add(difference, -groups.tail[i]);
  mpfr_mul_d(magnitudes.get(), magnitudes.get(), BoundOf<T>(term), MPFR_RNDN);
  EXPECT_LE(mpfr_cmpabs(difference.get(), magnitudes.get()), 0);
  if (term == SumTerm::kItself && kMayBeExact<T, SumTerm::kItself>) {
    EXPECT_EQ(groups.peak[i], BitsOf(static_cast<float>(peak)));
  }
  static_assert(kMayBeExact<T, SumTerm::kItself> == kMayBeExact<T, SumTerm::kMagnitude>);
  if (ranged && term != SumTerm::kSquare && kMayBeExact<T, SumTerm::kItself>) {
    EXPECT_EQ(groups.peak[i], BitsOf(static_cast<float>(peak)));
    EXPECT_EQ(groups.least[i],
              std::isinf(least) ? RoughSums::kNoLeast : BitsOf(static_cast<float>(least)) - 1);
  }
}

class SumOnIsa : public OnIsa {};

TEST_P(SumOnIsa, RoughRowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const Family& family, int64_t count) {
      const std::vector<T> row = DrawRow<T>(family, engine, count);
      ForEachKernel([&](SumTerm term, bool ranged) {
        Groups groups(1);
        RoughSumKernelsFor<T>(term, ranged).add_row(row.data(), count, groups.sums());
        ExpectWithinBound(term, ranged, groups, 0, row);
      });
    });
  });
}

// Long enough to be read as several streams, with something left over.
TEST_P(SumOnIsa, LongRoughRowsKeepTheirBound) {
  ForFloatAndHalf([]<typename T>() {
    int number = 0;
    for (const Family& family : kFamilies) {
      SCOPED_TRACE(CaseTrace(number) + ", " + family.name);
      Engine engine = CaseEngine(number++);
      const int64_t count = (1 << 15) / static_cast<int64_t>(sizeof(T));
      const std::vector<T> row = DrawRow<T>(family, engine, count + UniformInt(engine, 0, 999));
      ForEachKernel([&](SumTerm term, bool ranged) {
        Groups groups(1);
        RoughSumKernelsFor<T>(term, ranged).add_row(row.data(), std::ssize(row), groups.sums());
        ExpectWithinBound(term, ranged, groups, 0, row);
      });
    }
  });
}

TEST_P(SumOnIsa, RoughColumnsKeepTheirBound) {
  constexpr int64_t kGap = 3;
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const Family& family, int64_t columns) {
      if (columns > 33) return;
      // Less than a block of 64 rows, and a few of them.
      const int64_t rows =
          OneIn(engine, 2) ? UniformInt(engine, 1, 64) : UniformInt(engine, 65, 210);
      const int64_t stride = columns + kGap;
      const std::vector<T> tile = DrawRow<T>(family, engine, rows * stride);
      ForEachKernel([&](SumTerm term, bool ranged) {
        Groups groups(static_cast<size_t>(columns));
        RoughSumKernelsFor<T>(term, ranged)
            .add_columns(tile.data(), rows, stride, columns, groups.sums());
        for (int64_t c = 0; c < columns; ++c) {
          std::vector<T> column;
          for (int64_t r = 0; r < rows; ++r) {
            column.push_back(tile[static_cast<size_t>(r * stride + c)]);
          }
          ExpectWithinBound(term, ranged, groups, static_cast<size_t>(c), column);
        }
      });
    });
  });
}

TEST_P(SumOnIsa, RoughSumsKeepTheSignOfZeros) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      std::vector<T> row(static_cast<size_t>(count), FromDouble<T>(-0.0));
      Groups negative(1), mixed(1);
      const auto kernels = RoughSumKernelsFor<T>(SumTerm::kItself, /*ranged=*/false);
      kernels.add_row(row.data(), count, negative.sums());
      EXPECT_EQ(BitsOf(negative.head[0]), BitsOf(-0.0));
      row[static_cast<size_t>(count / 2)] = FromDouble<T>(0.0);
      kernels.add_row(row.data(), count, mixed.sums());
      EXPECT_EQ(BitsOf(mixed.head[0]), BitsOf(0.0));
    }
  });
}

TEST_P(SumOnIsa, RoughSumsMeetInfinitiesAndNan) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : kCounts) {
      const std::vector<T> ones(static_cast<size_t>(count), FromDouble<T>(1.0));
      const auto head_with = [&](double first, double last) {
        std::vector<T> row = ones;
        row.push_back(FromDouble<T>(last));
        row.front() = FromDouble<T>(first);
        Groups groups(1);
        RoughSumKernelsFor<T>(SumTerm::kItself, /*ranged=*/false)
            .add_row(row.data(), count + 1, groups.sums());
        return groups.head[0];
      };
      EXPECT_EQ(head_with(INFINITY, 1), INFINITY);
      EXPECT_EQ(head_with(1, -INFINITY), -INFINITY);
      EXPECT_TRUE(std::isnan(head_with(INFINITY, -INFINITY)));
      EXPECT_TRUE(std::isnan(head_with(NAN, INFINITY)));
    }
  });
}

TEST_P(SumOnIsa, SplitSumsAreExact) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const Family& family, int64_t count) {
      const std::vector<T> row = DrawRow<T>(family, engine, count);
      for (const SumTerm term : kTerms) {
        SplitSum split;
        SplitSumFor<T>(term)(row.data(), count, split);
        ASSERT_LE(split.part_count, SplitSum::kMaxParts);
        ExactSum difference;
        for (const T x : row) difference.Add(TermOf(term, x));
        for (int i = 0; i < split.part_count; ++i) difference.Add(-split.parts[i]);
        EXPECT_EQ(difference.Sign(), 0);
      }
    });
  });
}

// Every place from the largest to the least: as many parts as there can be.
TEST_P(SumOnIsa, SplitSumsHoldTheWholeRange) {
  std::vector<float> row;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    row.push_back(std::ldexp(exponent < 0 ? 1.0f : -1.0f, exponent));
  }
  row.resize(SplitSum::kMaxCount, std::numeric_limits<float>::max());
  for (const SumTerm term : kTerms) {
    SplitSum split;
    SplitSumFor<float>(term)(row.data(), SplitSum::kMaxCount, split);
    ASSERT_LE(split.part_count, SplitSum::kMaxParts);
    ExactSum difference;
    for (const float x : row) difference.Add(TermOf(term, x));
    for (int i = 0; i < split.part_count; ++i) difference.Add(-split.parts[i]);
    EXPECT_EQ(difference.Sign(), 0);
  }
}

TEST_P(SumOnIsa, SplitSumsTellSpecialRows) {
  SplitSum split;
  std::vector<float> row(37, 0.0f);
  SplitSumFor<float>(SumTerm::kItself)(row.data(), 37, split);
  EXPECT_EQ(split.part_count, 0);
  EXPECT_EQ(split.peak, 0u);
  for (const float special : {INFINITY, -INFINITY, NAN}) {
    row[36] = special;
    SplitSumFor<float>(SumTerm::kItself)(row.data(), 37, split);
    EXPECT_EQ(split.part_count, 0);
    EXPECT_GE(split.peak, BitsOf(INFINITY));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, SumOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
