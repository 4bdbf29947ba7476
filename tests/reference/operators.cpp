#include "tests/reference/operators.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "core/tensor/element.h"

namespace dmlop::reference {
namespace {

// FUS-5: the activation of what is rounded. Where that is known within bounds, it is within the
// same that IDENTITY and RELU are, which makes 0 of what may be less.
Expectation Activated(OperatorDesc activation, DataType type, const Expectation& own) {
  const uint64_t rounded = own.bits;
  TensorDesc one;
  one.data_type = type;
  one.sizes = std::vector<uint32_t>{1};
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.AddTensor(*tensor);
  for (const MutableTensorSlot& slot : TensorSlots(activation)) *slot.desc = one;
  ElementBytes bytes{};
  std::memcpy(bytes.data(), &rounded, sizeof(rounded));
  const ConstTensorView input{bytes.data(), type, PackedLayout({1})};
  Expectation activated = ExpectedAt(activation, {&input, 1}, 0, {0});
  const bool is_relu = activation.name() == "ACTIVATION_RELU";
  if (!own.exact || (!is_relu && activation.name() != "ACTIVATION_IDENTITY")) return activated;
  activated.exact.emplace(is_relu && activated.bits == 0 ? Real(0.0) : *own.exact);
  activated.ulps = own.ulps;
  activated.slack = own.slack;
  return activated;
}

}  // namespace

Expectation ExpectedAt(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index) {
  for (const auto oracles :
       {ActivationOracles(), AttentionOracles(), ContractionOracles(), ElementWiseOracles(),
        IndexingOracles(), IntegerProductOracles(), LocalResponseOracles(), MovementOracles(),
        NormalizationOracles(), OrderingOracles(), QuantizeOracles(), RecurrentOracles(),
        ReductionOracles(), RegionOracles(), ResampleOracles(), SoftmaxOracles(), TrainingOracles(),
        TranscendentalOracles(), WindowOracles()}) {
    for (const NamedOracle& one : oracles) {
      if (one.name != desc.name()) continue;
      const Expectation own = one.oracle(desc, inputs, output, index);
      const OperatorDesc* activation = FusedActivationOf(desc);
      if (activation == nullptr || output > 0) return own;
      return Activated(*activation, *TensorSlots(desc, TensorRole::kOutput)[0].desc->data_type,
                       own);
    }
  }
  throw std::logic_error("no oracle for " + std::string(desc.name()));
}

}  // namespace dmlop::reference
