// SPDX-License-Identifier: Apache-2.0
// Planted patterns, and the words and classes that they are told in.

#include "core/compare/wrong_elements.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/compare/comparison.h"
#include "core/tensor/element.h"
#include "tests/compare/tensor_of.h"
#include "tests/support/case_name.h"

namespace dmlop {
namespace {

// --- places --------------------------------------------------------------------------------------

struct WhereCase {
  std::string name;
  Dims sizes;
  std::function<bool(const Dims& index)> is_wrong;
  std::string box;
  std::string text;
};

class Pattern : public testing::TestWithParam<WhereCase> {};

TEST_P(Pattern, IsTold) {
  const WhereCase& c = GetParam();
  WrongElements wrong(Product(c.sizes));
  for (int64_t i = 0; i < Product(c.sizes); ++i) {
    if (c.is_wrong(IndexOf(c.sizes, i))) wrong.Add(i);
  }
  const Where where = WhereOf(c.sizes, wrong);
  EXPECT_EQ(where.box, c.box);
  EXPECT_EQ(where.text, c.text);
}

bool IsIn(int64_t x, int64_t begin, int64_t end) {
  return begin <= x && x < end;
}

// True for `part` in a thousand of the numbers, without a pattern.
bool IsRandom(int64_t number, uint64_t part) {
  return (static_cast<uint64_t>(number + 1) * 0x9E3779B97F4A7C15u >> 40) % 1000 < part;
}

const Dims kImages = {2, 8, 64, 96};

INSTANTIATE_TEST_SUITE_P(
    Places, Pattern,
    testing::ValuesIn(std::vector<WhereCase>{
        {"None", {3, 4}, [](const Dims&) { return false; }, "", ""},
        {"All", {3, 4}, [](const Dims&) { return true; }, "[*, *]", "every element"},
        {"One",
         {3, 4},
         [](const Dims& i) {
           return i == Dims{2, 1};
         },
         "[2, 1]",
         "one element"},
        {"Scalar", {1}, [](const Dims&) { return true; }, "[0]", "the only element"},
        {"Column", kImages, [](const Dims& i) { return i[3] == 55; }, "[*, *, *, 55]",
         "all have w = 55; every element there"},
        {"Channel", kImages, [](const Dims& i) { return i[1] == 7; }, "[*, 7, *, *]",
         "channel 7 only; every element there"},
        {"ChannelOfVolumes",
         {2, 4, 2, 2, 2},
         [](const Dims& i) { return i[1] == 1 && i[2] == 0; },
         "[*, 1, 0, *, *]",
         "all have c = 1, d = 0; every element there"},
        {"ChannelOfAnImage",
         {2, 3, 8, 8},
         [](const Dims& i) { return i[0] == 1 && i[1] == 2 && IsIn(i[2], 2, 4); },
         "[1, 2, 2..3, *]",
         "all have n = 1, c = 2, h in 2..3; every element there"},
        {"EachLastRowOfTiles", kImages, [](const Dims& i) { return i[2] % 16 == 15; },
         "[*, *, 15..63, *]", "h mod 16 = 15; every element there"},
        {"LastOfAnAxis",
         {50, 48},
         [](const Dims& i) { return i[1] >= 24; },
         "[*, 24..47]",
         "the last 24 of axis 1; every element there"},
        {"FirstOfAnAxis",
         {50, 48, 2},
         [](const Dims& i) { return i[0] < 7; },
         "[0..6, *, *]",
         "the first 7 of axis 0; every element there"},
        {"FewOfAnAxis",
         {50, 48},
         [](const Dims& i) { return i[1] == 3 || IsIn(i[1], 9, 12); },
         "[*, 3..11]",
         "axis 1 in 3, 9..11; every element there"},
        {"ManyOfAnAxis",
         {50, 48},
         [](const Dims& i) {
           return std::set<int64_t>{1, 3, 4, 6, 16, 18, 19, 32, 33, 39}.contains(i[0]);
         },
         "[1..39, *]",
         "10 of 50 values of axis 0; every element there"},
        {"Lanes",
         {4, 96},
         [](const Dims& i) { return i[1] % 32 == 9 || IsIn(i[1] % 32, 3, 5); },
         "[*, 3..73]",
         "axis 1 mod 32 in 3..4, 9; every element there"},
        {"HalvesOfBlocks",
         {4, 256},
         [](const Dims& i) { return i[1] % 64 >= 32; },
         "[*, 32..255]",
         "axis 1 mod 64 in 32..63; every element there"},
        {"Tile",
         {1, 1, 64, 96},
         [](const Dims& i) { return IsIn(i[2], 32, 48) && IsIn(i[3], 64, 96); },
         "[0, 0, 32..47, 64..95]",
         "h in 32..47, the last 32 of w, a tile of 16 x 32 in h, w; every element there"},
        {"Tiles", kImages,
         [](const Dims& i) { return i[0] == 1 && i[1] == 1 + i[2] / 16 && i[3] / 32 == i[1] % 2; },
         "[1, 1..4, *, 0..63]",
         "all have n = 1, c in 1..4, the first 64 of w, 4 tiles of 16 x 32 in h, w; 12 % of the "
         "elements there"},
        {"Checkerboard",
         {64, 64},
         [](const Dims& i) { return (i[0] / 8 + i[1] / 8) % 2 == 1; },
         "[*, *]",
         "32 tiles of 8 x 8 in axis 0, axis 1; 50 % of the elements there"},
        {"EverySeventh",
         {5, 3, 64},
         [](const Dims& i) {
           return OffsetOf(PackedLayout({5, 3, 64}), i) % 7 == 3;
         },
         "[*, *, *]",
         "every 7th element in row-major order, from 3 to 955"},
        {"EveryThird",
         {1000},
         [](const Dims& i) { return i[0] % 3 == 1; },
         "[1..997]",
         "axis 0 mod 3 = 1; every element there"},
        {"Tail",
         {8, 16, 16},
         [](const Dims& i) {
           return OffsetOf(PackedLayout({8, 16, 16}), i) >= 2005;
         },
         "[7, 13..15, *]",
         "the last 43 elements in row-major order"},
        {"Middle",
         {8, 64},
         [](const Dims& i) { return IsIn(64 * i[0] + i[1], 70, 200); },
         "[1..3, *]",
         "elements 70..199 in row-major order"},
    }),
    CaseName<WhereCase>);

TEST(Where, TellsTheShareOfThePlaces) {
  const Dims sizes = {50, 6, 10};
  for (const auto& [channel, text] :
       {std::pair(3, "all have axis 1 = 3; "), std::pair(-1, "spread over ")}) {
    WrongElements wrong(Product(sizes));
    for (int64_t i = 0; i < Product(sizes); ++i) {
      if (IsRandom(i, 800) && (channel < 0 || i / 10 % 6 == channel)) wrong.Add(i);
    }
    const double share = 100.0 * static_cast<double>(wrong.count()) / (channel < 0 ? 3000 : 500);
    const std::string start = fmt::format("{}{:.2g} % of the elements", text, share);
    EXPECT_TRUE(WhereOf(sizes, wrong).text.starts_with(start)) << WhereOf(sizes, wrong).text;
  }
}

// --- values --------------------------------------------------------------------------------------

using Counts = std::vector<std::pair<std::string, int64_t>>;

template <typename T>
Counts ClassesOfValues(const std::vector<T>& actual, const std::vector<T>& expected,
                       const Dims& sizes) {
  ConstTensorView a = ViewOf(actual);
  ConstTensorView e = ViewOf(expected);
  a.layout = e.layout = PackedLayout(sizes);
  Counts counts;
  for (const ValueClass& c : Compare(a, e, {}, {.is_located = true}).classes) {
    counts.emplace_back(c.id, c.count);
  }
  return counts;
}

// Numbers without a pattern, from -2 to 2 and not near 0.
template <typename T>
std::vector<T> Numbers(size_t count) {
  std::vector<T> numbers;
  uint64_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double number = 0.25 + static_cast<double>(state >> 40) * 0x1p-24 * 1.75;
    numbers.push_back(FromDouble<T>(state >> 63 == 0 ? number : -number));
  }
  return numbers;
}

template <typename T>
struct Planted {
  std::string name;
  std::function<void(const std::vector<T>& expected, std::vector<T>& actual)> plant;
  Counts classes;
};

template <typename T>
void CheckClasses(const std::vector<Planted<T>>& cases) {
  for (const Planted<T>& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<T> expected = Numbers<T>(40 * 50);
    std::vector<T> actual = expected;
    c.plant(expected, actual);
    EXPECT_EQ(ClassesOfValues(actual, expected, {40, 50}), c.classes);
  }
}

using Floats32 = std::vector<float>;
constexpr float kLeastNormal = std::numeric_limits<float>::min();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Applies a function to the elements [100, 200).
auto InARange(const std::function<float(float)>& function) {
  return [function](const Floats32& e, Floats32& a) {
    std::transform(e.begin() + 100, e.begin() + 200, a.begin() + 100, function);
  };
}

TEST(ValueClasses, OfFloats) {
  const auto shifted = [](const Floats32& e, Floats32& a) {  // by a row and two columns
    std::copy(e.begin(), e.end() - 52, a.begin() + 52);
  };
  CheckClasses<float>({
      {"Zeros", InARange([](float) { return 0.0f; }), {{"zero", 100}}},
      {"Negative", InARange([](float x) { return -x; }), {{"negated", 100}}},
      {"Nan", InARange([](float) { return kNan; }), {{"nan-for-number", 100}}},
      {"Infinity", InARange([](float) { return kInfinity; }), {{"infinity-for-number", 100}}},
      {"Pattern",
       InARange([](float) { return std::bit_cast<float>(0xCDCDCDCD); }),
       {{"pattern", 100}}},
      {"OneValue", InARange([](float) { return 3.0f; }), {{"pattern", 100}}},
      {"Difference", InARange([](float x) { return x + 0.37f; }), {{"constant-difference", 100}}},
      {"Factor", InARange([](float x) { return x * 0.37f; }), {{"constant-factor", 100}}},
      {"TowardZero",
       InARange([](float x) { return std::nextafter(x, 0.0f); }),
       {{"toward-zero", 100}}},
      {"AwayFromZero",
       InARange([](float x) { return std::nextafter(x, 9 * x); }),
       {{"away-from-zero", 100}}},
      {"TooLarge", InARange([](float x) { return std::nextafter(x, 9.0f); }), {{"too-large", 100}}},
      {"TooSmall",
       InARange([](float x) { return std::nextafter(x, -9.0f); }),
       {{"too-small", 100}}},
      {"Shifted", shifted, {{"shifted", 39 * 48}}},
  });
}

TEST(ValueClasses, OfSeveralKinds) {
  Floats32 expected = Numbers<float>(600);
  std::fill_n(expected.begin(), 10, kLeastNormal / 3);
  std::fill_n(expected.begin() + 10, 20, kNan);
  std::fill_n(expected.begin() + 30, 30, kInfinity);
  Floats32 actual = expected;
  std::fill_n(actual.begin(), 60, 0.0f);
  std::fill_n(actual.begin() + 60, 40, kNan);
  std::fill_n(actual.begin() + 100, 50, -kInfinity);
  std::fill_n(actual.begin() + 150, 5, 0.0f);
  std::fill_n(actual.begin() + 155, 6, std::bit_cast<float>(0xABABABABu));
  EXPECT_EQ(ClassesOfValues(actual, expected, {600}), (Counts{{"flush-subnormals", 10},
                                                              {"nan-for-number", 40},
                                                              {"number-for-nan", 20},
                                                              {"infinity-for-number", 50},
                                                              {"number-for-infinity", 30},
                                                              {"zero", 5},
                                                              {"pattern", 6}}));
}

TEST(ValueClasses, OfIntegers) {
  std::vector<int8_t> expected(1000);
  std::iota(expected.begin(), expected.end(), int8_t{-100});
  std::vector<int8_t> actual = expected;
  for (size_t i = 0; i < 256; ++i)
    actual[i] = static_cast<int8_t>(std::min(126, actual[i] + 0) + 1);
  EXPECT_EQ(ClassesOfValues(actual, expected, {1000}),
            (Counts{{"zero", 1}, {"constant-difference", 254}}));
  std::vector<int32_t> hundreds(37);
  std::iota(hundreds.begin(), hundreds.end(), 80);
  std::vector<int32_t> next = hundreds, doubled = hundreds;
  for (int32_t& number : next) ++number;  // which is 1.01 times each, rounded
  for (int32_t& number : doubled) number *= 2;
  EXPECT_EQ(ClassesOfValues(next, hundreds, {37}), (Counts{{"constant-difference", 37}}));
  EXPECT_EQ(ClassesOfValues(doubled, hundreds, {37}), (Counts{{"constant-factor", 37}}));
  std::vector<uint64_t> large(100, uint64_t{1} << 63);
  std::vector<uint64_t> larger(100, (uint64_t{1} << 63) + 7);
  EXPECT_EQ(ClassesOfValues(larger, large, {100}), (Counts{{"pattern", 100}}));
}

// Expected values are rounded to the actual type before they are judged.
TEST(ValueClasses, OfAnotherFloatType) {
  const std::vector<float> expected = Numbers<float>(100);
  std::vector<Half> actual;
  for (const float x : expected) actual.push_back(ToHalf(-x));
  const auto classes = Compare(ViewOf(actual), ViewOf(expected), {}, {.is_located = true}).classes;
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(classes[0].id, "negated");
  EXPECT_EQ(classes[0].count, 100);
}

// Noise has no direction, and no difference in common.
TEST(ValueClasses, OfNoise) {
  Floats32 expected = Numbers<float>(1000);
  Floats32 actual = expected;
  for (size_t i = 0; i < actual.size(); ++i) {
    actual[i] = std::nextafter(actual[i], IsRandom(static_cast<int64_t>(i), 500) ? 9.0f : -9.0f);
  }
  EXPECT_EQ(ClassesOfValues(actual, expected, {1000}), Counts());
}

// The wrong elements are those that do not pass, whatever the layout and the number of threads.
TEST(WrongElementsOfAComparison, AreThoseThatDiffer) {
  const Dims sizes = {7, 300, 5};
  Floats32 expected = Numbers<float>(static_cast<size_t>(Product(sizes)));
  Floats32 actual = expected;
  for (size_t i = 0; i < actual.size(); ++i) {
    actual[i] += 0.25f * static_cast<float>(i % 5) * static_cast<float>(i % 3 == 0);
  }
  ConstTensorView packed = ViewOf(actual);
  packed.layout = PackedLayout(sizes);
  ConstTensorView reference = ViewOf(expected);
  reference.layout = PackedLayout(sizes);
  const TestTensor turned = CopyInto({sizes, FortranStrides(sizes)}, packed);
  for (const ConstTensorView& view : {packed, turned.view()}) {
    ForEachThreadCount([&](int) {
      WrongElements wrong(Product(sizes));
      const Comparison comparison = Compare(view, reference, {.absolute = 0.6}, {.wrong = &wrong});
      EXPECT_EQ(wrong.count(), comparison.difference_count);
      for (int64_t i = 0; i < Product(sizes); ++i) {
        ASSERT_EQ(wrong.Contains(i), i % 5 > 2 && i % 3 == 0) << i;
      }
    });
  }
}

}  // namespace
}  // namespace dmlop
