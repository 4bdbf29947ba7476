#include "tests/reference/element.h"
#include "tests/reference/operators.h"

namespace dmlop::reference {

// SPLIT-5: an output begins where the one before it ends.
Expectation ExpectedAt(const SplitDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index) {
  Dims source = index;
  for (size_t before = 0; before < output; ++before) {
    source[*desc.axis] += (*(*desc.output_tensors)[before].sizes)[*desc.axis];
  }
  return {BitsAt(inputs[0], source)};
}

}  // namespace dmlop::reference
