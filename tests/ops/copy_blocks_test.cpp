// SPDX-License-Identifier: Apache-2.0
// Copies larger than the engine's tiles and than a single thread's share, and permutations around
// its tiles of 64 by 64 and of several short loops.

#include <gtest/gtest.h>

#include "core/engine/window/unfold.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"
#include "tests/support/unfold_case.h"

namespace dmlop {
namespace {

struct CopyCase {
  std::string name;
  Dims sizes;
  Dims from;  // strides
  Dims to;
};

const CopyCase kCopyCases[] = {
    {"TransposeJustBelowATile", {63, 64}, {1, 63}, {64, 1}},
    {"TransposeOneTile", {64, 64}, {1, 64}, {64, 1}},
    {"TransposeJustAboveATile", {65, 64}, {1, 65}, {64, 1}},
    {"TransposeSeveralTiles", {130, 129}, {1, 130}, {129, 1}},
    {"TransposeIntoGaps", {65, 130}, {1, 66}, {300, 2}},
    {"TransposeInBatches", {3, 65, 66}, {65 * 66, 1, 65}, {65 * 66, 66, 1}},
    {"RotateDimensions", {20, 30, 40}, {1, 20, 600}, {1200, 40, 1}},
    {"RotateWholeTiles", {11, 64, 64}, {64, 1, 704}, {4096, 64, 1}},
    {"RotateAroundTiles", {35, 33, 34}, {33, 1, 1155}, {1122, 34, 1}},
    {"ReverseShortLoops",
     {5, 3, 4, 7, 2, 9, 3, 11},
     {1, 5, 15, 60, 420, 840, 7560, 22680},
     {49896, 16632, 4158, 594, 297, 33, 11, 1}},
    {"ReversePairs",
     {301, 2, 2, 2, 2, 2, 2},
     {1, 301, 602, 1204, 2408, 4816, 9632},
     {64, 32, 16, 8, 4, 2, 1}},
    {"ReversePairsIntoGaps", {301, 2, 2, 2, 2, 2}, {32, 1, 2, 4, 8, 16}, {96, 48, 24, 12, 6, 3}},
    {"IntoThreeChannels", {20001, 3}, {1, 20001}, {3, 1}},
    {"IntoSevenChannels", {20001, 7}, {1, 20001}, {7, 1}},
    {"SwapShortRows", {90, 80, 3}, {3, 270, 1}, {240, 3, 1}},
    {"SwapShortRowsIntoGaps", {90, 80, 3}, {3, 270, 1}, {400, 5, 1}},
    {"EveryThirdTransposed", {90, 80}, {3, 270}, {80, 1}},
    {"PackedAboveOneThread", {400, 500}, {500, 1}, {500, 1}},
    {"RowsLongerThanATile", {3, 40000}, {40001, 1}, {40003, 1}},
    {"ManyShortRows", {40000, 5}, {7, 1}, {5, 1}},
    {"EveryOtherElement", {150000}, {2}, {1}},
    {"BroadcastRows", {300, 500}, {0, 1}, {500, 1}},
    {"BroadcastColumns", {300, 500}, {1, 0}, {500, 1}},
    {"BroadcastColumnsTransposed", {300, 500}, {1, 0}, {1, 300}},
    {"OneElementEverywhere", {150000}, {0}, {1}},
};

class CopyBlocks : public testing::TestWithParam<CopyCase> {};

TEST_P(CopyBlocks, AgreeWithReference) {
  int number = 0;
  for (const DataType type :
       {DataType::kUint8, DataType::kFloat16, DataType::kFloat32, DataType::kInt64}) {
    for (const bool scaled : {false, true}) {
      if (scaled && ByteWidth(type) == 8) continue;
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      TestTensor input(type, {GetParam().sizes, GetParam().from}, 1);
      FillRandomly(engine, input);
      const TestTensor output(type, {GetParam().sizes, GetParam().to}, 3);
      OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
      if (scaled) Set(desc, "ScaleBias", ScaleBias{-1.5f, 3.25f});
      OperatorCall call = MakeCall(desc, {input}, {output});
      ASSERT_TRUE(RunsLikeReference(call));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CopyBlocks, testing::ValuesIn(kCopyCases), CaseName<CopyCase>);

// Windows that move by several rows or columns, images that are cut, and small planes.
const UnfoldCase kUnfoldCases[] = {
    {"EveryOtherColumn",
     DataType::kUint16,
     {2, 3, 48, 102},
     {3, 5},
     {1, 2},
     {2, 1},
     {2, 3},
     {1, 4},
     {47, 53}},
    {"EvenRows",
     DataType::kFloat32,
     {3, 2, 40, 64},
     {7, 7},
     {2, 2},
     {1, 1},
     {3, 3},
     {3, 3},
     {20, 32}},
    {"LongerThanBlocks",
     DataType::kFloat32,
     {3, 2, 64, 64},
     {5, 5},
     {2, 2},
     {1, 1},
     {0, 0},
     {0, 0},
     {30, 30}},
    {"OddRows",
     DataType::kFloat32,
     {2, 3, 41, 63},
     {3, 5},
     {2, 2},
     {1, 1},
     {1, 2},
     {1, 2},
     {21, 32}},
    {"OneThird",
     DataType::kUint8,
     {2, 2, 130, 100},
     {4, 5},
     {2, 3},
     {1, 1},
     {1, 2},
     {2, 2},
     {65, 34}},
    {"ThreeRowsAtOnce",
     DataType::kUint16,
     {2, 2, 50, 70},
     {7, 3},
     {3, 1},
     {1, 2},
     {3, 3},
     {3, 2},
     {17, 71}},
    {"ManyRowsAtOnce",
     DataType::kInt64,
     {2, 2, 50, 90},
     {40, 3},
     {20, 1},
     {1, 1},
     {35, 1},
     {0, 1},
     {3, 90}},
    {"WideRows",
     DataType::kFloat32,
     {2, 2, 9, 3001},
     {3, 5},
     {1, 2},
     {1, 1},
     {1, 2},
     {1, 2},
     {9, 1501}},
    {"MoreTapsThanBlocks",
     DataType::kFloat32,
     {2, 3, 40, 30},
     {38, 29},
     {1, 2},
     {1, 1},
     {1, 3},
     {0, 1},
     {4, 3}},
    {"Dilated", DataType::kInt64, {2, 2, 45, 46}, {3, 3}, {2, 2}, {3, 2}, {3, 2}, {3, 2}, {23, 23}},
    {"MorePhasesThanRows",
     DataType::kFloat32,
     {4, 2, 2, 256},
     {9, 2},
     {3, 2},
     {1, 1},
     {9, 1},
     {9, 1},
     {4, 129}},
    // Planes whose images are cut into boxes.
    {"Boxes",
     DataType::kFloat32,
     {2, 2, 101, 131},
     {3, 5},
     {1, 1},
     {2, 1},
     {2, 2},
     {2, 2},
     {101, 131}},
    {"BoxesOfALine", DataType::kUint16, {3, 2, 30001}, {5}, {1}, {1}, {2}, {2}, {30001}},
    {"BoxesInPadding",
     DataType::kUint8,
     {2, 2, 60, 600},
     {9, 3},
     {1, 1},
     {50, 1},
     {200, 1},
     {200, 1},
     {60, 600}},
    {"Small", DataType::kFloat32, {3, 5, 7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {7, 7}},
    {"SmallAndStrided",
     DataType::kFloat16,
     {2, 3, 14, 15},
     {3, 4},
     {2, 3},
     {1, 1},
     {1, 2},
     {1, 2},
     {7, 6}},
    {"SmallLines", DataType::kUint8, {40, 7, 33}, {4}, {1}, {3}, {5}, {4}, {33}},
    {"SmallInPadding",
     DataType::kInt64,
     {2, 2, 3, 2},
     {5, 3},
     {1, 1},
     {3, 4},
     {9, 4},
     {9, 4},
     {9, 2}},
    {"SmallAndDeep",
     DataType::kUint8,
     {2, 3, 2, 4, 6, 5},
     {3, 1, 3, 3},
     {1, 2, 1, 1},
     {1, 1, 1, 1},
     {2, 0, 1, 1},
     {1, 1, 1, 1},
     {3, 3, 6, 5}},
};

class UnfoldBlocks : public testing::TestWithParam<UnfoldCase> {};

TEST_P(UnfoldBlocks, AgreeWithReference) {
  SCOPED_TRACE(CaseTrace(0));
  Engine engine = CaseEngine(0);
  OperatorCall call = UnfoldCall(GetParam(), 0, engine);
  ASSERT_TRUE(RunsLikeReference(call));
}

INSTANTIATE_TEST_SUITE_P(Shapes, UnfoldBlocks, testing::ValuesIn(kUnfoldCases),
                         CaseName<UnfoldCase>);

std::vector<UnfoldDim> DimsOf(const UnfoldCase& c, const Layout& input) {
  std::vector<UnfoldDim> dims;
  for (size_t d = 0; d < c.windows.size(); ++d) {
    dims.push_back(
        {{input.sizes[d + 2], c.windows[d], c.strides[d], c.dilations[d], c.start_padding[d]},
         c.blocks[d],
         input.strides[d + 2]});
  }
  return dims;
}

// By images where they pay, and always by moves.
TEST_P(UnfoldBlocks, BothWaysAgree) {
  Engine engine = CaseEngine(1);
  OperatorCall by_images = UnfoldCall(GetParam(), 3, engine);
  OperatorCall by_moves = by_images;
  const ConstTensorView input = by_images.inputs[0].view();
  const std::vector<UnfoldDim> dims = DimsOf(GetParam(), input.layout);
  TestTensor& images = by_images.outputs[0];
  TestTensor& moves = by_moves.outputs[0];
  if (UnfoldByImages(dims, input, images.mutable_view())) {
    UnfoldByMoves(dims, input, moves.mutable_view());
  }
  ASSERT_EQ(images.bytes(), moves.bytes());
}

// Such images would take 2^64 bytes.
TEST(UnfoldImages, HugeOnesAreNotMade) {
  const int64_t far = (int64_t{1} << 31) - 1;
  const UnfoldDim row{{far + 1, 2, 1, far}, 1, 0};
  const UnfoldDim column{{1, 1, 1, 1, 1 << 30}, 1 << 30, 0};
  std::byte element[8]{};
  const ConstTensorView input{element, DataType::kFloat64, {{1, 1, far + 1, 1}, {0, 0, 0, 0}}};
  const TensorView output{element, DataType::kFloat64, PackedLayout({1, 2, 1 << 30})};
  EXPECT_FALSE(UnfoldByImages({row, column}, input, output));
}

}  // namespace
}  // namespace dmlop
