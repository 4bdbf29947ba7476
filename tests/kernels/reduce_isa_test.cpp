// SPDX-License-Identifier: Apache-2.0
// REDUCE gives the same bits on every instruction set.

#include <gtest/gtest.h>

#include "core/fuzz/random_desc.h"
#include "core/ops/operator.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"
#include "tests/support/reduce_functions.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

OperatorCall CallFor(ReduceFunction function, uint32_t axis, const TestTensor& input) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "Axes", {axis});
  Dims sizes = input.layout().sizes;
  sizes[axis] = 1;
  const DataType type = GivesIndex(function) ? DataType::kInt64 : input.type();
  return MakeCall(desc, {input}, {TestTensor(type, PackedLayout(sizes))});
}

class ReduceOnIsas : public testing::TestWithParam<ReduceFunction> {
 protected:
  void Check(const TestTensor& input) {
    for (const uint32_t axis : {0u, 1u}) {
      OperatorCall first = CallFor(GetParam(), axis, input);
      SelectIsa("portable");
      first.Run();
      for (const std::string_view isa : SupportedIsas()) {
        OperatorCall call = CallFor(GetParam(), axis, input);
        SelectIsa(isa);
        call.Run();
        EXPECT_TRUE(HaveSameElements(call.outputs[0], first.outputs[0]))
            << ToString(call) << "\n  with " << isa;
      }
    }
  }

 private:
  SettingsGuard settings_before_;
};

TEST_P(ReduceOnIsas, GivesTheSameBits) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", GetParam());
  int number = 0;
  for (const DataType type : TypesOf(SupportFor(desc)->rows.back().TypesOf(TypeVariable::kT))) {
    for (int i = 0; i < 10; ++i) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      TestTensor input(type,
                       PackedLayout({UniformInt(engine, 1, 200), UniformInt(engine, 1, 200)}));
      FillRandomly(engine, input);
      Check(input);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, ReduceOnIsas, testing::ValuesIn(AllReduceFunctions()),
                         FunctionName);

}  // namespace
}  // namespace dmlop
