#include "tests/reference/element.h"
#include "tests/reference/operators.h"

namespace dmlop::reference {

// JOIN-6: the inputs lie one behind another along the axis.
Expectation ExpectedAt(const JoinDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                       const Dims& index) {
  Dims source = index;
  int64_t& position = source[*desc.axis];
  size_t part = 0;
  while (position >= inputs[part].layout.sizes[*desc.axis]) {
    position -= inputs[part].layout.sizes[*desc.axis];
    ++part;
  }
  return {BitsAt(inputs[part], source)};
}

}  // namespace dmlop::reference
