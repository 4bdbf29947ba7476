#include "tests/reference/operators.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "core/tensor/element.h"

namespace dmlop::reference {
namespace {

// FUS-5: the activation of what is rounded.
Expectation Activated(OperatorDesc activation, DataType type, uint64_t rounded) {
  TensorDesc one;
  one.data_type = type;
  one.sizes = std::vector<uint32_t>{1};
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.AddTensor(*tensor);
  for (const MutableTensorSlot& slot : TensorSlots(activation)) *slot.desc = one;
  ElementBytes bytes{};
  std::memcpy(bytes.data(), &rounded, sizeof(rounded));
  const ConstTensorView input{bytes.data(), type, PackedLayout({1})};
  return ExpectedAt(activation, {&input, 1}, 0, {0});
}

}  // namespace

Expectation ExpectedAt(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index) {
  for (const auto oracles :
       {ActivationOracles(), ContractionOracles(), ElementWiseOracles(), IndexingOracles(),
        IntegerProductOracles(), LocalResponseOracles(), MovementOracles(), OrderingOracles(),
        QuantizeOracles(), ReductionOracles(), RegionOracles(), ResampleOracles(), SoftmaxOracles(),
        TranscendentalOracles(), WindowOracles()}) {
    for (const NamedOracle& one : oracles) {
      if (one.name != desc.name()) continue;
      const Expectation own = one.oracle(desc, inputs, output, index);
      const OperatorDesc* activation = FusedActivationOf(desc);
      if (activation == nullptr || output > 0) return own;
      return Activated(*activation, *TensorSlots(desc, TensorRole::kOutput)[0].desc->data_type,
                       own.bits);
    }
  }
  throw std::logic_error("no oracle for " + std::string(desc.name()));
}

}  // namespace dmlop::reference
