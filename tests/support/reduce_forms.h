// SPDX-License-Identifier: Apache-2.0
// One reduction in many forms, which must all give the same result.
#pragma once

#include <span>

#include "tests/support/operator_call.h"

namespace dmlop {

// The call with a packed output. `index_type` is the type of an output of indices.
OperatorCall ReduceCall(ReduceFunction function, const std::vector<uint32_t>& axes,
                        const TestTensor& input, DataType index_type = DataType::kInt64);

// A tensor with the same elements.
TestTensor WithStrides(const Dims& strides, const TestTensor& tensor);

using StridesFunction = Dims (*)(const Dims& sizes);

Dims PaddedStrides(const Dims& sizes);
Dims StridesOfEveryOther(const Dims& sizes);

// Strides of the input and of the output.
struct StrideForm {
  StridesFunction input;
  StridesFunction output;
};

inline constexpr StrideForm kStrideForms[] = {{PackedStrides, StridesOfEveryOther},
                                              {FortranStrides, PackedStrides},
                                              {PaddedStrides, FortranStrides},
                                              {StridesOfEveryOther, PaddedStrides}};

// Checks that the reduction gives the same result as `first` on every instruction set and with each
// number of threads. `input` has the elements of the input of `first`.
testing::AssertionResult GivesTheSame(const OperatorCall& first, const TestTensor& input,
                                      StridesFunction output_strides,
                                      std::span<const int> thread_counts);

}  // namespace dmlop
