// SPDX-License-Identifier: Apache-2.0
#include "core/ops/family.h"

#include <numeric>
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
  return computed == nullptr ||
         (computed->unsplittable_dims == nullptr && computed->together == nullptr);
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

// --- operators that compute ----------------------------------------------------------------------

namespace {

std::vector<uint32_t> UnsplittableDims(const Computed& family, const OperatorDesc& op) {
  return family.unsplittable_dims == nullptr ? std::vector<uint32_t>()
                                             : family.unsplittable_dims(op);
}

// Widens a part to all of the tensor along some dimensions.
Region Widened(Region part, const std::vector<uint32_t>& dims, const TensorDesc& tensor) {
  for (const uint32_t d : dims) {
    if (d >= tensor.rank()) continue;
    part.begin[d] = 0;
    part.sizes[d] = (*tensor.sizes)[d];
  }
  return part;
}

Region AllOf(size_t tensor, const TensorDesc& desc) {
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  return {tensor, Dims::Filled(sizes.size(), 0), sizes};
}

// Returns the parts of all outputs that are computed together with a part of one of them.
std::vector<Region> RegionsOf(const std::vector<uint32_t>& unsplittable, const OperatorDesc& op,
                              const Region& part) {
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  std::vector<Region> regions;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorDesc& desc = *outputs[i].desc;
    const bool is_all = unsplittable.size() >= desc.rank();
    Region region = is_all ? AllOf(i, desc) : Widened(part, unsplittable, desc);
    region.tensor = i;
    regions.push_back(region);
  }
  return regions;
}

// Returns the part of an input that the outputs' parts are computed from. `own` is asked first;
// other outputs, which are computed together with it, may need an input that it does not.
std::optional<Region> PartOfInput(const SourceMap& source, const Region& own,
                                  const std::vector<Region>& regions) {
  std::optional<Region> part = source(own);
  for (size_t i = 0; i < regions.size() && !part; ++i) part = source(regions[i]);
  return part;
}

// Computes a part of an output, and of other outputs with it, from parts of the inputs.
void RunOnPartsOf(const Computed& family, RunOnParts run, const OperatorDesc& op, InputViews inputs,
                  const Region& part, const TensorView& output) {
  const std::vector<uint32_t> unsplittable = UnsplittableDims(family, op);
  const std::vector<Region> regions = RegionsOf(unsplittable, op, part);
  const Region& own = regions[part.tensor];
  const std::vector<TensorSlot> input_slots = TensorSlots(op, TensorRole::kInput);
  std::vector<ConstTensorView> narrowed(inputs.begin(), inputs.end());
  for (const SourceMap& source : family.sources(op)) {
    const auto region = PartOfInput(source, own, regions);
    if (!region) continue;  // this input is not read
    const size_t input = region->tensor;
    narrowed[input] =
        Narrowed(inputs[input], Widened(*region, unsplittable, *input_slots[input].desc));
  }
  if (regions.size() == 1 && own.sizes == part.sizes) {
    return run(op, narrowed, {&output, 1});
  }
  std::vector<Buffer> buffers;
  std::vector<TensorView> views;
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  for (const Region& region : regions) {
    const DataType type = *outputs[region.tensor].desc->data_type;
    Buffer& buffer = buffers.emplace_back(static_cast<size_t>(region.count()) * ByteWidth(type));
    views.push_back({buffer.data(), type, PackedLayout(region.sizes)});
  }
  run(op, narrowed, views);
  CopyInner(views[part.tensor], own, part, output);
}

void RunAt(RunAtPlace run, const OperatorDesc& op, InputViews inputs, const Region& part,
           const TensorView& output) {
  std::vector<TensorView> outputs;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    outputs.push_back({nullptr, *slot.desc->data_type, output.layout});
  }
  outputs[part.tensor].data = output.data;
  run(op, inputs, part.begin, outputs);
}

}  // namespace

const Computed* ComputedOnParts(const OperatorDesc& op) {
  const auto* computed = std::get_if<Computed>(&op.info().family);
  const bool is_on_parts = computed != nullptr && std::holds_alternative<RunOnParts>(computed->run);
  return is_on_parts ? computed : nullptr;
}

std::vector<uint32_t> AllDimensions(const OperatorDesc&) {
  std::vector<uint32_t> all(kMaxRank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Region ComputedWith(const OperatorDesc& op, const Region& part) {
  const auto* computed = std::get_if<Computed>(&op.info().family);
  if (computed == nullptr) return part;
  if (computed->together != nullptr) return computed->together(op, part);
  return Widened(part, UnsplittableDims(*computed, op),
                 *TensorSlots(op, TensorRole::kOutput)[part.tensor].desc);
}

void Run(const Computed& family, const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  if (const auto* run = std::get_if<RunOnParts>(&family.run)) return (*run)(op, inputs, outputs);
  const Dims begin = Dims::Filled(outputs[0].layout.rank(), 0);
  std::get<RunAtPlace>(family.run)(op, inputs, begin, outputs);
}

std::vector<SourceMap> SourcesOf(const Computed& family, const OperatorDesc& op) {
  return family.sources(op);
}

void RunPart(const Computed& family, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output) {
  if (const auto* run = std::get_if<RunOnParts>(&family.run)) {
    RunOnPartsOf(family, *run, op, inputs, part, output);
  } else {
    RunAt(std::get<RunAtPlace>(family.run), op, inputs, part, output);
  }
}

}  // namespace dmlop
