// SPDX-License-Identifier: Apache-2.0
// Data that is hard for a function, in groups that the engine divides into blocks: compared with
// the reference, and with the same bits for any number of threads.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/tensor/half.h"
#include "tests/support/case_name.h"
#include "tests/support/group_values.h"
#include "tests/support/reduce_forms.h"

namespace dmlop {
namespace {

struct LongCase {
  std::string name;  // of the family
  std::vector<ReduceFunction> functions;

  friend void PrintTo(const LongCase& data, std::ostream* out) { *out << data.name; }
};

std::vector<LongCase> LongCases() {
  using enum ReduceFunction;
  return {
      {"Uniform", {kSum, kL1, kAverage, kSumSquare, kL2, kMultiply}},
      {"IllConditioned", {kSum, kAverage, kL1}},
      {"Huge", {kSum, kSumSquare, kL2, kMultiply}},
      {"Subnormal", {kSum, kL1, kSumSquare, kL2}},
      {"Neighbours", {kMax, kMin, kArgMax, kArgMin}},
      {"FewNumbers", {kMax, kMin, kArgMax, kArgMin}},
      {"Cancelling", {kSum, kAverage, kLogSum}},
      {"SumTie", {kSum, kLogSum}},
      {"MagnitudeSumTie", {kL1}},
      {"MagnitudeSumTieOfMany", {kL1, kL1, kL1, kL1}},
      {"AverageOfTwo", {kAverage}},
      {"AverageTie", {kAverage}},
      {"SquareSumTie", {kSumSquare}},
      {"SquareRootTie", {kL2}},
      {"ProductTie", {kMultiply}},
      {"ProductNearTie", {kMultiply}},
      {"ProductFarOut", {kMultiply}},
      {"SumNearOne", {kLogSum}},
      {"LogSumTie", {kLogSum}},
      {"LogSumExpTie", {kLogSumExp}},
      {"Exponents", {kLogSumExp}},
      {"ExponentialsOfOne", {kLogSumExp}},
      {"TinyMaximum", {kLogSumExp}},
  };
}

struct LongShape {
  Dims sizes;
  std::vector<uint32_t> axes;
};

// One or two block boundaries are crossed, along rows and down columns.
const LongShape kLongShapes[] = {{{(1 << 18) + 77}, {0}},
                                 {{2, (1 << 18) + 1}, {1}},
                                 {{300000, 2}, {0}},
                                 {{400, 2, 170}, {0, 2}}};

constexpr int kSomeThreadCounts[] = {1, 2, 3, 8};

class ReduceLongData : public testing::TestWithParam<LongCase> {
 protected:
  template <typename T>
  void Check(DataType type, int first_number) {
    const std::vector<GroupFamily> families = GroupFamilies<T>();
    const auto family = std::find_if(families.begin(), families.end(), [](const GroupFamily& f) {
      return f.name == GetParam().name;
    });
    int number = first_number;
    for (const ReduceFunction function : GetParam().functions) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      const LongShape& shape = OneOf(engine, kLongShapes);
      TestTensor packed(type, PackedLayout(shape.sizes));
      FillGroups(engine, *family, shape.axes, packed);
      OperatorCall call = ReduceCall(function, shape.axes, packed);
      ASSERT_TRUE(RunsLikeReference(call));
      const StrideForm& other = OneOf(engine, kStrideForms);
      ASSERT_TRUE(GivesTheSame(call, packed, PackedStrides, kSomeThreadCounts));
      ASSERT_TRUE(GivesTheSame(call, WithStrides(other.input(shape.sizes), packed), other.output,
                               kSomeThreadCounts));
    }
  }
};

TEST_P(ReduceLongData, AgreesWithReferenceInEveryForm) {
  ASSERT_NO_FATAL_FAILURE(Check<float>(DataType::kFloat32, 0));
  if (!IsInShare()) return;
  ASSERT_NO_FATAL_FAILURE(Check<Half>(DataType::kFloat16, 100));
}

INSTANTIATE_TEST_SUITE_P(Families, ReduceLongData, testing::ValuesIn(LongCases()),
                         CaseName<LongCase>);

}  // namespace
}  // namespace dmlop
