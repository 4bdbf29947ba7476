#include "core/ops/family.h"

#include "core/ops/families.h"

namespace dmlop {

Dims Region::IndexAt(int64_t k) const {
  Dims index = IndexOf(sizes, k);
  for (size_t d = 0; d < index.size(); ++d) index[d] += begin[d];
  return index;
}

namespace {

// The result is that of the activation by itself: what it sees has been rounded.
void Activate(const OperatorDesc& host, const TensorView& output) {
  const std::vector<OperatorDesc>* activation = host.find_if_known(kFusedActivation);
  if (activation == nullptr) return;
  const ConstTensorView input{output.data, output.type, output.layout};
  Run(activation->front(), {&input, 1}, {&output, 1});
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
  Activate(op, output);
}

bool HasCheapParts(const OperatorDesc& op) {
  const auto* indexed = std::get_if<Indexed>(&op.info().family);
  return indexed == nullptr || indexed->whole == nullptr;
}

void WarnOfValues(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const auto* indexed = std::get_if<Indexed>(&op.info().family);
  if (indexed != nullptr && indexed->warn != nullptr) indexed->warn(op, inputs, diagnostics);
}

}  // namespace dmlop
