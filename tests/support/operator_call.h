// One call of an operator with everything it touches, and its judgement by the reference.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/ops/operator.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

struct OperatorCall {
  OperatorDesc desc;
  std::vector<TestTensor> inputs;
  std::vector<TestTensor> outputs;

  // Runs the engine.
  void Run();
};

// The call of an operator whose desc has everything but the tensors' descs; arrays of tensors have
// their lengths.
OperatorCall MakeCall(OperatorDesc desc, std::vector<TestTensor> inputs,
                      std::vector<TestTensor> outputs);

// The fields and tensors of the call, for a failing test to print.
std::string ToString(const OperatorCall& call);

// Checks every output element of a call that has run.
testing::AssertionResult OutputsMatchReference(const OperatorCall& call);

// Validates and runs the call, then checks every output element against the reference, and that
// neither inputs nor gaps were written.
testing::AssertionResult RunsLikeReference(OperatorCall& call);

// Whether the operator may write the output where the first input is, and the two are alike.
bool MayRunInPlace(const OperatorCall& call);

// The same with the first input in the layout of the output, once apart and once with the output in
// its place.
testing::AssertionResult RunsLikeReferenceInPlace(const OperatorCall& call);

}  // namespace dmlop
