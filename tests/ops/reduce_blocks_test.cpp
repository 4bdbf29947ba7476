// SPDX-License-Identifier: Apache-2.0
// Groups so long that the engine divides them into blocks: the block boundaries must not show,
// whatever the number of threads and the layout.

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "core/tensor/visit_data_type.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/reference/element.h"
#include "tests/support/case_name.h"
#include "tests/support/random.h"
#include "tests/support/reduce_forms.h"
#include "tests/support/reduce_functions.h"

namespace dmlop {
namespace {

constexpr int64_t kBlock = 1 << 18;  // a block of FLOAT32, or a few shorter blocks

struct ShapeCase {
  std::string name;
  Dims sizes;
  std::vector<uint32_t> axes;
};

const ShapeCase kShapeCases[] = {
    {"OneLess", {kBlock - 1}, {0}},
    {"OneBlock", {kBlock}, {0}},
    {"OneMore", {kBlock + 1}, {0}},
    {"TwoBlocks", {2 * kBlock}, {0}},
    {"ThreeBlocksAndABit", {3 * kBlock + 5}, {0}},
    {"SeamInsideARow", {3, 300, 1000}, {1, 2}},
    {"Columns", {kBlock + 3, 2}, {0}},
    {"AroundTheKept", {300, 2, 300}, {0, 2}},
    {"FewTilesOfManyColumns", {300, 1500}, {0}},
};

// Columns that are moved or folded to fit vectors.
const ShapeCase kNarrowCases[] = {
    {"OneColumn", {1000, 1}, {0}},
    {"ThreeColumns", {1000, 3}, {0}},
    {"SevenColumnsInTheMiddle", {3, 777, 7}, {1}},
    {"ThirtyColumns", {700, 30}, {0}},
    {"FewTurns", {40, 20, 3}, {1}},
    {"FoldedWhole", {70, 3, 4, 5}, {0, 2}},
    {"FoldedRows", {70, 5, 6}, {0, 2}},
    {"FoldedRowsOfTwoTiles", {64, 180, 6}, {0, 2}},
    {"FoldedLoops", {70, 5, 6, 3, 4}, {0, 2, 4}},
    {"FoldedLoopsCut", {131, 3, 2, 4}, {0, 2}},
    {"FoldedWithoutColumns", {2, 500, 3}, {0, 1, 2}},
    {"TilesOfTwoLoops", {200, 20, 3}, {1}},
    {"TilesOfThreeLoops", {5, 20, 13, 2, 3}, {1, 3}},
    {"TilesOfRows", {19, 7, 40}, {2}},
    {"ShortRows", {1000, 3}, {1}},
    {"LongerRows", {300, 63}, {1}},
    {"RowsTakenWhole", {19, 1024}, {1}},
    {"RowsTakenInParts", {17, 1025}, {1}},
    {"ColumnsTakenWhole", {64, 200}, {0}},
    {"ColumnsOfTwoTilesTakenWhole", {20, 2100}, {0}},
    {"NarrowColumnsTakenWhole", {9, 64, 5}, {1}},
    {"EveryOtherAxis", {3, 4, 5, 4, 3, 4, 5, 4}, {0, 2, 4, 6}},
    {"EveryOtherAxisFromTheSecond", {3, 4, 5, 4, 3, 4, 5, 4}, {1, 3, 5, 7}},
};

// Values whose long products stay in range, and whose sums are mostly positive.
void FillNearOne(Engine& engine, TestTensor& tensor) {
  VisitDataType(Floats(), tensor.type(), [&]<typename T>() {
    reference::ForEachIndex(tensor.layout().sizes, [&](const Dims& index) {
      const double magnitude = Uniform(engine, 0.999, 1.001);
      const double x = OneIn(engine, 5) ? -magnitude : magnitude;
      const uint64_t bits = reference::ToBits(FromDouble<T>(x));
      reference::SetBitsAt(tensor.mutable_view(), index, bits);
    });
  });
}

class ReduceBlocks : public testing::TestWithParam<ShapeCase> {};

TEST_P(ReduceBlocks, AgreeWithReference) {
  int number = 0;
  for (const ReduceFunction function : AllReduceFunctions()) {
    if (!IsInShare()) continue;
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number++);
    TestTensor input(OneIn(engine, 2) ? DataType::kFloat32 : DataType::kFloat16,
                     PackedLayout(GetParam().sizes), UniformInt(engine, 0, 3));
    FillNearOne(engine, input);
    OperatorCall call = ReduceCall(function, GetParam().axes, input);
    ASSERT_TRUE(RunsLikeReference(call));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReduceBlocks, testing::ValuesIn(kShapeCases), CaseName<ShapeCase>);

// Draws the input, and runs every function over the axes.
void CheckNarrow(const ShapeCase& shape, const Dims& strides, int& number) {
  for (const ReduceFunction function : AllReduceFunctions()) {
    if (!IsInShare()) continue;
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number++);
    TestTensor input(OneIn(engine, 2) ? DataType::kFloat32 : DataType::kFloat16,
                     {shape.sizes, strides}, UniformInt(engine, 0, 3));
    FillNearOne(engine, input);
    OperatorCall call = ReduceCall(function, shape.axes, input);
    ASSERT_TRUE(RunsLikeReference(call));
  }
}

class ReduceNarrow : public testing::TestWithParam<ShapeCase> {};

// Layouts: packed, with gaps, padded, in reverse order, and with a stride of 0.
TEST_P(ReduceNarrow, AgreesWithReferenceInAnyLayout) {
  const Dims& sizes = GetParam().sizes;
  Dims apart = PackedStrides(sizes);
  for (int64_t& stride : apart) stride *= 2;
  Dims still = PackedStrides(sizes);
  still[0] = 0;
  int number = 0;
  for (const Dims& strides :
       {PackedStrides(sizes), apart, PaddedStrides(sizes), FortranStrides(sizes), still}) {
    ASSERT_NO_FATAL_FAILURE(CheckNarrow(GetParam(), strides, number));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReduceNarrow, testing::ValuesIn(kNarrowCases),
                         CaseName<ShapeCase>);

// Rows that begin one element apart, more than are taken together.
TEST(ReduceShared, GroupsMayShareElements) {
  int number = 0;
  CheckNarrow({"Shared", {1100, 300}, {1}}, {1, 1}, number);
}

// --- values that must be carried across a block boundary -----------------------------------------

struct SpotCase {
  std::string name;
  double everywhere;
  std::vector<std::pair<int64_t, double>> but_at;
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const SpotCase kSpotCases[] = {
    {"OnlyNegativeZeros", -0.0, {}},
    {"OneZeroIsPositive", -0.0, {{kBlock + 3, 0.0}}},
    {"OneNan", 1.0, {{2 * kBlock, kNan}}},
    {"OneNumber", kNan, {{kBlock, -2.0}}},
    {"TieAcrossBlocks", 1.0, {{kBlock - 1, 3.0}, {kBlock, 3.0}, {0, -3.0}, {2 * kBlock, -3.0}}},
    {"OppositeInfinities", 1.0, {{7, kInf}, {2 * kBlock + 1, -kInf}}},
    {"ZeroAndInfinity", 1.0, {{7, kInf}, {kBlock + 7, 0.0}}},
    {"OneInfinityAmongNegative", -kInf, {{kBlock, kInf}}},
    {"CancelsInTheLastBlock", 0.0, {{0, 3e38}, {kBlock, 1e-40}, {2 * kBlock, -3e38}}},
};

class ReduceSpots : public testing::TestWithParam<SpotCase> {};

TEST_P(ReduceSpots, AreSeenInEveryBlock) {
  TestTensor input(DataType::kFloat32, PackedLayout({2 * kBlock + 9}));
  const auto set = [&](int64_t i, double value) {
    reference::SetBitsAt(input.mutable_view(), {i}, BitsOf(FromDouble<float>(value)));
  };
  for (int64_t i = 0; i < input.layout().sizes[0]; ++i) set(i, GetParam().everywhere);
  for (const auto& [i, value] : GetParam().but_at) set(i, value);
  for (const ReduceFunction function : AllReduceFunctions()) {
    OperatorCall call = ReduceCall(function, {0}, input);
    EXPECT_TRUE(RunsLikeReference(call));
  }
}

INSTANTIATE_TEST_SUITE_P(Values, ReduceSpots, testing::ValuesIn(kSpotCases), CaseName<SpotCase>);

}  // namespace
}  // namespace dmlop
