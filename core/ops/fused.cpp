// SPDX-License-Identifier: Apache-2.0
#include "core/ops/fused.h"

#include "core/engine/copy/copy_views.h"
#include "core/ops/families.h"
#include "core/ops/formula.h"
#include "core/ops/inference.h"

namespace dmlop {
namespace {

void SetTensors(DataType type, const std::vector<uint32_t>& sizes, OperatorDesc& activation) {
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.AddTensor(*tensor);
  for (const MutableTensorSlot& slot : TensorSlots(activation)) {
    slot.desc->data_type = type;
    slot.desc->sizes = sizes;
  }
}

// Networks have four dimensions. If the output is unknown, the maximum rank lets every axis pass.
OperatorDesc OnMadeUpTensors(const OperatorDesc& activation, ActivationHost host) {
  constexpr size_t kNetworkRank = 4;
  OperatorDesc alone = activation;
  const size_t rank = host == ActivationHost::kNetwork ? kNetworkRank : kMaxRank;
  SetTensors(DataType::kFloat32, std::vector<uint32_t>(rank, 1), alone);
  return alone;
}

}  // namespace

std::optional<OperatorDesc> FusedAlone(const OperatorDesc& host) {
  const OperatorDesc* activation = FusedActivationOf(host);
  if (activation == nullptr) return std::nullopt;
  const std::vector<TensorSlot> outputs = TensorSlots(host, TensorRole::kOutput);
  if (outputs.empty() || !outputs[0].desc->complete()) return std::nullopt;
  const TensorDesc& output = *outputs[0].desc;
  std::optional<OperatorDesc> alone(*activation);
  SetTensors(*output.data_type, *output.sizes, *alone);
  return alone;
}

void ForEachActivation(const OperatorDesc& host,
                       const std::function<void(LoneActivation activation)>& visit) {
  for (size_t i = 0; i < host.fields().size(); ++i) {
    const Field& field = *host.fields()[i];
    const auto* activations = std::get_if<std::vector<OperatorDesc>>(&host.values()[i]);
    if (activations == nullptr) continue;
    if (field.kind == FieldKind::kActivation) {
      const std::optional<OperatorDesc> alone = FusedAlone(host);
      visit({field, std::string(field.name),
             alone ? *alone : OnMadeUpTensors(activations->front(), field.host),
             alone.has_value()});
      continue;
    }
    for (size_t k = 0; k < activations->size(); ++k) {
      visit({field, At(field, k).path(), OnMadeUpTensors((*activations)[k], field.host), false});
    }
  }
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

std::function<void(const TensorView& tensor)> InPlaceFunction(const OperatorDesc& activation) {
  const auto* family = std::get_if<ElementWise>(&activation.info().family);
  if (family != nullptr && family->operands == nullptr && activation.info().in_place) {
    const OperatorDesc alone = OnMadeUpTensors(activation, ActivationHost::kNetwork);
    const ElementWiseCall call = WorkOf(*family, alone, {}).call;
    const bool is_copy = call.function == ElementWiseFunction::kCast;
    if (!is_copy) {
      return [call](const TensorView& tensor) {
        const ConstTensorView input = AsConst(tensor);
        ComputeElements(call, {&input, 1}, tensor);
      };
    }
  }
  return [&activation](const TensorView& tensor) { ActivateInPlace(activation, tensor); };
}

std::optional<FormulaNode> FormulaOfActivation(const OperatorDesc& activation, FormulaNode x,
                                               Formula& formula) {
  const auto* family = std::get_if<ElementWise>(&activation.info().family);
  if (family == nullptr) return std::nullopt;
  return FormulaOf(WorkOf(*family, activation, {}).call, {&x, 1}, formula);
}

}  // namespace dmlop
