// JOIN and SPLIT undo each other, bit for bit.

#include <gtest/gtest.h>

#include "tests/support/desc.h"
#include "tests/support/random_calls.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

constexpr int kCases = 500;

std::vector<TestTensor> OutputsLike(Engine& engine, const std::vector<TestTensor>& tensors) {
  std::vector<TestTensor> outputs;
  for (const TestTensor& tensor : tensors) {
    outputs.push_back(RandomOutput(engine, tensor.type(), tensor.layout().sizes));
  }
  return outputs;
}

void ExpectSameElements(const std::vector<TestTensor>& actual,
                        const std::vector<TestTensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(HaveSameElements(actual[i], expected[i])) << "tensor " << i;
  }
}

TEST(RoundTrip, SplitUndoesJoin) {
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    OperatorCall join = RandomCall(engine, OperatorNamed("JOIN"));
    join.Run();

    OperatorDesc desc = OperatorNamed("SPLIT");
    Set(desc, "Axis", join.desc[kAxis]);
    Set(desc, "OutputTensors", std::vector<TensorDesc>(join.inputs.size()));
    OperatorCall split = MakeCall(desc, join.outputs, OutputsLike(engine, join.inputs));
    split.Run();
    ExpectSameElements(split.outputs, join.inputs);
  }
}

TEST(RoundTrip, JoinUndoesSplit) {
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    OperatorCall split = RandomCall(engine, OperatorNamed("SPLIT"));
    split.Run();

    OperatorDesc desc = OperatorNamed("JOIN");
    Set(desc, "Axis", split.desc[kAxis]);
    Set(desc, "InputTensors", std::vector<TensorDesc>(split.outputs.size()));
    OperatorCall join = MakeCall(desc, split.outputs, OutputsLike(engine, split.inputs));
    join.Run();
    ExpectSameElements(join.outputs, split.inputs);
  }
}

}  // namespace
}  // namespace dmlop
