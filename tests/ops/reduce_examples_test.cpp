// SPDX-License-Identifier: Apache-2.0
// The worked examples of the reference page for REDUCE, and vectors derived from its rules.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/literal.h"
#include "tests/support/operator_call.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

using enum ReduceFunction;

constexpr DataType kFloat = DataType::kFloat32;
constexpr DataType kIndex = DataType::kUint32;

// Values whose last bit decimal notation would hide.
std::vector<double> Floats(const std::vector<uint32_t>& bits) {
  std::vector<double> values;
  for (const uint32_t b : bits) values.push_back(FromFloatBits(b));
  return values;
}

struct ReduceExample {
  std::string name;
  ReduceFunction function;
  Literal input;
  std::vector<uint32_t> axes;
  Literal output;
};

const Literal kMatrix = {kFloat, {3, 3}, {1, 2, 3, 3, 0, 4, 2, 4, 2}};

const ReduceExample kMatrixExamples[] = {
    {"SumOfColumns", kSum, kMatrix, {0}, {kFloat, {1, 3}, {6, 6, 9}}},
    {"SumOfRows", kSum, kMatrix, {1}, {kFloat, {3, 1}, {6, 7, 8}}},
    {"SumOfAll", kSum, kMatrix, {0, 1}, {kFloat, {1, 1}, {21}}},
    {"AverageOfRows",
     kAverage,
     kMatrix,
     {1},
     {kFloat, {3, 1}, Floats({0x40000000, 0x40155555, 0x402AAAAB})}},
    {"AverageOfAll", kAverage, kMatrix, {0, 1}, {kFloat, {1, 1}, Floats({0x40155555})}},
    {"L1OfRows", kL1, kMatrix, {1}, {kFloat, {3, 1}, {6, 7, 8}}},
    {"L1OfAll", kL1, kMatrix, {0, 1}, {kFloat, {1, 1}, {21}}},
    {"L2OfRows", kL2, kMatrix, {1}, {kFloat, {3, 1}, Floats({0x406F7751, 0x40A00000, 0x409CC471})}},
    {"L2OfAll", kL2, kMatrix, {0, 1}, {kFloat, {1, 1}, Floats({0x40FDFDFC})}},
    {"LogSumOfRows",
     kLogSum,
     kMatrix,
     {1},
     {kFloat, {3, 1}, Floats({0x3FE55860, 0x3FF91395, 0x40051592})}},
    {"LogSumOfAll", kLogSum, kMatrix, {0, 1}, {kFloat, {1, 1}, Floats({0x4042D975})}},
    {"LogSumExpOfRows",
     kLogSumExp,
     kMatrix,
     {1},
     {kFloat, {3, 1}, Floats({0x405A1637, 0x408A7333, 0x4087AA5A})}},
    {"LogSumExpOfAll", kLogSumExp, kMatrix, {0, 1}, {kFloat, {1, 1}, Floats({0x40A551C1})}},
    {"MaxOfRows", kMax, kMatrix, {1}, {kFloat, {3, 1}, {3, 4, 4}}},
    {"MaxOfAll", kMax, kMatrix, {0, 1}, {kFloat, {1, 1}, {4}}},
    {"MinOfRows", kMin, kMatrix, {1}, {kFloat, {3, 1}, {1, 0, 2}}},
    {"MinOfAll", kMin, kMatrix, {0, 1}, {kFloat, {1, 1}, {0}}},
    {"MultiplyOfRows", kMultiply, kMatrix, {1}, {kFloat, {3, 1}, {6, 0, 16}}},
    {"MultiplyOfAll", kMultiply, kMatrix, {0, 1}, {kFloat, {1, 1}, {0}}},
    {"SumSquareOfRows", kSumSquare, kMatrix, {1}, {kFloat, {3, 1}, {14, 25, 24}}},
    {"SumSquareOfAll", kSumSquare, kMatrix, {0, 1}, {kFloat, {1, 1}, {63}}},
    {"ArgMaxOfRows", kArgMax, kMatrix, {1}, {kIndex, {3, 1}, {2, 2, 1}}},
    {"ArgMaxOfAll", kArgMax, kMatrix, {0, 1}, {kIndex, {1, 1}, {5}}},
    {"ArgMinOfRows", kArgMin, kMatrix, {1}, {kIndex, {3, 1}, {0, 1, 0}}},
    {"ArgMinOfAll", kArgMin, kMatrix, {0, 1}, {kIndex, {1, 1}, {4}}},
    {"Model",
     kSum,
     {kFloat, {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
     {3},
     {kFloat, {1, 1, 3, 1}, {6, 15, 24}}},
};

// From the pages of ARGMAX and ARGMIN, which REDUCE equals.
const Literal kArgMatrix = {kFloat, {3, 3}, {1, 2, 3, 3, 0, 4, 2, 5, 2}};

const ReduceExample kArgExamples[] = {
    {"ArgMaxOfColumns", kArgMax, kArgMatrix, {0}, {kIndex, {1, 3}, {1, 2, 1}}},
    {"ArgMaxOfRows", kArgMax, kArgMatrix, {1}, {kIndex, {3, 1}, {2, 2, 1}}},
    {"ArgMaxOfAll", kArgMax, kArgMatrix, {0, 1}, {kIndex, {1, 1}, {7}}},
    {"ArgMinOfColumns", kArgMin, kArgMatrix, {0}, {kIndex, {1, 3}, {0, 1, 2}}},
    {"ArgMinOfRows", kArgMin, kArgMatrix, {1}, {kIndex, {3, 1}, {0, 1, 0}}},
    {"ArgMinOfAll", kArgMin, kArgMatrix, {0, 1}, {kIndex, {1, 1}, {4}}},
    {"OrderOfAxesDoesNotMatter", kArgMax, kArgMatrix, {1, 0}, {kIndex, {1, 1}, {7}}},
};

// Reduces a vector to one element of `type`.
ReduceExample OfVector(std::string name, ReduceFunction function, DataType type,
                       std::vector<double> values, double result) {
  const int64_t count = static_cast<int64_t>(values.size());
  const bool to_index = function == kArgMax || function == kArgMin;
  return {std::move(name),
          function,
          {type, {count}, std::move(values)},
          {0},
          {to_index ? kIndex : type, {1}, {result}}};
}

const double kInf = INFINITY;
const double kNan = std::nan("");
constexpr DataType kHalf = DataType::kFloat16;
constexpr DataType kInt = DataType::kInt32;

const ReduceExample kEdgeExamples[] = {
    OfVector("MaxSkipsNan", kMax, kFloat, {kNan, 1, kNan, -2}, 1),
    OfVector("MinOfNanOnlyIsNan", kMin, kFloat, {kNan, kNan}, kNan),
    OfVector("MinPutsNegativeZeroFirst", kMin, kFloat, {0.0, -0.0, 0.0}, -0.0),
    OfVector("MaxPutsPositiveZeroLast", kMax, kFloat, {-0.0, 0.0, -0.0}, 0.0),
    OfVector("ArgMaxSkipsNanAndTakesTheFirst", kArgMax, kFloat, {kNan, 3, kNan, 3}, 1),
    OfVector("ArgMinOfNanOnlyIsFirst", kArgMin, kFloat, {kNan, kNan}, 0),
    OfVector("ArgMaxHoldsZerosEqual", kArgMax, kFloat, {-0.0, 0.0}, 0),
    OfVector("SumWraps", kSum, kInt, {2147483647, 1}, -2147483648.0),
    OfVector("SumSquareWraps", kSumSquare, kInt, {46341}, -2147479015),
    OfVector("MultiplyWraps", kMultiply, DataType::kUint32, {65536, 65536}, 0),
    OfVector("L1OfLeastIntegerIsItself", kL1, kInt, {-2147483648.0}, -2147483648.0),
    OfVector("LogSumOfNegativeIsNan", kLogSum, kFloat, {-1, 0.5}, kNan),
    OfVector("LogSumOfZeroIsMinusInfinity", kLogSum, kFloat, {1, -1}, -kInf),
    OfVector("LogSumExpDoesNotOverflow", kLogSumExp, kFloat, {100, 100}, 100.693147),
    OfVector("LogSumExpOfNothing", kLogSumExp, kFloat, {-kInf, -kInf}, -kInf),
    OfVector("SumOfOppositeInfinitiesIsNan", kSum, kFloat, {kInf, 1, -kInf}, kNan),
    OfVector("SumOfNegativeZerosKeepsTheSign", kSum, kFloat, {-0.0, -0.0}, -0.0),
    OfVector("SumThatCancelsIsPositiveZero", kSum, kFloat, {-3, 3}, 0.0),
    OfVector("SumDoesNotOverflowMidway", kSum, kFloat, {3e38, 3e38, -3e38, -3e38, 1}, 1),
    OfVector("MultiplyOfZeroAndInfinityIsNan", kMultiply, kFloat, {0, kInf}, kNan),
    OfVector("MultiplyDoesNotOverflowMidway", kMultiply, kFloat, {0x1p100, 0x1p100, 0x1p-149},
             0x1p51),
    OfVector("MultiplyDoesNotUnderflowMidway", kMultiply, kFloat, {0x1p-149, 0x1p-90, 0x1p127, 3},
             0x3p-112),
    OfVector("L2DoesNotOverflow", kL2, kFloat, {3e38}, 3e38),
    OfVector("HalfAverageOfMany", kAverage, kHalf, std::vector<double>(70000, 1), 1),
    OfVector("HalfSumBelowTheLimit", kSum, kHalf, {65504, 15}, 65504),
    OfVector("HalfSumAtTheLimitIsInfinite", kSum, kHalf, {65504, 16}, kInf),
};

// RED-22: sizes {2, 3, 4, 5}, axes {1, 3}: the index is i1 * 5 + i3. Ones at (i1, i3) = (2, 4).
TEST(ReduceExamples, IndexIsFlattenedOverTheReducedAxesOnly) {
  Literal input = {kFloat, {2, 3, 4, 5}, std::vector<double>(120, 0)};
  for (int64_t i0 = 0; i0 < 2; ++i0) {
    for (int64_t i2 = 0; i2 < 4; ++i2) {
      input.memory[static_cast<size_t>(((i0 * 3 + 2) * 4 + i2) * 5 + 4)] = 1;
    }
  }
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", kArgMax);
  Set(desc, "Axes", {1, 3});
  const Literal output = {kIndex, {2, 1, 4, 1}, std::vector<double>(8, 14)};
  OperatorCall call =
      MakeCall(desc, {ToTensor(input)}, {TestTensor(kIndex, PackedLayout({2, 1, 4, 1}))});
  ASSERT_TRUE(RunsLikeReference(call));
  EXPECT_EQ(MemoryOf(call.outputs[0]), MemoryOf(ToTensor(output)));
}

class ReduceExamples : public testing::TestWithParam<ReduceExample> {};

TEST_P(ReduceExamples, Hold) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", GetParam().function);
  Set(desc, "Axes", GetParam().axes);
  const Literal& output = GetParam().output;
  OperatorCall call = MakeCall(desc, {ToTensor(GetParam().input)},
                               {TestTensor(output.type, PackedLayout(output.sizes))});
  ASSERT_TRUE(RunsLikeReference(call));
  EXPECT_EQ(MemoryOf(call.outputs[0]), MemoryOf(ToTensor(output)));
}

INSTANTIATE_TEST_SUITE_P(Page, ReduceExamples, testing::ValuesIn(kMatrixExamples),
                         CaseName<ReduceExample>);
INSTANTIATE_TEST_SUITE_P(ArgPages, ReduceExamples, testing::ValuesIn(kArgExamples),
                         CaseName<ReduceExample>);
INSTANTIATE_TEST_SUITE_P(Edges, ReduceExamples, testing::ValuesIn(kEdgeExamples),
                         CaseName<ReduceExample>);

}  // namespace
}  // namespace dmlop
