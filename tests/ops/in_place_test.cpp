// SPDX-License-Identifier: Apache-2.0
// Some operators may write where they read (BIND-7, BIND-8). property_test.cpp covers small ones.

#include <gtest/gtest.h>

#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

TEST(InPlace, LargeIdentityGivesTheSameAsApart) {
  const Dims sizes = {130, 517};
  for (const Dims& strides : {Dims{517, 1}, Dims{1, 130}, Dims{1040, 2}}) {
    SCOPED_TRACE(CaseTrace(0));
    Engine engine = CaseEngine(0);
    TestTensor input(DataType::kFloat32, {sizes, strides});
    FillRandomly(engine, input);
    OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
    Set(desc, "ScaleBias", ScaleBias{3.0f, -0.7f});
    const TestTensor output(input.type(), input.layout());
    ASSERT_TRUE(RunsLikeReferenceInPlace(MakeCall(desc, {input}, {output})));
  }
}

}  // namespace
}  // namespace dmlop
