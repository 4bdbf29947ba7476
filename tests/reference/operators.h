// The oracle: what each operator's rules make of one output element. Written from the rules, index
// by index; shares the descs and core/tensor/ with the engine and nothing else.
#pragma once

#include <cstddef>
#include <span>

#include "core/ops/operator.h"
#include "tests/reference/expectation.h"

namespace dmlop::reference {

// The element at `index` of output number `output`. The desc is complete and valid; the inputs'
// layouts are their own.
Expectation ExpectedAt(const IdentityDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index);
Expectation ExpectedAt(const JoinDesc& desc, std::span<const ConstTensorView> inputs, size_t output,
                       const Dims& index);
Expectation ExpectedAt(const SplitDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index);
Expectation ExpectedAt(const ReduceDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index);
Expectation ExpectedAt(const UnfoldDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index);

inline Expectation ExpectedAt(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                              size_t output, const Dims& index) {
  return std::visit([&](const auto& d) { return ExpectedAt(d, inputs, output, index); }, desc);
}

}  // namespace dmlop::reference
