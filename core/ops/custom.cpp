// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "core/ops/families.h"

namespace dmlop {
namespace {

std::vector<uint32_t> WholeOf(const Custom& family, const OperatorDesc& op) {
  return family.whole == nullptr ? std::vector<uint32_t>() : family.whole(op);
}

// Widens a part to all of the tensor along the dimensions in `whole`.
Region Widened(Region part, const std::vector<uint32_t>& whole, const TensorDesc& tensor) {
  for (const uint32_t d : whole) {
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
std::vector<Region> RegionsOf(const std::vector<uint32_t>& whole, const OperatorDesc& op,
                              const Region& part) {
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  std::vector<Region> regions;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorDesc& desc = *outputs[i].desc;
    const bool is_all = whole.size() >= desc.rank();
    Region region = is_all ? AllOf(i, desc) : Widened(part, whole, desc);
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

}  // namespace

std::vector<uint32_t> AllDimensions(const OperatorDesc&) {
  std::vector<uint32_t> all(kMaxRank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Region ComputedWith(const OperatorDesc& op, const Region& part) {
  const auto* custom = std::get_if<Custom>(&op.info().family);
  if (custom == nullptr) return part;
  return Widened(part, WholeOf(*custom, op),
                 *TensorSlots(op, TensorRole::kOutput)[part.tensor].desc);
}

void Run(const Custom& family, const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  family.run(op, inputs, outputs);
}

std::vector<SourceMap> SourcesOf(const Custom& family, const OperatorDesc& op) {
  return family.sources(op);
}

void RunPart(const Custom& family, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output) {
  const std::vector<uint32_t> whole = WholeOf(family, op);
  const std::vector<Region> regions = RegionsOf(whole, op, part);
  const Region& own = regions[part.tensor];
  const std::vector<TensorSlot> input_slots = TensorSlots(op, TensorRole::kInput);
  std::vector<ConstTensorView> narrowed(inputs.begin(), inputs.end());
  for (const SourceMap& source : family.sources(op)) {
    const auto region = PartOfInput(source, own, regions);
    if (!region) continue;  // this input is not read
    const size_t input = region->tensor;
    narrowed[input] = Narrowed(inputs[input], Widened(*region, whole, *input_slots[input].desc));
  }
  if (regions.size() == 1 && own.sizes == part.sizes) {
    return family.run(op, narrowed, {&output, 1});
  }
  std::vector<Buffer> buffers;
  std::vector<TensorView> views;
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  for (const Region& region : regions) {
    const DataType type = *outputs[region.tensor].desc->data_type;
    Buffer& buffer = buffers.emplace_back(static_cast<size_t>(region.count()) * ByteWidth(type));
    views.push_back({buffer.data(), type, PackedLayout(region.sizes)});
  }
  family.run(op, narrowed, views);
  CopyInner(views[part.tensor], own, part, output);
}

}  // namespace dmlop
