// SPDX-License-Identifier: Apache-2.0
// The worked examples of the reference pages for operators that move data, and vectors derived from
// their rules.

#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/literal.h"
#include "tests/support/operator_call.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

constexpr DataType kFloat = DataType::kFloat32;

// 1, 2, ... or from another start.
std::vector<double> Counting(size_t count, double first = 1) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// An output before anything is written to it.
TestTensor Blank(const Literal& literal) {
  Literal blank = literal;
  blank.memory.assign(literal.memory.size(), 99);
  return ToTensor(blank);
}

std::vector<TestTensor> ToTensors(const std::vector<Literal>& literals) {
  std::vector<TestTensor> tensors;
  for (const Literal& literal : literals) tensors.push_back(ToTensor(literal));
  return tensors;
}

// Runs the operator from `inputs` to `outputs`; gaps of the outputs hold 99.
void ExpectMoves(const OperatorDesc& desc, const std::vector<Literal>& inputs,
                 const std::vector<Literal>& outputs) {
  std::vector<TestTensor> blanks;
  for (const Literal& output : outputs) blanks.push_back(Blank(output));
  OperatorCall call = MakeCall(desc, ToTensors(inputs), blanks);
  call.Run();
  EXPECT_TRUE(OutputsMatchReference(call));
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(MemoryOf(call.outputs[i]), MemoryOf(ToTensor(outputs[i]))) << "output " << i;
  }
}

// --- IDENTITY ------------------------------------------------------------------------------------

struct IdentityExample {
  std::string name;
  Literal input;
  std::optional<ScaleBias> scale_bias;
  Literal output;
};

const double kFusedInput = FromFloatBits(0xC116EDC6);
const ScaleBias kFusedFactors = {static_cast<float>(FromFloatBits(0x4000EF0E)),
                                 static_cast<float>(FromFloatBits(0xBFAC1DC6))};

const IdentityExample kIdentityExamples[] = {
    {"ScaleAndBias", {kFloat, {3}, {1, 2, 3}}, ScaleBias{2, 10}, {kFloat, {3}, {12, 14, 16}}},
    {"Transpose",
     {kFloat, {2, 3}, {1, 4, 2, 5, 3, 6}, {1, 2}},
     std::nullopt,
     {kFloat, {2, 3}, {1, 2, 3, 4, 5, 6}}},
    {"BroadcastRows",
     {kFloat, {2, 3}, {7, 8, 9}, {0, 1}},
     std::nullopt,
     {kFloat, {2, 3}, {7, 8, 9, 7, 8, 9}}},
    {"Unpad",
     {kFloat, {2, 3}, {1, 2, 3, -1, -1, 4, 5, 6}, {5, 1}},
     std::nullopt,
     {kFloat, {2, 3}, {1, 2, 3, 4, 5, 6}}},
    {"Pad",
     {kFloat, {2, 3}, {1, 2, 3, 4, 5, 6}},
     std::nullopt,
     {kFloat, {2, 3}, {1, 2, 3, 99, 99, 4, 5, 6}, {5, 1}}},
    {"NegateInt8Clamps",
     {DataType::kInt8, {3}, {5, -128, 0}},
     ScaleBias{-1, 0},
     {DataType::kInt8, {3}, {-5, 127, 0}}},
    {"OneRounding",
     {kFloat, {1}, {kFusedInput}},
     kFusedFactors,
     {kFloat, {1}, {FromFloatBits(0xC1A2C983)}}},
    {"ScaleOfOneIsArithmetic",
     {kFloat, {2}, {-0.0, -2}},
     ScaleBias{1, 0},
     {kFloat, {2}, {0.0, -2}}},
};

class IdentityExamples : public testing::TestWithParam<IdentityExample> {};

TEST_P(IdentityExamples, Hold) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "ScaleBias", GetParam().scale_bias);
  ExpectMoves(desc, {GetParam().input}, {GetParam().output});
}

INSTANTIATE_TEST_SUITE_P(Pages, IdentityExamples, testing::ValuesIn(kIdentityExamples),
                         CaseName<IdentityExample>);

// --- JOIN ----------------------------------------------------------------------------------------

struct JoinExample {
  std::string name;
  uint32_t axis;
  std::vector<Literal> inputs;
  Literal output;
};

const std::vector<Literal> kSquares = {{kFloat, {1, 1, 2, 2}, {1, 2, 3, 4}},
                                       {kFloat, {1, 1, 2, 2}, {5, 6, 7, 8}},
                                       {kFloat, {1, 1, 2, 2}, {9, 10, 11, 12}}};

const JoinExample kJoinExamples[] = {
    {"DifferentWidths",
     3,
     {{kFloat, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}},
      {kFloat, {1, 1, 2, 4}, {7, 8, 9, 10, 11, 12, 13, 14}}},
     {kFloat, {1, 1, 2, 7}, {1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11, 12, 13, 14}}},
    {"Axis0", 0, kSquares, {kFloat, {3, 1, 2, 2}, Counting(12)}},
    {"Axis1", 1, kSquares, {kFloat, {1, 3, 2, 2}, Counting(12)}},
    {"Axis2", 2, kSquares, {kFloat, {1, 1, 6, 2}, Counting(12)}},
    {"Axis3", 3, kSquares, {kFloat, {1, 1, 2, 6}, {1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12}}},
    {"Model",
     0,
     {{kFloat, {3}, {1, 2, 3}}, {kFloat, {2}, {100, 115}}, {kFloat, {5}, {5, 6, 7, 8, 9}}},
     {kFloat, {10}, {1, 2, 3, 100, 115, 5, 6, 7, 8, 9}}},
    {"OneInputIsCopied", 1, {kSquares[1]}, kSquares[1]},
};

class JoinExamples : public testing::TestWithParam<JoinExample> {};

TEST_P(JoinExamples, Hold) {
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "Axis", GetParam().axis);
  Set(desc, "InputTensors", std::vector<TensorDesc>(GetParam().inputs.size()));
  ExpectMoves(desc, GetParam().inputs, {GetParam().output});
}

INSTANTIATE_TEST_SUITE_P(Pages, JoinExamples, testing::ValuesIn(kJoinExamples),
                         CaseName<JoinExample>);

// --- SPLIT ---------------------------------------------------------------------------------------

struct SplitExample {
  std::string name;
  uint32_t axis;
  Literal input;
  std::vector<Literal> outputs;
};

const Literal kSixRows = {kFloat, {1, 1, 6, 2}, Counting(12)};

const SplitExample kSplitExamples[] = {
    {"Axis2",
     2,
     kSixRows,
     {{kFloat, {1, 1, 2, 2}, {1, 2, 3, 4}},
      {kFloat, {1, 1, 1, 2}, {5, 6}},
      {kFloat, {1, 1, 3, 2}, {7, 8, 9, 10, 11, 12}}}},
    {"Axis3",
     3,
     kSixRows,
     {{kFloat, {1, 1, 6, 1}, {1, 3, 5, 7, 9, 11}}, {kFloat, {1, 1, 6, 1}, {2, 4, 6, 8, 10, 12}}}},
    {"Model",
     0,
     {kFloat, {6}, Counting(6)},
     {{kFloat, {2}, {1, 2}}, {kFloat, {2}, {3, 4}}, {kFloat, {2}, {5, 6}}}},
    {"OneOutputIsACopy", 2, kSixRows, {kSixRows}},
};

class SplitExamples : public testing::TestWithParam<SplitExample> {};

TEST_P(SplitExamples, Hold) {
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "Axis", GetParam().axis);
  Set(desc, "OutputTensors", std::vector<TensorDesc>(GetParam().outputs.size()));
  ExpectMoves(desc, {GetParam().input}, GetParam().outputs);
}

INSTANTIATE_TEST_SUITE_P(Pages, SplitExamples, testing::ValuesIn(kSplitExamples),
                         CaseName<SplitExample>);

// --- UNFOLD --------------------------------------------------------------------------------------

struct UnfoldExample {
  std::string name;
  Literal input;
  std::vector<uint32_t> windows, strides, dilations, start_padding, end_padding;
  Literal output;
};

const Literal kFiveByFive = {kFloat, {1, 1, 5, 5}, Counting(25, 0)};

const UnfoldExample kUnfoldExamples[] = {
    {"OneChannel",
     kFiveByFive,
     {3, 3},
     {1, 1},
     {1, 1},
     {0, 0},
     {0, 0},
     {kFloat, {1, 9, 9}, {0,  1,  2,  5,  6,  7,  10, 11, 12,  //
                          1,  2,  3,  6,  7,  8,  11, 12, 13,  //
                          2,  3,  4,  7,  8,  9,  12, 13, 14,  //
                          5,  6,  7,  10, 11, 12, 15, 16, 17,  //
                          6,  7,  8,  11, 12, 13, 16, 17, 18,  //
                          7,  8,  9,  12, 13, 14, 17, 18, 19,  //
                          10, 11, 12, 15, 16, 17, 20, 21, 22,  //
                          11, 12, 13, 16, 17, 18, 21, 22, 23,  //
                          12, 13, 14, 17, 18, 19, 22, 23, 24}}},
    {"Padded",
     kFiveByFive,
     {3, 3},
     {1, 1},
     {1, 1},
     {1, 0},
     {1, 0},
     {kFloat, {1, 9, 15}, {0, 0, 0, 0,  1,  2,  5,  6,  7,  10, 11, 12, 15, 16, 17,  //
                           0, 0, 0, 1,  2,  3,  6,  7,  8,  11, 12, 13, 16, 17, 18,  //
                           0, 0, 0, 2,  3,  4,  7,  8,  9,  12, 13, 14, 17, 18, 19,  //
                           0, 1, 2, 5,  6,  7,  10, 11, 12, 15, 16, 17, 20, 21, 22,  //
                           1, 2, 3, 6,  7,  8,  11, 12, 13, 16, 17, 18, 21, 22, 23,  //
                           2, 3, 4, 7,  8,  9,  12, 13, 14, 17, 18, 19, 22, 23, 24,  //
                           5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22, 0,  0,  0,   //
                           6, 7, 8, 11, 12, 13, 16, 17, 18, 21, 22, 23, 0,  0,  0,   //
                           7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24, 0,  0,  0}}},
    {"TwoChannels",
     {kFloat, {1, 2, 3, 3}, Counting(18, 0)},
     {2, 2},
     {1, 1},
     {1, 1},
     {0, 0},
     {0, 0},
     {kFloat, {1, 8, 4}, {0, 1,  3,  4,  1,  2,  4,  5,  3,  4,  6,  7,  4,  5,  7,  8,
                          9, 10, 12, 13, 10, 11, 13, 14, 12, 13, 15, 16, 13, 14, 16, 17}}},
    {"StrideAndDilation",
     {kFloat, {1, 1, 7}, Counting(7)},
     {3},
     {2},
     {2},
     {1},
     {1},
     {kFloat, {1, 3, 3}, {0, 2, 4, 2, 4, 6, 4, 6, 0}}},
    {"BlocksRoundDown",
     {kFloat, {1, 1, 5, 4}, Counting(20)},
     {2, 2},
     {2, 3},
     {1, 1},
     {0, 0},
     {0, 1},
     {kFloat, {1, 4, 4}, {1, 4, 9, 12, 2, 0, 10, 0, 5, 8, 13, 16, 6, 0, 14, 0}}},
};

class UnfoldExamples : public testing::TestWithParam<UnfoldExample> {};

TEST_P(UnfoldExamples, Hold) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "WindowSizes", GetParam().windows);
  Set(desc, "Strides", GetParam().strides);
  Set(desc, "Dilations", GetParam().dilations);
  Set(desc, "StartPadding", GetParam().start_padding);
  Set(desc, "EndPadding", GetParam().end_padding);
  ExpectMoves(desc, {GetParam().input}, {GetParam().output});
}

INSTANTIATE_TEST_SUITE_P(Pages, UnfoldExamples, testing::ValuesIn(kUnfoldExamples),
                         CaseName<UnfoldExample>);

}  // namespace
}  // namespace dmlop
