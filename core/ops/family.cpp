#include "core/ops/family.h"

#include "core/ops/families.h"

namespace dmlop {

Dims Region::IndexAt(int64_t k) const {
  Dims index = IndexOf(sizes, k);
  for (size_t d = 0; d < index.size(); ++d) index[d] += begin[d];
  return index;
}

void RunActivation(OperatorDesc activation, const ConstTensorView& input,
                   const TensorView& output) {
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.AddTensor(*tensor);
  for (const MutableTensorSlot& slot : TensorSlots(activation)) {
    slot.desc->data_type = output.type;
    slot.desc->sizes.emplace(output.layout.sizes.begin(), output.layout.sizes.end());
  }
  Run(activation, {&input, 1}, {&output, 1});
}

namespace {

// The result is that of the activation by itself: what it sees has been rounded.
void Activate(const OperatorDesc& host, const TensorView& output) {
  const OperatorDesc* activation = FusedActivationOf(host);
  if (activation != nullptr) RunActivation(*activation, AsConst(output), output);
}

}  // namespace

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  std::visit([&](const auto& family) { Run(family, op, inputs, outputs); }, op.info().family);
  Activate(op, outputs[0]);
}

std::vector<SourceMap> SourcesOf(const OperatorDesc& op) {
  return std::visit([&](const auto& family) { return SourcesOf(family, op); }, op.info().family);
}

void RunPart(const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output) {
  std::visit([&](const auto& family) { RunPart(family, op, inputs, part, output); },
             op.info().family);
  if (part.tensor == 0) Activate(op, output);
}

bool HasCheapParts(const OperatorDesc& op) {
  const auto* custom = std::get_if<Custom>(&op.info().family);
  return custom == nullptr || custom->whole == nullptr;
}

int64_t OperationsOf(const OperatorDesc& op) {
  int64_t (*operations)(const OperatorDesc&) = nullptr;
  if (const auto* custom = std::get_if<Custom>(&op.info().family)) operations = custom->operations;
  if (const auto* placed = std::get_if<Placed>(&op.info().family)) operations = placed->operations;
  return operations == nullptr ? 0 : operations(op);
}

void WarnOfValues(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  void (*warn)(const OperatorDesc&, InputViews, Diagnostics&) = nullptr;
  if (const auto* custom = std::get_if<Custom>(&op.info().family)) warn = custom->warn;
  if (const auto* placed = std::get_if<Placed>(&op.info().family)) warn = placed->warn;
  if (warn != nullptr) warn(op, inputs, diagnostics);
}

}  // namespace dmlop
