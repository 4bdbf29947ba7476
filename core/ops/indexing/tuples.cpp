// SPDX-License-Identifier: Apache-2.0
#include "core/ops/indexing/tuples.h"

#include "core/base/counted.h"

namespace dmlop::indexing {
namespace {

bool RequireCount(std::string_view rule, const FieldOf<uint32_t>& field, const OperatorDesc& op,
                  size_t rank, Inference& infer) {
  return infer.Require(op[field] >= 1 && op[field] <= rank, rule, At(field),
                       "{} is out of range [1, {}]", op[field], rank);
}

void RequireLeadingOnes(std::string_view rule, const TensorAt& tensor, size_t count,
                        Inference& infer) {
  for (size_t d = 0; d < count; ++d) {
    infer.Require(tensor.sizes()[d] == 1, rule, SizeAt(tensor, d),
                  "the size before the last {} is {}; expected 1", tensor.desc.rank() - count,
                  tensor.sizes()[d]);
  }
}

}  // namespace

Tuples TuplesOf(const OperatorDesc& op) {
  const uint32_t* batches = op.find_if_known(kBatchDims);
  return {op.sizes(kInputTensor).size(), op[kIndexedDims], op[kIndexDims],
          batches == nullptr ? 0 : *batches, op.sizes(kIndicesTensor).back()};
}

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
    infer.Require(size == expected, rules.batches, SizeAt(indices, t.first_index() + i),
                  "the size of a batch dimension is {}; expected {}, as {} has", size, expected,
                  input.name());
  }
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
