// SPDX-License-Identifier: Apache-2.0
// An operator with the tensors that it reads, which can be changed as a whole: what a device may
// have computed in place of what it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

// The views are in the order of the input slots; `storage` keeps alive what a change has made.
struct Computation {
  OperatorDesc op;
  std::vector<ConstTensorView> inputs;
  std::vector<std::shared_ptr<const void>> storage{};
  // The number of the output whose elements each output has; empty: its own.
  std::vector<size_t> sources{};

  size_t SourceOf(size_t output) const { return sources.empty() ? output : sources[output]; }
};

// The sizes of an output and the type of its elements.
Dims OutputSizes(const Computation& computation, size_t output);
DataType OutputType(const Computation& computation, size_t output);

// Copies a view into row-major order without gaps, and keeps the copy alive in `storage`.
TensorView PackedCopy(const ConstTensorView& view, Computation& owner);

// Computes an output as a whole.
Buffer WholeOutput(const Computation& computation, size_t output);

// Computes the elements of an output with these row-major numbers: the whole output, or parts if
// that takes less work.
std::vector<ElementBytes> ElementsOf(const Computation& computation, size_t output,
                                     std::span<const int64_t> elements);

// Returns the parts of each input that computing these elements reads; none of an input of which
// it may read half.
std::vector<std::vector<Region>> SourcesOfElements(const Computation& computation, size_t output,
                                                   std::span<const int64_t> elements);

// Returns whether an operator is a network, whose first input has its steps along axis 1.
bool IsNetwork(const OperatorDesc& op);

// The work of a whole output, in products and elements that are read or written.
int64_t WorkOf(const OperatorDesc& op);

// The value of an element of any type; 64-bit integers are rounded.
double ValueOf(DataType type, const std::byte* element);

}  // namespace dmlop
