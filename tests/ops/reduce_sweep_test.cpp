// SPDX-License-Identifier: Apache-2.0
// Every small shape, every set of axes, every function: nothing is left to chance.

#include <gtest/gtest.h>

#include "core/ops/operator.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"
#include "tests/support/reduce_functions.h"

namespace dmlop {
namespace {

std::vector<Dims> SmallShapes() {
  std::vector<Dims> shapes;
  for (int64_t a = 1; a <= 3; ++a) {
    for (int64_t b = 1; b <= 3; ++b) {
      for (int64_t c = 1; c <= 2; ++c) shapes.push_back({a, b, c});
    }
  }
  return shapes;
}

// The axes whose bits are set.
std::vector<uint32_t> AxesOf(unsigned set) {
  std::vector<uint32_t> axes;
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if ((set >> axis & 1) != 0) axes.push_back(axis);
  }
  return axes;
}

Dims Reduced(Dims sizes, const std::vector<uint32_t>& axes) {
  for (const uint32_t axis : axes) sizes[axis] = 1;
  return sizes;
}

class ReduceSweep : public testing::TestWithParam<ReduceFunction> {
 protected:
  void Check(DataType type, const Dims& sizes, const std::vector<uint32_t>& axes) {
    OperatorDesc desc = OperatorNamed("REDUCE");
    Set(desc, "Function", GetParam());
    Set(desc, "Axes", axes);
    const DataType output_type = GivesIndex(GetParam()) ? DataType::kUint32 : type;
    for (const Dims& strides : {PackedStrides(sizes), FortranStrides(sizes), Dims{1, 0, 1}}) {
      SCOPED_TRACE(CaseTrace(number_));
      Engine engine = CaseEngine(number_++);
      TestTensor input(type, {sizes, strides});
      FillRandomly(engine, input);
      const TestTensor output = RandomOutput(engine, output_type, Reduced(sizes, axes));
      OperatorCall call = MakeCall(desc, {input}, {output});
      ASSERT_TRUE(RunsLikeReference(call));
    }
  }

  int number_ = 0;
};

TEST_P(ReduceSweep, AgreesWithReference) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", GetParam());
  for (const DataType type : {DataType::kFloat32, DataType::kInt32}) {
    if (!SupportFor(desc)->rows.back().TypesOf(TypeVariable::kT).Contains(type)) continue;
    for (const Dims& sizes : SmallShapes()) {
      for (unsigned set = 0; set < 8; ++set) Check(type, sizes, AxesOf(set));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, ReduceSweep, testing::ValuesIn(AllReduceFunctions()),
                         FunctionName);

}  // namespace
}  // namespace dmlop
