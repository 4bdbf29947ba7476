// SPDX-License-Identifier: Apache-2.0
// Watched loops report all of their work, and give the same results.

#include "core/base/progress.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>

#include "core/base/parallel.h"
#include "core/ops/pieces.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"

namespace dmlop {
namespace {

constexpr int64_t kRows = 1 << 10;
constexpr int64_t kColumns = 3000;  // 12 MB of FLOAT32

TestTensor Filled(const Dims& sizes) {
  TestTensor tensor(DataType::kFloat32, PackedLayout(sizes));
  float* elements = tensor.mutable_view().elements<float>();
  for (int64_t i = 0; i < Product(sizes); ++i) elements[i] = static_cast<float>(i % 1021) / 64;
  return tensor;
}

TestTensor Empty(const Dims& sizes) {
  return {DataType::kFloat32, PackedLayout(sizes)};
}

OperatorCall Reduce(ReduceFunction function, std::vector<uint32_t> axes) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Dims sizes{kRows, kColumns};
  for (const uint32_t axis : axes) sizes[axis] = 1;
  Set(desc, "Axes", std::move(axes));
  return MakeCall(desc, {Filled({kRows, kColumns})}, {Empty(sizes)});
}

OperatorCall Join(uint32_t axis, Dims part, Dims whole) {
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "Axis", axis);
  Set(desc, "InputTensors", std::vector<TensorDesc>(2));
  return MakeCall(desc, {Filled(part), Filled(part)}, {Empty(whole)});
}

OperatorCall Split(uint32_t axis, Dims part) {
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "Axis", axis);
  Set(desc, "OutputTensors", std::vector<TensorDesc>(2));
  return MakeCall(desc, {Filled({kRows, kColumns})}, {Empty(part), Empty(part)});
}

OperatorCall Identity() {
  return MakeCall(OperatorNamed("ELEMENT_WISE_IDENTITY"), {Filled({kRows, kColumns})},
                  {Empty({kRows, kColumns})});
}

OperatorCall Transposition() {
  OperatorCall call = Identity();
  TestTensor& input = call.inputs[0];
  const TestTensor turned(DataType::kFloat32, {{kRows, kColumns}, {1, kRows}});
  TestTensor copy = turned;
  CopyElements(input, copy);
  return MakeCall(OperatorNamed("ELEMENT_WISE_IDENTITY"), {copy}, {Empty({kRows, kColumns})});
}

OperatorCall Unfold() {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "WindowSizes", {2, 2});
  Set(desc, "Strides", {1, 1});
  Set(desc, "Dilations", {1, 1});
  Set(desc, "StartPadding", {0, 0});
  Set(desc, "EndPadding", {0, 0});
  return MakeCall(desc, {Filled({1, 1, 1025, 1025})}, {Empty({1, 4, 1 << 20})});
}

struct ProgressCase {
  std::string name;
  std::function<OperatorCall()> make;
};

std::vector<ProgressCase> ProgressCases() {
  return {
      {"SUM_rows", [] { return Reduce(ReduceFunction::kSum, {1}); }},
      {"SUM_columns", [] { return Reduce(ReduceFunction::kSum, {0}); }},
      {"SUM_all",
       [] {
         return Reduce(ReduceFunction::kSum, {0, 1});
       }},
      {"MAX_all",
       [] {
         return Reduce(ReduceFunction::kMax, {0, 1});
       }},
      {"LOG_SUM_EXP_rows", [] { return Reduce(ReduceFunction::kLogSumExp, {1}); }},
      {"MULTIPLY_columns", [] { return Reduce(ReduceFunction::kMultiply, {0}); }},
      {"JOIN_rows",
       [] {
         return Join(0, {kRows, kColumns}, {2 * kRows, kColumns});
       }},
      {"JOIN_short_columns",
       [] {
         return Join(1, {kColumns * 256, 3}, {kColumns * 256, 6});
       }},
      {"SPLIT_rows",
       [] {
         return Split(0, {kRows / 2, kColumns});
       }},
      {"SPLIT_columns",
       [] {
         return Split(1, {kRows, kColumns / 2});
       }},
      {"IDENTITY", Identity},
      {"IDENTITY_transposed", Transposition},
      {"UNFOLD", Unfold},
  };
}

class ProgressTest : public testing::TestWithParam<ProgressCase> {};

TEST_P(ProgressTest, LoopsSayAllOfWhatTheyDo) {
  OperatorCall unwatched = GetParam().make();
  unwatched.Run();
  const int before = ThreadCount();
  for (const int threads : {1, 3}) {
    SetThreadCount(threads);
    OperatorCall call = GetParam().make();
    const int64_t expected = WorkBytes(call.desc);
    std::mutex mutex;
    int steps = 0;
    WatchWork([&](const Work& work) {
      const std::lock_guard lock(mutex);
      ++steps;
      EXPECT_EQ(work.what(), "it");
      EXPECT_LE(work.done_bytes(), work.total_bytes());
    });
    {
      const Work work("it", expected);
      call.Run();
      EXPECT_EQ(work.done_bytes(), work.total_bytes());
      EXPECT_GE(work.total_bytes(), expected);
    }
    WatchWork(nullptr);
    EXPECT_GE(steps, expected / (4 * kStepBytes));
    EXPECT_FALSE(IsWatched());
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      EXPECT_TRUE(HaveSameElements(call.outputs[i], unwatched.outputs[i]));
    }
  }
  SetThreadCount(before);
}

INSTANTIATE_TEST_SUITE_P(Operators, ProgressTest, testing::ValuesIn(ProgressCases()),
                         CaseName<ProgressCase>);

TEST(Work, IsSilentWithoutAWatcher) {
  const Work work("it", 10);
  FindWork(20);
  AddDone(5);
  EXPECT_FALSE(IsWatched());
  EXPECT_EQ(work.done_bytes(), 0);
  EXPECT_EQ(work.total_bytes(), 10);
}

}  // namespace
}  // namespace dmlop
