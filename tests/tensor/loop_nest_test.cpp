// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/loop_nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/fuzz/random_desc.h"
#include "tests/reference/element.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

using Nest = LoopNest<2>;
using Offsets = std::vector<std::pair<int64_t, int64_t>>;  // of both operands, in order of visit

Nest RandomNest(Engine& engine) {
  const Dims sizes = RandomSizes(engine, static_cast<size_t>(UniformInt(engine, 1, 6)), 200);
  return {sizes,
          {RandomInputLayout(engine, sizes).strides, RandomInputLayout(engine, sizes).strides}};
}

Offsets VisitedByIndex(const Nest& nest) {
  Offsets offsets;
  reference::ForEachIndex(nest.sizes, [&](const Dims& index) {
    offsets.emplace_back(OffsetOf({nest.sizes, nest.strides[0]}, index),
                         OffsetOf({nest.sizes, nest.strides[1]}, index));
  });
  return offsets;
}

Offsets VisitedByWalk(const Nest& nest, int64_t start) {
  Offsets offsets;
  Walk<2> walk(nest, start);
  for (int64_t i = start; i < Product(nest.sizes); ++i, walk.Next()) {
    offsets.emplace_back(walk.offset(0), walk.offset(1));
  }
  return offsets;
}

Offsets Sorted(Offsets offsets) {
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

class RandomNests : public testing::Test {
 protected:
  // Calls check(engine, nest) with many nests.
  template <typename Check>
  static void ForEach(Check&& check) {
    for (int i = 0; i < 2000; ++i) {
      SCOPED_TRACE(CaseTrace(i));
      Engine engine = CaseEngine(i);
      const Nest nest = RandomNest(engine);
      check(engine, nest);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(RandomNests, WalkVisitsEveryIndexInOrderFromAnyStart) {
  ForEach([](Engine& engine, const Nest& nest) {
    const Offsets expected = VisitedByIndex(nest);
    const int start = UniformInt(engine, 0, static_cast<int>(expected.size()) - 1);
    ASSERT_EQ(VisitedByWalk(nest, 0), expected);
    ASSERT_EQ(VisitedByWalk(nest, start), Offsets(expected.begin() + start, expected.end()));
  });
}

TEST_F(RandomNests, MergingKeepsTheOrderOfVisits) {
  ForEach([](Engine&, const Nest& nest) {
    const Nest merged = Merged(nest);
    ASSERT_LE(merged.rank(), nest.rank());
    ASSERT_EQ(VisitedByIndex(merged), VisitedByIndex(nest));
  });
}

TEST_F(RandomNests, SortingVisitsTheSameWithFallingStrides) {
  ForEach([](Engine&, const Nest& nest) {
    const Nest sorted = SortedByStride(nest, 1);
    ASSERT_TRUE(
        std::is_sorted(sorted.strides[1].begin(), sorted.strides[1].end(), std::greater<>()));
    ASSERT_EQ(Sorted(VisitedByIndex(sorted)), Sorted(VisitedByIndex(nest)));
  });
}

TEST_F(RandomNests, WithoutALoopStaysAtItsFirstTurn) {
  ForEach([](Engine& engine, const Nest& nest) {
    const size_t d = static_cast<size_t>(UniformInt(engine, 0, static_cast<int>(nest.rank()) - 1));
    Nest first_turn = nest;
    first_turn.sizes[d] = 1;
    ASSERT_EQ(VisitedByIndex(Without(nest, d)), VisitedByIndex(first_turn));
  });
}

TEST(LoopNest, MergingFusesWhatBothOperandsWalkAsOne) {
  const Nest packed = {{4, 5, 6}, {Dims{30, 6, 1}, Dims{30, 6, 1}}};
  EXPECT_EQ(Merged(packed).sizes, (Dims{120}));
  const Nest padded = {{4, 5, 6}, {Dims{30, 6, 1}, Dims{35, 7, 1}}};
  EXPECT_EQ(Merged(padded).sizes, (Dims{20, 6}));
  const Nest broadcast = {{4, 5, 6}, {Dims{30, 6, 1}, Dims{0, 0, 1}}};
  EXPECT_EQ(Merged(broadcast).sizes, (Dims{20, 6}));
}

TEST(LoopNest, MergingDropsLoopsOfOneTurn) {
  const Nest nest = {{1, 4, 1}, {Dims{99, 3, 7}, Dims{5, 1, 0}}};
  EXPECT_EQ(Merged(nest).sizes, (Dims{4}));
}

}  // namespace
}  // namespace dmlop
