#include "core/ops/fused.h"

#include <utility>

#include "core/engine/copy/tiled_loop.h"

namespace dmlop {
namespace {

void SetTensors(DataType type, const std::vector<uint32_t>& sizes, OperatorDesc& activation) {
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.AddTensor(*tensor);
  for (const MutableTensorSlot& slot : TensorSlots(activation)) {
    slot.desc->data_type = type;
    slot.desc->sizes = sizes;
  }
}

}  // namespace

std::optional<OperatorDesc> FusedAlone(const OperatorDesc& host) {
  const OperatorDesc* activation = FusedActivationOf(host);
  if (activation == nullptr) return std::nullopt;
  const TensorDesc& output = *TensorSlots(host, TensorRole::kOutput)[0].desc;
  if (!output.complete()) return std::nullopt;
  std::optional<OperatorDesc> alone(*activation);
  SetTensors(*output.data_type, *output.sizes, *alone);
  return alone;
}

OperatorDesc WithoutActivation(OperatorDesc host) {
  for (const Field* field : host.fields()) {
    if (field->kind == FieldKind::kActivation) host.Remove(*field);
  }
  return host;
}

void RunActivation(OperatorDesc activation, const ConstTensorView& input,
                   const TensorView& output) {
  const Dims& sizes = output.layout.sizes;
  SetTensors(output.type, {sizes.begin(), sizes.end()}, activation);
  Run(activation, {&input, 1}, {&output, 1});
}

void ActivateInPlace(const OperatorDesc& activation, const TensorView& tensor) {
  if (activation.info().in_place) return RunActivation(activation, AsConst(tensor), tensor);
  Buffer buffer(static_cast<size_t>(tensor.element_bytes()));
  const TensorView copy{buffer.data(), tensor.type, PackedLayout(tensor.layout.sizes)};
  CopyView(AsConst(tensor), copy);
  RunActivation(activation, AsConst(copy), tensor);
}

}  // namespace dmlop
