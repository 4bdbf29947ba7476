// Copies larger than the engine's tiles and than what it leaves to one thread, and permutations
// around its tiles of 64 by 64 and of several short loops.

#include <gtest/gtest.h>

#include "tests/support/case_name.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"

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
      IdentityDesc desc;
      if (scaled) desc.scale_bias = ScaleBias{-1.5f, 3.25f};
      OperatorCall call = MakeCall(desc, {input}, {output});
      ASSERT_TRUE(RunsLikeReference(call));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CopyBlocks, testing::ValuesIn(kCopyCases), CaseName<CopyCase>);

TEST(UnfoldBlocks, AgreeWithReference) {
  SCOPED_TRACE(CaseTrace(0));
  Engine engine = CaseEngine(0);
  UnfoldDesc desc;
  desc.window_sizes = {3, 5};
  desc.strides = {1, 2};
  desc.dilations = {2, 1};
  desc.start_padding = {2, 3};
  desc.end_padding = {1, 4};
  // Blocks {47, 53}.
  TestTensor input(DataType::kUint16, PackedLayout({2, 3, 48, 102}));
  FillRandomly(engine, input);
  const TestTensor output(DataType::kUint16, PackedLayout({2, 45, 47 * 53}));
  OperatorCall call = MakeCall(desc, {input}, {output});
  ASSERT_TRUE(RunsLikeReference(call));
}

}  // namespace
}  // namespace dmlop
