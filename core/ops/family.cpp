// SPDX-License-Identifier: Apache-2.0
#include "core/ops/family.h"

#include <utility>

#include "core/engine/copy/copy_views.h"
#include "core/ops/families.h"
#include "core/ops/fused.h"

namespace dmlop {

Dims Region::IndexAt(int64_t k) const {
  Dims index = IndexOf(sizes, k);
  for (size_t d = 0; d < index.size(); ++d) index[d] += begin[d];
  return index;
}

void CopyInner(const TensorView& computed, const Region& region, Region part,
               const TensorView& output) {
  for (size_t d = 0; d < part.begin.size(); ++d) part.begin[d] -= region.begin[d];
  CopyView(AsConst(Narrowed(computed, part)), output);
}

namespace {

void RunOwnPart(const OperatorDesc& op, InputViews inputs, const Region& part,
                const TensorView& output) {
  std::visit([&](const auto& family) { RunPart(family, op, inputs, part, output); },
             op.info().family);
}

// Computes a part of an output if the activation needs more of the operator's own result than that.
void RunWidened(const OperatorDesc& op, InputViews inputs, const Region& part, const Region& needed,
                const TensorView& output) {
  Buffer buffer(static_cast<size_t>(needed.count()) * ByteWidth(output.type));
  const TensorView own{buffer.data(), output.type, PackedLayout(needed.sizes)};
  RunOwnPart(op, inputs, needed, own);
  ActivateInPlace(*FusedActivationOf(op), own);
  CopyInner(own, needed, part, output);
}

bool CutsAnywhere(const OperatorDesc& op) {
  const auto* computed = std::get_if<Computed>(&op.info().family);
  return computed == nullptr || computed->unsplittable_dims == nullptr;
}

}  // namespace

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  std::visit([&](const auto& family) { Run(family, op, inputs, outputs); }, op.info().family);
  const OperatorDesc* activation = FusedActivationOf(op);
  if (activation != nullptr) ActivateInPlace(*activation, outputs[0]);
}

std::vector<SourceMap> SourcesOf(const OperatorDesc& op) {
  auto maps =
      std::visit([&](const auto& family) { return SourcesOf(family, op); }, op.info().family);
  const auto activation = FusedAlone(op);
  if (!activation || CutsAnywhere(*activation)) return maps;
  for (SourceMap& map : maps) {
    map = [own = std::move(map), activation = *activation](const Region& output) {
      return own(output.tensor == 0 ? ComputedWith(activation, output) : output);
    };
  }
  return maps;
}

void RunPart(const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output) {
  const OperatorDesc* activation = part.tensor == 0 ? FusedActivationOf(op) : nullptr;
  if (activation == nullptr) return RunOwnPart(op, inputs, part, output);
  const Region needed = ComputedWith(*FusedAlone(op), part);
  if (needed.sizes != part.sizes) return RunWidened(op, inputs, part, needed, output);
  RunOwnPart(op, inputs, part, output);
  ActivateInPlace(*activation, output);
}

bool HasCheapParts(const OperatorDesc& op) {
  const OperatorDesc* activation = FusedActivationOf(op);
  return CutsAnywhere(op) && (activation == nullptr || CutsAnywhere(*activation));
}

bool RunsOnAnyPart(const OperatorDesc& op) {
  const auto* element_wise = std::get_if<ElementWise>(&op.info().family);
  if (element_wise == nullptr || element_wise->operands != nullptr ||
      TensorSlots(op, TensorRole::kInput).empty()) {
    return false;
  }
  const OperatorDesc* activation = FusedActivationOf(op);
  return activation == nullptr || std::holds_alternative<ElementWise>(activation->info().family);
}

int64_t OperationsOf(const OperatorDesc& op) {
  const auto* computed = std::get_if<Computed>(&op.info().family);
  return computed == nullptr || computed->operations == nullptr ? 0 : computed->operations(op);
}

void WarnOfValues(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const auto* computed = std::get_if<Computed>(&op.info().family);
  if (computed != nullptr && computed->warn != nullptr) computed->warn(op, inputs, diagnostics);
}

}  // namespace dmlop
