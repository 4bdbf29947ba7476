// SPDX-License-Identifier: Apache-2.0
// Operators in pieces: every element of every output is written once, with the reference's value.

#include "core/ops/pieces.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/case_name.h"
#include "tests/support/random.h"
#include "tests/support/random_calls.h"

namespace dmlop {
namespace {

// Runs the call in pieces, through packed copies of its outputs.
void RunInPieces(OperatorCall& call, int64_t max_bytes) {
  std::vector<ConstTensorView> inputs;
  for (const TestTensor& input : call.inputs) inputs.push_back(input.view());
  const Pieces pieces(call.desc, inputs, max_bytes);

  std::vector<TestTensor> packed;
  std::vector<std::vector<int>> writes;  // of each byte
  for (const TestTensor& output : call.outputs) {
    packed.emplace_back(output.type(), PackedLayout(output.layout().sizes));
    writes.emplace_back(static_cast<size_t>(packed.back().layout().element_count()) *
                        ByteWidth(output.type()));
  }
  Buffer buffer(pieces.buffer_size());
  for (int64_t i = 0; i < pieces.count(); ++i) {
    const Pieces::Part part = pieces.Run(i, {buffer.data(), buffer.size()});
    std::vector<int>& written = writes[part.output];
    const size_t begin = static_cast<size_t>(part.begin);
    ASSERT_LE(begin + part.bytes.size(), written.size());
    for (size_t b = 0; b < part.bytes.size(); ++b) ++written[begin + b];
    std::memcpy(packed[part.output].mutable_view().data + begin, part.bytes.data(),
                part.bytes.size());
  }
  for (size_t i = 0; i < packed.size(); ++i) {
    ASSERT_EQ(writes[i], std::vector<int>(writes[i].size(), 1));
    CopyElements(packed[i], call.outputs[i]);
  }
}

class PiecesTest : public testing::TestWithParam<RandomOperator> {};

TEST_P(PiecesTest, AgreeWithReference) {
  for (int i = 0; i < ShareOf(100, GetParam()); ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    OperatorCall call = GetParam().draw(engine);
    const int64_t max_bytes = int64_t{1} << (i % 12);  // from less than an element to whole outputs
    RunInPieces(call, max_bytes);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(OutputsMatchReference(call)) << ToString(call) << " of " << max_bytes << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, PiecesTest, testing::ValuesIn(RandomOperators()),
                         CaseName<RandomOperator>);

}  // namespace
}  // namespace dmlop
