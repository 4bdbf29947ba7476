// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/layout.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <set>
#include <string>

#include "core/fuzz/random_desc.h"
#include "tests/reference/element.h"
#include "tests/support/case_name.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

struct StridesCase {
  std::string name;
  Dims sizes;
  Dims packed;
  Dims fortran;
};

const StridesCase kStridesCases[] = {
    {"Scalar", {1}, {1}, {1}},
    {"Matrix", {2, 3}, {3, 1}, {1, 2}},
    {"Cube", {2, 2, 3}, {6, 3, 1}, {1, 2, 4}},
    {"Image", {1, 1, 3, 5}, {15, 15, 5, 1}, {1, 1, 1, 3}},
    {"EightDimensions",
     {2, 1, 2, 1, 2, 1, 2, 3},
     {24, 24, 12, 12, 6, 6, 3, 1},
     {1, 2, 2, 4, 4, 8, 8, 16}},
};

class Strides : public testing::TestWithParam<StridesCase> {};

TEST_P(Strides, RunInBothOrders) {
  EXPECT_EQ(PackedStrides(GetParam().sizes), GetParam().packed);
  EXPECT_EQ(FortranStrides(GetParam().sizes), GetParam().fortran);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Strides, testing::ValuesIn(kStridesCases), CaseName<StridesCase>);

TEST(Layout, IndexOfCountsInRowMajorOrder) {
  EXPECT_EQ(IndexOf({2, 3}, 0), (Dims{0, 0}));
  EXPECT_EQ(IndexOf({2, 3}, 4), (Dims{1, 1}));
  EXPECT_EQ(IndexOf({3, 4, 5}, 59), (Dims{2, 3, 4}));
}

TEST(Layout, OffsetOfFollowsTheStrides) {
  EXPECT_EQ(OffsetOf(PackedLayout({2, 2, 3}), {1, 0, 1}), 7);
  EXPECT_EQ(OffsetOf({{2, 3}, {0, 1}}, {1, 2}), 2);
}

TEST(Layout, IsPackedIgnoresStridesOfSizeOne) {
  EXPECT_TRUE(IsPacked(PackedLayout({2, 3})));
  EXPECT_TRUE(IsPacked({{2, 1, 3}, {3, 99, 1}}));
  EXPECT_FALSE(IsPacked({{2, 3}, {1, 2}}));
  EXPECT_FALSE(IsPacked({{2, 3}, {4, 1}}));
  EXPECT_FALSE(IsPacked({{2, 3}, {0, 1}}));
}

TEST(Layout, StrideZeroOnSizeOneIsNoOverlap) {
  EXPECT_FALSE(HasOverlap({{1, 3}, {0, 1}}));
  EXPECT_TRUE(HasOverlap({{2, 3}, {0, 1}}));
}

// Rows begin between the elements of others.
TEST(Layout, InterleavedRowsAreNoOverlap) {
  EXPECT_FALSE(HasOverlap({{2, 3}, {3, 2}}));
  EXPECT_TRUE(HasOverlap({{2, 3}, {4, 2}}));
}

int64_t PeakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Too many combinations for a search, over an extent with more offsets than are kept at a time.
TEST(Layout, OverlapOfAWideSpreadIsFoundInLittleMemory) {
  const Dims sizes = Dims::Filled(8, 6);
  const int64_t before = PeakKilobytes();
  EXPECT_FALSE(HasOverlap(
      {sizes, {104200023, 96068492, 93289509, 90177011, 87920459, 85200006, 83461677, 83023262}}));
  EXPECT_TRUE(HasOverlap(
      {sizes, {100096167, 95145544, 94463403, 94218055, 90237846, 89670507, 87825738, 85413021}}));
  EXPECT_LT(PeakKilobytes() - before, 100'000);
}

// --- against brute force -------------------------------------------------------------------------

struct Offsets {
  std::set<int64_t> distinct;
  bool repeats = false;
};

Offsets OffsetsOf(const Layout& layout) {
  Offsets offsets;
  reference::ForEachIndex(layout.sizes, [&](const Dims& index) {
    offsets.repeats |= !offsets.distinct.insert(OffsetOf(layout, index)).second;
  });
  return offsets;
}

Layout RandomSmallLayout(Engine& engine) {
  Layout layout;
  for (int rank = UniformInt(engine, 1, 5); rank > 0; --rank) {
    layout.sizes.push_back(UniformInt(engine, 1, 4));
    layout.strides.push_back(UniformInt(engine, 0, 30));
  }
  return layout;
}

TEST(Layout, ExtentAndOverlapAgreeWithBruteForce) {
  int overlapping = 0;
  constexpr int kCases = 20000;
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const Layout layout = RandomSmallLayout(engine);
    const Offsets offsets = OffsetsOf(layout);
    ASSERT_EQ(Extent(layout), *offsets.distinct.rbegin() + 1);
    ASSERT_EQ(HasOverlap(layout), offsets.repeats);
    overlapping += offsets.repeats;
  }
  EXPECT_GT(overlapping, kCases / 10);
  EXPECT_LT(overlapping, kCases / 10 * 9);
}

TEST(Layout, IsPackedWhenOffsetsCountUp) {
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const Dims sizes = RandomSizes(engine, static_cast<size_t>(UniformInt(engine, 1, 8)), 60);
    const Layout layout = RandomOutputLayout(engine, sizes);
    int64_t next = 0;
    bool counts_up = true;
    reference::ForEachIndex(
        sizes, [&](const Dims& index) { counts_up &= OffsetOf(layout, index) == next++; });
    ASSERT_EQ(IsPacked(layout), counts_up);
    ASSERT_FALSE(HasOverlap(layout));
  }
}

}  // namespace
}  // namespace dmlop
