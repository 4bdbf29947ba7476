// SPDX-License-Identifier: Apache-2.0
// The oracle: one output element as each operator's rules define it. It is written from the rules,
// index by index, and shares only descriptors and core/tensor/ with the engine.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/ops/operator.h"
#include "tests/reference/expectation.h"

namespace dmlop::reference {

// The element at `index` of output number `output`. The descriptor is complete and valid; the
// inputs have their own layouts.
Expectation ExpectedAt(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index);

// The oracle of one operator.
using Oracle = Expectation (*)(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                               size_t output, const Dims& index);
struct NamedOracle {
  std::string_view name;
  Oracle oracle;
};

// Whether an activation works on rows or slices, and the axes of these.
bool IsSoftmax(const OperatorDesc& activation);
std::vector<uint32_t> SoftmaxAxesOf(const OperatorDesc& activation, size_t rank);

// The oracles of each source in this folder.
std::span<const NamedOracle> ActivationOracles();
std::span<const NamedOracle> ContractionOracles();
std::span<const NamedOracle> AttentionOracles();
std::span<const NamedOracle> ElementWiseOracles();
std::span<const NamedOracle> IndexingOracles();
std::span<const NamedOracle> LocalResponseOracles();
std::span<const NamedOracle> IntegerProductOracles();
std::span<const NamedOracle> MovementOracles();
std::span<const NamedOracle> NormalizationOracles();
std::span<const NamedOracle> OrderingOracles();
std::span<const NamedOracle> QuantizeOracles();
std::span<const NamedOracle> RecurrentOracles();
std::span<const NamedOracle> ReductionOracles();
std::span<const NamedOracle> RegionOracles();
std::span<const NamedOracle> RegionPoolingOracles();
std::span<const NamedOracle> ResampleOracles();
std::span<const NamedOracle> SoftmaxOracles();
std::span<const NamedOracle> TrainingOracles();
std::span<const NamedOracle> TranscendentalOracles();
std::span<const NamedOracle> WindowOracles();

}  // namespace dmlop::reference
