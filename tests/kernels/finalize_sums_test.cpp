// SPDX-License-Identifier: Apache-2.0
// On every instruction set, approximate sums are finalized to the results of exact sums, or stay
// unresolved.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/kernels/reduce/approximate_sum.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/kernels/sum_forms.h"
#include "tests/support/group_values.h"

namespace dmlop {
namespace {

template <typename T>
using Group = std::vector<T>;

// Sums groups of the same size, and finalizes them.
template <typename T>
Results<T> EndOf(const Form& form, const std::vector<Group<T>>& groups) {
  const int64_t columns = std::ssize(groups);
  const int64_t rows = std::ssize(groups[0]);
  std::vector<T> tile;
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    for (const Group<T>& group : groups) tile.push_back(group[r]);
  }
  std::vector<double> head(groups.size(), -0.0), tail(groups.size()), block(groups.size());
  std::vector<uint32_t> peak(groups.size());
  const ApproximateSums sums{head.data(), tail.data(), peak.data(), block.data()};
  ApproximateSumKernelsFor<T>(form.map).add_columns(tile.data(), rows, columns, columns, sums);
  Results<T> results(columns);
  std::fill(results.unresolved.begin(), results.unresolved.end(), uint8_t{77});
  FinalizeSumsFor<T>(form.map, form.finalizer)(sums, columns, rows, results.values.data(),
                                               results.unresolved.data());
  return results;
}

// Returns the number of unresolved results.
template <typename T>
int64_t CountUnresolved(const Form& form, const std::vector<Group<T>>& groups) {
  const Results<T> results = EndOf(form, groups);
  int64_t unresolved = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (results.unresolved[i] != 0) {
      EXPECT_EQ(results.unresolved[i], 1);
      ++unresolved;
      continue;
    }
    EXPECT_EQ(BitsOf(results.values[i]), BitsOf(RoundReal<T>(Exact(form, groups[i]))))
        << static_cast<int>(form.map) << " " << static_cast<int>(form.finalizer) << " " << i;
  }
  return unresolved;
}

class ApproximateEndOnIsa : public OnIsa {};

TEST_P(ApproximateEndOnIsa, SumsOfAnyElementsRoundAsTheExactOnes) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t columns) {
      if (columns > 65) return;
      const int64_t rows = UniformInt(engine, 1, 200);
      std::vector<Group<T>> groups;
      for (int64_t c = 0; c < columns; ++c) groups.push_back(DrawRow<T>(family, engine, rows));
      for (const Form& form : kForms) CountUnresolved(form, groups);
    });
  });
}

TEST_P(ApproximateEndOnIsa, HardSumsRoundAsTheExactOnes) {
  ForFloatAndHalf([]<typename T>() {
    int number = 0;
    for (const GroupFamily& family : GroupFamilies<T>()) {
      if (family.name.ends_with("Special")) continue;
      for (const int64_t count : {2, 3, 29, 150}) {
        SCOPED_TRACE(CaseTrace(number) + ", " + family.name + ", " + std::to_string(count));
        Engine engine = CaseEngine(number++);
        std::vector<Group<T>> groups(16);
        for (Group<T>& group : groups) {
          for (const double value : family.draw(engine, static_cast<size_t>(count))) {
            group.push_back(FromDouble<T>(value));
          }
        }
        for (const Form& form : kForms) CountUnresolved(form, groups);
      }
    }
  });
}

// Ordinary sums are hardly ever unresolved, except in the remainder of a vector.
TEST_P(ApproximateEndOnIsa, OrdinarySumsAreResolved) {
  ForFloatAndHalf([]<typename T>() {
    Engine engine = CaseEngine(0);
    SCOPED_TRACE(CaseTrace(0));
    std::vector<Group<T>> groups;
    for (int i = 0; i < 64; ++i) groups.push_back(DrawRow<T>(kFamilies[0], engine, 99));
    for (const Form& form : kForms) EXPECT_LE(CountUnresolved(form, groups), 8);
    groups.push_back(groups[0]);
    EXPECT_LE(CountUnresolved(kForms[0], groups), 9);
  });
}

TEST_P(ApproximateEndOnIsa, KeepsZerosInfinitiesAndNan) {
  ForFloatAndHalf([]<typename T>() {
    constexpr double kMost = Format<T>::kMax;
    struct Case {
      double first, others;
      double sum, average, root;
    };
    const Case cases[] = {
        {-0.0, -0.0, -0.0, -0.0, 0.0},
        {0.0, -0.0, 0.0, 0.0, 0.0},
        {INFINITY, 1.0, INFINITY, INFINITY, INFINITY},
        {-INFINITY, 1.0, -INFINITY, -INFINITY, INFINITY},
        {INFINITY, -INFINITY, NAN, NAN, INFINITY},
        {-NAN, 1.0, NAN, NAN, NAN},
        {kMost, kMost, INFINITY, kMost, INFINITY},
        {-kMost, -kMost, -INFINITY, -kMost, INFINITY},
    };
    std::vector<Group<T>> groups;
    for (const Case& of : cases) {
      groups.emplace_back(70, FromDouble<T>(of.others));
      groups.back()[40] = FromDouble<T>(of.first);
    }
    const auto check = [&](const Form& form, double Case::*expected) {
      const Results<T> results = EndOf(form, groups);
      for (size_t i = 0; i < groups.size(); ++i) {
        if (results.unresolved[i] != 0) continue;
        EXPECT_EQ(BitsOf(results.values[i]), BitsOf(FromDouble<T>(cases[i].*expected))) << i;
      }
    };
    check({SumMap::kItself, SumFinalizer::kItself}, &Case::sum);
    check({SumMap::kItself, SumFinalizer::kAverage}, &Case::average);
    check({SumMap::kSquare, SumFinalizer::kSquareRoot}, &Case::root);
  });
}

INSTANTIATE_TEST_SUITE_P(Isas, ApproximateEndOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
