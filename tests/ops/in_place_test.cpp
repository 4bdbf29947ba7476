// Some operators may write where they read (BIND-7, BIND-8).

#include <gtest/gtest.h>

#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_calls.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

TEST(InPlace, IdentityGivesTheSameAsApart) {
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const OperatorCall call = i % 2 == 0 ? RandomIdentity(engine) : RandomScaleBias(engine);
    ASSERT_TRUE(RunsLikeReferenceInPlace(call));
  }
}

TEST(InPlace, ElementWiseFunctionsGiveTheSameAsApart) {
  for (const std::string_view name : {"ELEMENT_WISE_ABS", "ELEMENT_WISE_ADD", "ELEMENT_WISE_EXP",
                                      "ELEMENT_WISE_POW", "ACTIVATION_ELU"}) {
    for (int i = 0; i < 200; ++i) {
      SCOPED_TRACE(CaseTrace(i));
      Engine engine = CaseEngine(i);
      ASSERT_TRUE(RunsLikeReferenceInPlace(RandomElementWise(engine, name)));
    }
  }
}

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
