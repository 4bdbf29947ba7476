// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "core/ops/families.h"

namespace dmlop {
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
