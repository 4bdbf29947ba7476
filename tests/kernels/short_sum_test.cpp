// SPDX-License-Identifier: Apache-2.0
// On every instruction set, sums of a few terms round as the exact sum does, or are reported as
// unresolved.

#include "core/kernels/reduce/approximate_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/kernel_cases.h"
#include "tests/kernels/sum_forms.h"
#include "tests/support/group_values.h"

namespace dmlop {
namespace {

// Elements of a few groups, with a gap after each row of `width` elements.
template <typename T>
struct Tile {
  static constexpr int64_t kGap = 3;

  Tile(Engine& engine, const FloatFamily& family, int64_t rows, int64_t columns)
      : width(columns), pitch(columns + kGap), elements(DrawRow<T>(family, engine, rows * pitch)) {
    elements.resize(static_cast<size_t>((rows - 1) * pitch + width));  // no gap after the last row
  }

  T at(int64_t row, int64_t column) const {
    return elements[static_cast<size_t>(row * pitch + column)];
  }

  std::vector<T> Row(int64_t row) const {
    const auto first = elements.begin() + row * pitch;
    return {first, first + width};
  }

  std::vector<T> Column(int64_t column, int64_t rows) const {
    std::vector<T> group;
    for (int64_t row = 0; row < rows; ++row) group.push_back(at(row, column));
    return group;
  }

  int64_t width, pitch;
  std::vector<T> elements;
};

template <typename T>
Results<T> SumRows(const Form& form, const Tile<T>& tile, int64_t rows) {
  Results<T> results(rows);
  ShortSumKernelsFor<T>(form.map, form.finalizer)
      .sum_rows(tile.elements.data(), tile.width, tile.pitch, rows, results.values.data(),
                results.unresolved.data());
  return results;
}

template <typename T>
Results<T> SumColumns(const Form& form, const Tile<T>& tile, int64_t rows) {
  Results<T> results(tile.width);
  ShortSumKernelsFor<T>(form.map, form.finalizer)
      .sum_columns(tile.elements.data(), rows, tile.pitch, tile.width, results.values.data(),
                   results.unresolved.data());
  return results;
}

template <typename T>
void ExpectRightUnlessUnresolved(const Form& form, const Results<T>& results, size_t i,
                                 const std::vector<T>& group) {
  if (results.unresolved[i]) {
    // Terms that may cancel each other are summed in bins, which resolves everything.
    EXPECT_NE(form.map, SumMap::kItself);
    return;
  }
  EXPECT_EQ(BitsOf(results.values[i]), BitsOf(RoundReal<T>(Exact(form, group))))
      << static_cast<int>(form.map) << " " << static_cast<int>(form.finalizer) << " " << i;
}

class ShortSumOnIsa : public OnIsa {};

TEST_P(ShortSumOnIsa, RowsRoundAsTheExactSum) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t count) {
      if (count > kMaxShortRow) return;
      const int64_t rows = UniformInt(engine, 1, 20);
      const Tile<T> tile(engine, family, rows, count);
      for (const Form& form : kForms) {
        const Results<T> results = SumRows(form, tile, rows);
        for (int64_t r = 0; r < rows; ++r) {
          ExpectRightUnlessUnresolved(form, results, static_cast<size_t>(r), tile.Row(r));
        }
      }
    });
  });
}

template <typename T>
void CheckColumns(Engine& engine, const FloatFamily& family, int64_t rows, int64_t columns) {
  const Tile<T> tile(engine, family, rows, columns);
  for (const Form& form : kForms) {
    const Results<T> results = SumColumns(form, tile, rows);
    for (int64_t c = 0; c < columns; ++c) {
      ExpectRightUnlessUnresolved(form, results, static_cast<size_t>(c), tile.Column(c, rows));
    }
  }
}

TEST_P(ShortSumOnIsa, ColumnsRoundAsTheExactSum) {
  ForFloatAndHalf([]<typename T>() {
    ForEachRow([](Engine& engine, const FloatFamily& family, int64_t columns) {
      if (columns > 300 && family.name != kFamilies[0].name) return;
      CheckColumns<T>(engine, family, UniformInt(engine, 1, kMaxShortColumn), columns);
    });
  });
}

// More columns than the kernel takes at once.
TEST_P(ShortSumOnIsa, ManyColumnsRoundAsTheExactSum) {
  ForFloatAndHalf([]<typename T>() {
    SCOPED_TRACE(CaseTrace(0));
    Engine engine = CaseEngine(0);
    CheckColumns<T>(engine, kFamilies[0], 20, 4111);
  });
}

// The sum of a group of ones and one such element.
template <typename T>
T SumWith(double special, const Form& form) {
  return FromDouble<T>(form.map == SumMap::kItself ? special : std::fabs(special));
}

// Repeats the groups side by side; every fourth one has an element that is not finite.
template <typename T>
void CheckManyHardColumns(Engine& engine, const std::vector<std::vector<T>>& groups,
                          int64_t count) {
  constexpr int64_t kColumns = 300;
  constexpr double kSpecials[] = {INFINITY, -INFINITY, NAN};
  const auto is_special = [](int64_t c) { return c % 4 == 3; };
  const auto special_of = [&](int64_t c) { return kSpecials[c / 4 % 3]; };
  const auto group_of = [&](int64_t c) { return static_cast<size_t>(c) % groups.size(); };
  Tile<T> tile(engine, kFamilies[0], count, kColumns);
  for (int64_t c = 0; c < kColumns; ++c) {
    for (int64_t i = 0; i < count; ++i) {
      const T special = FromDouble<T>(i == 0 ? special_of(c) : 1.0);
      const T element = groups[group_of(c)][static_cast<size_t>(i)];
      tile.elements[static_cast<size_t>(i * tile.pitch + c)] = is_special(c) ? special : element;
    }
  }
  for (const Form& form : kForms) {
    std::vector<T> sums;
    for (const auto& group : groups) sums.push_back(RoundReal<T>(Exact(form, group)));
    const Results<T> results = SumColumns(form, tile, count);
    for (int64_t c = 0; c < kColumns; ++c) {
      const size_t i = static_cast<size_t>(c);
      const T sum = is_special(c) ? SumWith<T>(special_of(c), form) : sums[group_of(c)];
      EXPECT_TRUE(results.unresolved[i] || BitsOf(results.values[i]) == BitsOf(sum)) << c;
      EXPECT_FALSE(results.unresolved[i] && is_special(c)) << c;
    }
  }
}

// Draws each group anew, and sums it as a row and as a column.
template <typename T>
void CheckHardGroups(Engine& engine, const GroupFamily& family, int64_t count) {
  constexpr int64_t kGroups = 11;
  Tile<T> rows(engine, kFamilies[0], kGroups, count);
  Tile<T> columns(engine, kFamilies[0], count, kGroups);
  std::vector<std::vector<T>> groups;
  for (int64_t g = 0; g < kGroups; ++g) {
    groups.emplace_back();
    for (const double value : family.draw(engine, static_cast<size_t>(count))) {
      const int64_t i = std::ssize(groups.back());
      groups.back().push_back(FromDouble<T>(value));
      rows.elements[static_cast<size_t>(g * rows.pitch + i)] = groups.back().back();
      columns.elements[static_cast<size_t>(i * columns.pitch + g)] = groups.back().back();
    }
  }
  for (const Form& form : kForms) {
    const Results<T> of_rows = SumRows(form, rows, kGroups);
    const Results<T> of_columns = SumColumns(form, columns, count);
    for (size_t g = 0; g < kGroups; ++g) {
      ExpectRightUnlessUnresolved(form, of_rows, g, groups[g]);
      ExpectRightUnlessUnresolved(form, of_columns, g, groups[g]);
    }
  }
  CheckManyHardColumns(engine, groups, count);
}

TEST_P(ShortSumOnIsa, HardGroupsRoundAsTheExactSum) {
  ForFloatAndHalf([]<typename T>() {
    int number = 0;
    for (const GroupFamily& family : GroupFamilies<T>()) {
      if (family.name.ends_with("Special")) continue;
      for (const int64_t count : {2, 3, 7, 16, 29, 100}) {
        SCOPED_TRACE(CaseTrace(number) + ", " + family.name + ", " + std::to_string(count));
        Engine engine = CaseEngine(number++);
        CheckHardGroups<T>(engine, family, count);
      }
    }
  });
}

// All groups consist of the same elements.
TEST_P(ShortSumOnIsa, RowsMayLieOnEachOther) {
  ForFloatAndHalf([]<typename T>() {
    for (const int64_t count : {1, 8, 16, 21}) {
      Engine engine = CaseEngine(0);
      Tile<T> tile(engine, kFamilies[0], 1, count);
      tile.pitch = 0;
      const Results<T> results = SumRows(kForms[0], tile, 40);
      for (size_t r = 0; r < 40; ++r) {
        ExpectRightUnlessUnresolved(kForms[0], results, r, tile.elements);
      }
    }
  });
}

// The result for `count` elements, all of which are `others` except the first.
template <typename T>
T SumOf(double first, double others, int64_t count, SumFinalizer finalizer) {
  Engine engine = CaseEngine(0);
  Tile<T> tile(engine, kFamilies[0], 1, count);
  std::fill(tile.elements.begin(), tile.elements.end(), FromDouble<T>(others));
  tile.elements[0] = FromDouble<T>(first);
  const SumMap map = finalizer == SumFinalizer::kSquareRoot ? SumMap::kSquare : SumMap::kItself;
  const Results<T> results = SumRows(Form{map, finalizer}, tile, 1);
  EXPECT_FALSE(results.unresolved[0]);
  return results.values[0];
}

TEST_P(ShortSumOnIsa, KeepsZerosInfinitiesAndNan) {
  const auto expect = [](auto actual, double expected) {
    EXPECT_EQ(BitsOf(actual), BitsOf(FromDouble<decltype(actual)>(expected)));
  };
  ForFloatAndHalf([&]<typename T>() {
    for (const int64_t count : {2, 7, 33, 64}) {
      for (const SumFinalizer finalizer : {SumFinalizer::kItself, SumFinalizer::kAverage}) {
        expect(SumOf<T>(-0.0, -0.0, count, finalizer), -0.0);
        expect(SumOf<T>(0.0, -0.0, count, finalizer), 0.0);
        expect(SumOf<T>(INFINITY, 1.0, count, finalizer), INFINITY);
        expect(SumOf<T>(-INFINITY, 1.0, count, finalizer), -INFINITY);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        for (const T result :
             {SumOf<T>(nan, 1.0, count, finalizer), SumOf<T>(-nan, 1.0, count, finalizer),
              SumOf<T>(INFINITY, -INFINITY, count, finalizer)}) {
          EXPECT_EQ(BitsOf(result), sizeof(T) == 2 ? 0x7E00u : 0x7FC00000u);
        }
      }
      expect(SumOf<T>(Format<T>::kMax, Format<T>::kMax, count, SumFinalizer::kItself), INFINITY);
      expect(SumOf<T>(-0.0, -0.0, count, SumFinalizer::kSquareRoot), 0.0);
      expect(SumOf<T>(-INFINITY, 1.0, count, SumFinalizer::kSquareRoot), INFINITY);
    }
  });
}

// NaN beside large elements in one row does not make other rows easier.
TEST_P(ShortSumOnIsa, NanTellsNothingOfOtherRows) {
  constexpr int64_t kRows = 16;
  for (const int64_t count : {17, 24, 40, 700}) {
    for (int64_t at = 0; at < kRows * 16; ++at) {
      Engine engine = CaseEngine(0);
      Tile<float> tile(engine, kFamilies[0], kRows, count);
      std::fill(tile.elements.begin(), tile.elements.end(), 1.0f);
      for (int64_t row = 0; row < kRows; ++row) {
        float* const x = &tile.elements[static_cast<size_t>(row * tile.pitch)];
        for (int64_t i = at % 8; i < 16; i += 8) x[i] = i < 8 ? 0x1p60f : 0x1p36f;
      }
      const int64_t nan_row = at / 16;
      tile.elements[static_cast<size_t>(nan_row * tile.pitch + at % 16)] = NAN;
      const Results<float> results = SumRows(kForms[0], tile, kRows);
      for (int64_t row = 0; row < kRows; ++row) {
        if (row == nan_row) continue;
        ExpectRightUnlessUnresolved(kForms[0], results, static_cast<size_t>(row), tile.Row(row));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ShortSumOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
