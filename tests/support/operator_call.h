// SPDX-License-Identifier: Apache-2.0
// A call of an operator with all its tensors, checked against the reference.
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

// Makes a call from a desc that lacks only the tensors' descs; arrays of tensors have their
// lengths.
OperatorCall MakeCall(OperatorDesc desc, std::vector<TestTensor> inputs,
                      std::vector<TestTensor> outputs);

// The fields and tensors of the call, as a failing test prints them.
std::string ToString(const OperatorCall& call);

// Checks every output element of a call that has run.
testing::AssertionResult OutputsMatchReference(const OperatorCall& call);

// Validates and runs the call, then checks every output element against the reference, and that
// neither inputs nor gaps were written.
testing::AssertionResult RunsLikeReference(OperatorCall& call);

// Whether the output may overwrite the first input, and both have equal types and sizes.
bool MayRunInPlace(const OperatorCall& call);

// RunsLikeReference with the first input in the output's layout, once separate and once with the
// output in its place.
testing::AssertionResult RunsLikeReferenceInPlace(const OperatorCall& call);

}  // namespace dmlop
