// SPDX-License-Identifier: Apache-2.0
// JOIN and SPLIT undo each other, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

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

// Runs `name` and, on its outputs, `inverse`, whose tensors in `array` are like the inputs.
void ExpectUndone(std::string_view name, std::string_view inverse, std::string_view array) {
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    OperatorCall first = RandomCall(engine, OperatorNamed(name));
    first.Run();

    OperatorDesc desc = OperatorNamed(inverse);
    Set(desc, "Axis", first.desc[kAxis]);
    Set(desc, array, std::vector<TensorDesc>(std::max(first.inputs.size(), first.outputs.size())));
    OperatorCall second = MakeCall(desc, first.outputs, OutputsLike(engine, first.inputs));
    second.Run();
    ExpectSameElements(second.outputs, first.inputs);
  }
}

TEST(RoundTrip, SplitUndoesJoin) {
  ExpectUndone("JOIN", "SPLIT", "OutputTensors");
}

TEST(RoundTrip, JoinUndoesSplit) {
  ExpectUndone("SPLIT", "JOIN", "InputTensors");
}

}  // namespace
}  // namespace dmlop
