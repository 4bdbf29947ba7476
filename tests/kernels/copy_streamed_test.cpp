// SPDX-License-Identifier: Apache-2.0
// Outputs larger than the caches, which operators write past them.

#include <gtest/gtest.h>

#include "core/kernels/copy/stream.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"
#include "tests/support/unfold_case.h"

namespace dmlop {
namespace {

TestTensor RandomInput(DataType type, const Layout& layout) {
  TestTensor input(type, layout, 1);
  Engine engine = CaseEngine(0);
  FillRandomly(engine, input);
  return input;
}

struct StreamedCopy {
  std::string name;
  DataType type;
  Dims sizes;
  Dims from;  // strides
  Dims to;
};

const StreamedCopy kStreamedCopies[] = {
    {"Packed", DataType::kFloat64, {2100001}, {1}, {1}},
    {"RowsWithGaps", DataType::kFloat64, {4001, 527}, {530, 1}, {528, 1}},
    {"EveryOther", DataType::kFloat64, {2100001}, {2}, {1}},
    {"Transpose8", DataType::kFloat64, {1450, 1451}, {1, 1450}, {1451, 1}},
    {"Transpose4", DataType::kFloat32, {2049, 2050}, {1, 2049}, {2050, 1}},
    {"Transpose2", DataType::kFloat16, {2900, 2901}, {1, 2900}, {2904, 1}},
    {"Transpose1", DataType::kUint8, {4099, 4100}, {1, 4099}, {4100, 1}},
    {"PairsReversed",
     DataType::kUint16,
     {65541, 2, 2, 2, 2, 2, 2, 2},
     {1, 65541, 131082, 262164, 524328, 1048656, 2097312, 4194624},
     {128, 64, 32, 16, 8, 4, 2, 1}},
    {"BroadcastRows", DataType::kFloat64, {4001, 527}, {0, 1}, {527, 1}},
    {"BroadcastColumns", DataType::kFloat64, {4001, 527}, {1, 0}, {527, 1}},
    {"IntoThreeChannels",
     DataType::kFloat32,
     {2, 700001, 3},
     {2100003, 1, 700001},
     {2100003, 3, 1}},
    {"FromThreeChannels",
     DataType::kFloat32,
     {2, 3, 700001},
     {2100003, 1, 3},
     {2100003, 700001, 1}},
    {"Reversed",
     DataType::kFloat64,
     {6, 7, 8, 9, 10, 11, 7},
     {1, 6, 42, 336, 3024, 30240, 332640},
     {388080, 55440, 6930, 770, 77, 7, 1}},
};

class StreamedCopies : public testing::TestWithParam<StreamedCopy> {};

TEST_P(StreamedCopies, AgreeWithReference) {
  const StreamedCopy& copy = GetParam();
  const TestTensor output(copy.type, {copy.sizes, copy.to}, 3);
  ASSERT_GE(Product(copy.sizes) * static_cast<int64_t>(ByteWidth(copy.type)), kStreamBytes);
  OperatorCall call = MakeCall(OperatorNamed("ELEMENT_WISE_IDENTITY"),
                               {RandomInput(copy.type, {copy.sizes, copy.from})}, {output});
  ASSERT_TRUE(RunsLikeReference(call));
}

INSTANTIATE_TEST_SUITE_P(Shapes, StreamedCopies, testing::ValuesIn(kStreamedCopies),
                         CaseName<StreamedCopy>);

// Tensors of `rows` rows, one for each number of columns.
std::vector<TestTensor> Columns(DataType type, int64_t rows, const std::vector<int64_t>& columns,
                                bool random) {
  std::vector<TestTensor> tensors;
  for (const int64_t count : columns) {
    const Layout layout = PackedLayout({rows, count});
    tensors.push_back(random ? RandomInput(type, layout) : TestTensor(type, layout, count));
  }
  return tensors;
}

void ExpectJoinsAndSplits(DataType type, int64_t rows, const std::vector<int64_t>& columns) {
  int64_t sum = 0;
  for (const int64_t count : columns) sum += count;
  const Layout whole = PackedLayout({rows, sum});
  OperatorDesc join = OperatorNamed("JOIN");
  Set(join, "Axis", 1);
  Set(join, "InputTensors", std::vector<TensorDesc>(columns.size()));
  OperatorCall joined =
      MakeCall(join, Columns(type, rows, columns, true), {TestTensor(type, whole, 3)});
  ASSERT_TRUE(RunsLikeReference(joined));

  OperatorDesc split = OperatorNamed("SPLIT");
  Set(split, "Axis", 1);
  Set(split, "OutputTensors", std::vector<TensorDesc>(columns.size()));
  OperatorCall parts =
      MakeCall(split, {RandomInput(type, whole)}, Columns(type, rows, columns, false));
  ASSERT_TRUE(RunsLikeReference(parts));
}

struct StreamedParts {
  DataType type;
  int64_t rows;
  std::vector<int64_t> columns;
};

TEST(Streamed, JoinsAndSplits) {
  const StreamedParts all_parts[] = {
      {DataType::kFloat32, 280001, {3, 5, 7}},    {DataType::kFloat64, 1050001, {1, 1}},
      {DataType::kUint8, 600001, {3, 5, 7}},      {DataType::kUint8, 600001, {7, 5, 3}},
      {DataType::kFloat16, 300001, {3, 5, 7, 1}}, {DataType::kFloat64, 8001, {256, 33}},
      {DataType::kFloat64, 3, {700001, 500}}};
  for (const auto& [type, rows, columns] : all_parts) {
    if (IsInShare()) ExpectJoinsAndSplits(type, rows, columns);
  }
}

const UnfoldCase kStreamedUnfolds[] = {
    {"EveryOtherColumn",
     DataType::kInt64,
     {8, 15, 80, 102},
     {1, 3},
     {1, 2},
     {1, 1},
     {0, 1},
     {0, 1},
     {80, 51}},
    {"EveryThirdColumn",
     DataType::kUint16,
     {16, 60, 90, 120},
     {2, 2},
     {3, 3},
     {1, 1},
     {0, 0},
     {0, 0},
     {30, 40}},
    // Planes that are runs of the input, except for their padding.
    {"ShiftedPlanes",
     DataType::kUint8,
     {4, 7, 9, 43, 37},
     {3, 2, 5},
     {1, 1, 1},
     {2, 3, 1},
     {3, 1, 2},
     {0, 2, 2},
     {8, 43, 37}},
    // Planes that are runs of an image of every other row and element.
    {"PlanesOfPhases",
     DataType::kUint16,
     {10, 3, 121, 225},
     {3, 7},
     {2, 2},
     {1, 1},
     {1, 3},
     {1, 3},
     {61, 113}},
    {"PlanesOfColumnPhases",
     DataType::kInt64,
     {4, 15, 48, 102},
     {3, 5},
     {1, 2},
     {2, 1},
     {2, 3},
     {1, 4},
     {47, 53}},
    // Planes whose channels do not stay cached, strip by strip.
    {"StripsOfManyPlanes",
     DataType::kUint16,
     {4, 2, 5, 65, 77},
     {3, 3, 3},
     {1, 1, 1},
     {1, 2, 1},
     {1, 2, 1},
     {1, 2, 1},
     {5, 65, 77}},
    {"SmallPlanes",
     DataType::kFloat32,
     {80, 64, 7, 7},
     {3, 3},
     {1, 1},
     {1, 1},
     {1, 1},
     {1, 1},
     {7, 7}},
    {"SmallPlanesOfPhases",
     DataType::kUint8,
     {70, 70, 29, 31},
     {3, 5},
     {2, 2},
     {1, 1},
     {1, 2},
     {1, 2},
     {15, 16}},
    // Larger than the buffer into which small planes are packed.
    {"FewTaps",
     DataType::kUint8,
     {25, 14, 100, 120},
     {1, 2},
     {1, 1},
     {1, 1},
     {0, 1},
     {0, 0},
     {100, 120}},
    {"ManySmallPlanes",
     DataType::kInt64,
     {12, 10, 4, 9, 9},
     {3, 3, 3},
     {1, 1, 1},
     {2, 1, 1},
     {2, 1, 1},
     {2, 1, 1},
     {4, 9, 9}},
    {"LongLine", DataType::kInt64, {1, 1, 700001}, {3}, {1}, {400}, {500}, {300}, {700001}},
};

class StreamedUnfolds : public testing::TestWithParam<UnfoldCase> {};

TEST_P(StreamedUnfolds, AgreeWithReference) {
  SCOPED_TRACE(CaseTrace(0));
  Engine engine = CaseEngine(0);
  OperatorCall call = UnfoldCall(GetParam(), 3, engine);
  ASSERT_GE(call.outputs[0].mutable_view().element_bytes(), kStreamBytes);
  ASSERT_TRUE(RunsLikeReference(call));
}

INSTANTIATE_TEST_SUITE_P(Shapes, StreamedUnfolds, testing::ValuesIn(kStreamedUnfolds),
                         CaseName<UnfoldCase>);

}  // namespace
}  // namespace dmlop
