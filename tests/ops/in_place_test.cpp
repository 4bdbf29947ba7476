// IDENTITY may write where it reads (BIND-7, BIND-8).

#include <gtest/gtest.h>

#include "tests/support/operator_call.h"
#include "tests/support/random_calls.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

// Runs the call once apart and once in place, both with the layout of its output.
void ExpectSameInPlace(const OperatorCall& call) {
  TestTensor tensor = call.outputs[0];
  CopyElements(call.inputs[0], tensor);
  OperatorCall apart = MakeCall(call.desc, {tensor}, call.outputs);
  ASSERT_TRUE(RunsLikeReference(apart));

  Run(apart.desc, std::vector{tensor.view()}, std::vector{tensor.mutable_view()});
  EXPECT_TRUE(HaveSameElements(tensor, apart.outputs[0])) << ToString(apart);
  EXPECT_TRUE(tensor.GuardsAreIntact()) << ToString(apart);
}

TEST(InPlace, IdentityGivesTheSameAsApart) {
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    ExpectSameInPlace(i % 2 == 0 ? RandomIdentity(engine) : RandomScaleBias(engine));
  }
}

TEST(InPlace, LargeIdentityGivesTheSameAsApart) {
  const Dims sizes = {130, 517};
  for (const Dims& strides : {Dims{517, 1}, Dims{1, 130}, Dims{1040, 2}}) {
    SCOPED_TRACE(CaseTrace(0));
    Engine engine = CaseEngine(0);
    TestTensor input(DataType::kFloat32, {sizes, strides});
    FillRandomly(engine, input);
    IdentityDesc desc;
    desc.scale_bias = ScaleBias{3.0f, -0.7f};
    ExpectSameInPlace(MakeCall(desc, {input}, {TestTensor(input.type(), input.layout())}));
  }
}

}  // namespace
}  // namespace dmlop
