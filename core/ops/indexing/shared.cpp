// SPDX-License-Identifier: Apache-2.0
#include "core/ops/indexing/shared.h"

#include "core/engine/index/indexed_rows.h"
#include "core/engine/index/stray_indices.h"

namespace dmlop::indexing {
namespace {

Region AllOf(size_t tensor, const std::vector<uint32_t>& sizes) {
  const Dims dims(sizes.begin(), sizes.end());
  return {tensor, Dims::Filled(dims.size(), 0), dims};
}

const std::vector<uint32_t>& InputSizes(const OperatorDesc& op, size_t input) {
  return *TensorSlots(op, TensorRole::kInput)[input].desc->sizes;
}

void Narrow(Region& region, size_t dim, const Region& like, size_t like_dim) {
  if (dim == IndexLinks::kNone) return;
  region.begin[dim] = like.begin[like_dim];
  region.sizes[dim] = like.sizes[like_dim];
}

}  // namespace

IndexLinks ElementLinks(const OperatorDesc& op) {
  IndexLinks links;
  const size_t axis = op[kAxis];
  for (size_t d = 0; d < op.sizes(kIndicesTensor).size(); ++d) {
    links.dims.push_back({d == axis ? IndexLinks::kNone : d, d});
  }
  links.chosen = {axis};
  return links;
}

std::vector<int64_t> ChosenSizes(const IndexLinks& links, const Layout& data) {
  std::vector<int64_t> sizes;
  for (const size_t d : links.chosen) sizes.push_back(data.sizes[d]);
  return sizes;
}

std::vector<SourceMap> GatherSources(const OperatorDesc& op, const IndexLinks& links) {
  const Region data = AllOf(0, InputSizes(op, 0));
  const Region indices = AllOf(1, InputSizes(op, 1));
  return {[data, links](const Region& output) {
            Region source = data;
            for (size_t d = 0; d < links.dims.size(); ++d) {
              Narrow(source, links.dims[d].data, output, d);
            }
            return source;
          },
          [indices, links](const Region& output) {
            Region source = indices;
            for (size_t d = 0; d < links.dims.size(); ++d) {
              Narrow(source, links.dims[d].index, output, d);
            }
            return source;
          }};
}

std::vector<SourceMap> ScatterSources(const OperatorDesc& op, const IndexLinks& links) {
  const Region indices = AllOf(1, InputSizes(op, 1));
  const Region updates = AllOf(2, InputSizes(op, 2));
  return {[](const Region& output) {
            return Region{0, output.begin, output.sizes};
          },
          [indices, links](const Region& output) {
            Region source = indices;
            for (const IndexLinks::Dim& dim : links.dims) {
              if (dim.data != IndexLinks::kNone) Narrow(source, dim.index, output, dim.data);
            }
            return source;
          },
          [updates, links](const Region& output) {
            Region source = updates;
            for (size_t d = 0; d < links.dims.size(); ++d) {
              if (links.dims[d].data != IndexLinks::kNone) {
                Narrow(source, d, output, links.dims[d].data);
              }
            }
            return source;
          }};
}

SourceMap AllOfInput(const OperatorDesc& op, size_t input) {
  return [all = AllOf(input, InputSizes(op, input))](const Region&) { return all; };
}

SourceMap AlongAxis(const OperatorDesc& op, size_t input) {
  const uint32_t axis = op[kAxis];
  return [input, axis, size = InputSizes(op, input)[axis]](const Region& output) {
    Region source{input, output.begin, output.sizes};
    source.begin[axis] = 0;
    source.sizes[axis] = size;
    return source;
  };
}

std::vector<uint32_t> TheAxis(const OperatorDesc& op) {
  return {op[kAxis]};
}

void WarnOfIndices(const OperatorDesc& op, InputViews inputs, std::span<const int64_t> sizes,
                   std::string_view what_happens, Diagnostics& diagnostics) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  constexpr size_t kIndices = 1;
  const ConstTensorView& indices = inputs[kIndices];
  WarnOfStray(FindStrayIndices(indices, sizes), slots[kIndices].path, indices.layout, what_happens,
              diagnostics);
}

void Gather(const IndexLinks& links, InputViews inputs, OutputViews outputs) {
  const auto places = ChosenPlaces(links, inputs[0].layout, inputs[1]);
  GatherRows(links, *places, inputs[0], inputs[1].layout, outputs[0]);
}

void Scatter(const IndexLinks& links, InputViews inputs, OutputViews outputs) {
  CopyAndScatter(links, inputs[0], inputs[1], inputs[2], outputs[0]);
}

}  // namespace dmlop::indexing
