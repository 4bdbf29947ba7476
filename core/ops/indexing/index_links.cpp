// SPDX-License-Identifier: Apache-2.0
#include "core/ops/indexing/index_links.h"

#include "core/base/text.h"
#include "core/engine/index/place_rule.h"

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

// --- tuples --------------------------------------------------------------------------------------

namespace {

bool RequireCount(std::string_view rule, const FieldOf<uint32_t>& field, const OperatorDesc& op,
                  size_t rank, Inference& infer) {
  return infer.Require(op[field] >= 1 && op[field] <= rank, rule, At(field),
                       "{} is out of range [1, {}]", op[field], rank);
}

void RequireLeadingOnes(std::string_view rule, const TensorAt& tensor, size_t count,
                        Inference& infer) {
  for (size_t d = 0; d < count; ++d) {
    infer.Require(Agree(tensor.sizes()[d], 1), rule, SizeAt(tensor, d),
                  "the size before the last {} is {}; expected 1", tensor.desc.rank() - count,
                  tensor.sizes()[d]);
  }
}

// Takes a valid descriptor. The tuples index InputTensor.
Tuples TuplesOf(const OperatorDesc& op) {
  const uint32_t* batches = op.find_if_known(kBatchDims);
  return {op.sizes(kInputTensor).size(), op[kIndexedDims], op[kIndexDims],
          batches == nullptr ? 0 : *batches, op.sizes(kIndicesTensor).back()};
}

}  // namespace

IndexLinks TupleLinks(const OperatorDesc& op) {
  const Tuples t = TuplesOf(op);
  IndexLinks links;
  links.dims.resize(t.rank - (t.index_dims - 1 + t.rest()));  // leading 1s
  for (size_t i = 0; i + 1 < t.index_dims; ++i) {
    links.dims.push_back(
        {i < t.batch_dims ? t.first_input() + i : IndexLinks::kNone, t.first_index() + i});
  }
  for (size_t d = t.rank - t.rest(); d < t.rank; ++d) links.dims.push_back({.data = d});
  for (size_t k = 0; k < t.size; ++k) links.chosen.push_back(t.first_input() + t.batch_dims + k);
  links.tuple = t.rank - 1;
  return links;
}

Sizes TupleSizes(const OperatorDesc& op) {
  Sizes sizes;
  for (const IndexLinks::Dim& dim : TupleLinks(op).dims) {
    sizes.push_back(dim.index != IndexLinks::kNone  ? op.sizes(kIndicesTensor)[dim.index]
                    : dim.data != IndexLinks::kNone ? op.sizes(kInputTensor)[dim.data]
                                                    : 1);
  }
  return sizes;
}

bool CheckTuples(const TupleRules& rules, const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  const TensorAt indices = infer.tensor(kIndicesTensor);
  const size_t rank = input.desc.rank();
  if (!infer.RequireSameRank(rules.ranks, indices, input)) return false;
  bool holds = RequireCount(rules.counts, kIndexedDims, op, rank, infer);
  holds &= RequireCount(rules.counts, kIndexDims, op, rank, infer);
  if (!holds) return false;
  const Tuples t = TuplesOf(op);
  if (!infer.Require(t.batch_dims < std::min(t.input_dims, t.index_dims), rules.counts,
                     At(kBatchDims), "{} is not less than {}", t.batch_dims,
                     std::min(t.input_dims, t.index_dims))) {
    return false;
  }
  RequireLeadingOnes(rules.leading, input, t.first_input(), infer);
  RequireLeadingOnes(rules.leading, indices, t.first_index(), infer);
  for (size_t i = 0; i < t.batch_dims; ++i) {
    const uint32_t expected = input.sizes()[t.first_input() + i];
    const uint32_t size = indices.sizes()[t.first_index() + i];
    infer.Require(Agree(size, expected), rules.batches, SizeAt(indices, t.first_index() + i),
                  "the size of a batch dimension is {}; expected {}, as {} has", size, expected,
                  input.name());
  }
  if (IsUnknown(t.size)) return false;
  if (!infer.Require(t.size <= t.input_dims - t.batch_dims, rules.tuple, SizeAt(indices, rank - 1),
                     "tuples of {} are out of range [1, {}]", Counted(t.size, "index"),
                     t.input_dims - t.batch_dims)) {
    return false;
  }
  const size_t dims = t.index_dims - 1 + t.rest();
  return infer.Require(dims <= rank, rules.output, At(kIndexDims),
                       "what the tuples choose has {}, more than the {} of the tensors",
                       Counted(dims, "dimension"), rank);
}

}  // namespace dmlop::indexing
