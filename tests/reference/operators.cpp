#include "tests/reference/operators.h"

#include <stdexcept>
#include <string>

namespace dmlop::reference {

Expectation ExpectedAt(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index) {
  for (const auto oracles :
       {ActivationOracles(), ElementWiseOracles(), IndexingOracles(), LocalResponseOracles(),
        MovementOracles(), OrderingOracles(), QuantizeOracles(), ReductionOracles(),
        ResampleOracles(), TranscendentalOracles(), WindowOracles()}) {
    for (const NamedOracle& one : oracles) {
      if (one.name == desc.name()) return one.oracle(desc, inputs, output, index);
    }
  }
  throw std::logic_error("no oracle for " + std::string(desc.name()));
}

}  // namespace dmlop::reference
