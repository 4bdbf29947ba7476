// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/ops/attention/attention.h"

namespace dmlop::attention {
namespace {

constexpr const FieldOf<TensorDesc>* kSources[] = {
    &kQuery, &kKey, &kValue, &kStackedQueryKey, &kStackedKeyValue, &kStackedQueryKeyValue};

uint32_t FromEnd(const Sizes& sizes, size_t d) {
  return sizes[sizes.size() - d];
}

// Saturates: no tensor has a size above UINT32_MAX.
Sizes BehindOnes(size_t rank, const std::vector<uint64_t>& last) {
  Sizes sizes;
  for (const uint64_t size : last) {
    sizes.push_back(static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX)));
  }
  return dmlop::BehindOnes(rank, std::move(sizes));
}

uint32_t HeadsOf(const OperatorDesc& op, const FieldOf<uint32_t>& field) {
  const uint32_t* one_for_all = op.find_if_known(kHeadCount);
  return one_for_all != nullptr ? *one_for_all : op[field];
}

// --- sources of queries, keys and values ---------------------------------------------------------

bool CheckSources(const OperatorDesc& op, Inference& infer) {
  std::vector<std::string_view> names;
  int queries = 0;
  int keys = 0;
  int values = 0;
  for (const FieldOf<TensorDesc>* source : kSources) {
    if (!op.Has(*source)) continue;
    names.push_back(source->name);
    queries += source == &kQuery || source == &kStackedQueryKey || source == &kStackedQueryKeyValue;
    keys += source != &kQuery && source != &kValue;
    values += source == &kValue || source == &kStackedKeyValue || source == &kStackedQueryKeyValue;
  }
  const bool has_past = op.Has(kPastKey) && op.Has(kPastValue);
  const bool reads_past_only = queries == 1 && keys == 0 && values == 0 && has_past;
  const bool is_sound = reads_past_only || (queries == 1 && keys == 1 && values == 1);
  return infer.Require(is_sound, "MHA-1", At(kQuery),
                       "queries, keys and values must be there once each, or queries alone with "
                       "PastKeyTensor and PastValueTensor; there are: {}",
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

// Returns whether ranks suffice to take sizes from the tensors. No level allows others.
bool HaveRanks(const OperatorDesc& op) {
  const auto has = [&](const FieldOf<TensorDesc>& tensor, size_t rank) {
    return !op.Has(tensor) || op[tensor].rank() >= rank;
  };
  return has(kQuery, 3) && has(kKey, 3) && has(kValue, 3) && has(kStackedQueryKey, 5) &&
         has(kStackedKeyValue, 5) && has(kStackedQueryKeyValue, 5) && has(kPastKey, 4) &&
         has(kPastValue, 4);
}

bool CheckDivides(const FieldOf<TensorDesc>& tensor, uint32_t heads, const OperatorDesc& op,
                  Inference& infer) {
  if (!op.Has(tensor)) return true;
  const TensorAt at = infer.tensor(tensor);
  return infer.Require(at.sizes().back() % heads == 0, "MHA-2", SizeAt(at, at.sizes().size() - 1),
                       "{} does not divide by the number of heads, {}", at.sizes().back(), heads);
}

bool CheckHeads(const OperatorDesc& op, Inference& infer) {
  const uint32_t query_heads = HeadsOf(op, kQueryHeadCount);
  const uint32_t key_heads = HeadsOf(op, kKeyValueHeadCount);
  const bool divides = CheckDivides(kQuery, query_heads, op, infer) &&
                       CheckDivides(kKey, key_heads, op, infer) &&
                       CheckDivides(kValue, key_heads, op, infer);
  if (query_heads == key_heads) return divides;
  const bool is_group =
      infer.Require(query_heads % key_heads == 0, "MHA-11", At(kKeyValueHeadCount),
                    "{} does not divide QueryHeadCount, which is {}", key_heads, query_heads);
  return divides && is_group;
}

// --- sizes ---------------------------------------------------------------------------------------

void RequireSizes(std::string_view code, const FieldOf<TensorDesc>& tensor,
                  const std::vector<uint64_t>& last, const OperatorDesc& op, Inference& infer) {
  if (!Has(op, tensor)) return;
  infer.RequireSizes(code, infer.tensor(tensor), BehindOnes(op[tensor].rank(), last));
}

// Returns whether the tensor has `count` elements along one dimension and 1 along all others.
bool IsRow(const Sizes& sizes, uint32_t count) {
  const auto is_one = [](uint32_t size) { return size == 1; };
  const auto first = std::find_if_not(sizes.begin(), sizes.end(), is_one);
  if (first == sizes.end()) return count == 1;
  return *first == count && std::all_of(first + 1, sizes.end(), is_one);
}

void CheckInputs(const OperatorDesc& op, const Shapes& shapes, Inference& infer) {
  const auto [b, s, l, p, t, nq, nk, h, hv] = shapes;
  RequireSizes("MHA-2", kQuery, {b, s, uint64_t{nq} * h}, op, infer);
  RequireSizes("MHA-2", kKey, {b, l, uint64_t{nk} * h}, op, infer);
  RequireSizes("MHA-2", kValue, {b, l, uint64_t{nk} * hv}, op, infer);
  // Stacked queries have as many heads as the keys.
  RequireSizes("MHA-2", kStackedQueryKey, {b, s, nq, 2, h}, op, infer);
  RequireSizes("MHA-2", kStackedKeyValue, {b, l, nk, 2, h}, op, infer);
  RequireSizes("MHA-2", kStackedQueryKeyValue, {b, s, nq, 3, h}, op, infer);
  const bool is_stack = op.Has(kStackedQueryKey) || op.Has(kStackedQueryKeyValue);
  infer.Require(!is_stack || nq == nk, "MHA-2", At(kKeyValueHeadCount),
                "{} is not QueryHeadCount, which is {}: they are stacked", nk, nq);
  RequireSizes("MHA-4", kBias, {uint64_t{nq} * h + uint64_t{nk} * h + uint64_t{nk} * hv}, op,
               infer);
  RequireSizes("MHA-5", kPositionBias, {b, nq, s, t}, op, infer);
  RequireSizes("MHA-10", kPastKey, {b, nk, p, h}, op, infer);
  RequireSizes("MHA-10", kPastValue, {b, nk, p, hv}, op, infer);
  if (Has(op, kPastLengths) && !IsRow(op.sizes(kPastLengths), b)) {
    RequireSizes("MHA-12", kPastLengths, {b}, op, infer);
  }
}

void CheckMask(const OperatorDesc& op, const Shapes& shapes, Inference& infer) {
  const auto type = static_cast<MaskType>(op[kMaskType]);
  if (!infer.Require(op.Has(kMask) == (type != kNoMask), "MHA-6", At(kMask),
                     "MaskType is {}: a mask is {}", kMaskTypeNames[type],
                     type == kNoMask ? "not used" : "needed")) {
    return;
  }
  const uint64_t batches = shapes.batches;
  switch (type) {
    case kNoMask:
      return;
    case kKeySequenceLength:
      return RequireSizes("MHA-8", kMask, {batches}, op, infer);
    case kKeySequenceEndStart:
      return RequireSizes("MHA-8", kMask, {2, batches}, op, infer);
    case kKeyQuerySequenceLengthStartEnd:
      return RequireSizes("MHA-9", kMask, {3 * batches + 2}, op, infer);
    case kBoolean:
      return RequireSizes("MHA-7", kMask,
                          {batches, shapes.query_heads, shapes.queries, shapes.keys}, op, infer);
  }
}

// The output keeps its own rank if it has one; otherwise it gets `rank`.
void InferOutput(std::string_view code, const FieldOf<TensorDesc>& output, size_t rank,
                 const std::vector<uint64_t>& last, const OperatorDesc& op, Inference& infer) {
  if (!op.Has(output)) return;
  if (op[output].sizes) rank = op[output].rank();
  infer.Output(code, output, BehindOnes(rank, last));
}

void InferOutputs(const OperatorDesc& op, const Shapes& shapes, Inference& infer) {
  const auto [b, s, l, p, t, nq, nk, h, hv] = shapes;
  InferOutput("MHA-2", kOutputTensor, op.Has(kQuery) ? op[kQuery].rank() : 3,
              {b, s, uint64_t{nq} * hv}, op, infer);
  const std::string_view code = Has(op, kPastLengths) ? "MHA-13" : "MHA-10";
  InferOutput(code, kPresentKey, 4, {b, nk, t, h}, op, infer);
  InferOutput(code, kPresentValue, 4, {b, nk, t, hv}, op, infer);
}

// Returns how many keys the cache has, if its sizes are given.
std::optional<uint32_t> PresentKeys(const OperatorDesc& op) {
  for (const FieldOf<TensorDesc>* present : {&kPresentKey, &kPresentValue}) {
    if (!op.Has(*present) || !op[*present].sizes || op[*present].rank() < 4) continue;
    return FromEnd(op.sizes(*present), 2);
  }
  return std::nullopt;
}

void CheckPastLengths(const OperatorDesc& op, const Shapes& shapes, Inference& infer) {
  if (!Has(op, kPastLengths)) return;
  const DataType type = *op[kPastLengths].data_type;
  const DataType common = *op[kOutputTensor].data_type;
  infer.Require(type == DataType::kInt32 || type == common, "MHA-12",
                {kPastLengths.name, std::nullopt, "DataType"}, "{} is neither INT32 nor {}",
                Name(type), Name(common));
  infer.Require(shapes.keys >= shapes.fresh, "MHA-13",
                At(op.Has(kPresentKey) ? kPresentKey : kPresentValue),
                "{} keys have no room for the {} that are new", shapes.keys, shapes.fresh);
}

}  // namespace

bool Has(const OperatorDesc& op, const FieldOf<TensorDesc>& tensor) {
  return op.find_if_known(tensor) != nullptr;
}

Shapes ShapesOf(const OperatorDesc& op) {
  Shapes shapes{};
  shapes.query_heads = HeadsOf(op, kQueryHeadCount);
  shapes.key_heads = HeadsOf(op, kKeyValueHeadCount);
  if (op.Has(kPastKey)) {
    shapes.past = FromEnd(op.sizes(kPastKey), 2);
    shapes.value_size = op.sizes(kPastValue).back();
  }
  if (op.Has(kQuery)) {
    const Sizes& sizes = op.sizes(kQuery);
    shapes.batches = FromEnd(sizes, 3);
    shapes.queries = FromEnd(sizes, 2);
    shapes.size = sizes.back() / shapes.query_heads;
  }
  if (op.Has(kKey)) shapes.fresh = FromEnd(op.sizes(kKey), 2);
  for (const FieldOf<TensorDesc>* stack :
       {&kStackedQueryKey, &kStackedKeyValue, &kStackedQueryKeyValue}) {
    if (!op.Has(*stack)) continue;
    const Sizes& sizes = op.sizes(*stack);
    shapes.fresh = sizes[1];
    if (stack != &kStackedKeyValue) {
      shapes.batches = sizes[0];
      shapes.queries = sizes[1];
      shapes.size = sizes[4];
    }
    shapes.value_size = sizes[4];
  }
  if (op.Has(kValue)) shapes.value_size = op.sizes(kValue).back() / shapes.key_heads;
  shapes.keys = shapes.past + shapes.fresh;
  if (Has(op, kPastLengths)) shapes.keys = PresentKeys(op).value_or(shapes.keys);
  return shapes;
}

void Infer(const OperatorDesc& op, Inference& infer) {
  const bool is_past_whole =
      infer.Require(op.Has(kPastKey) == op.Has(kPastValue), "MHA-10", At(kPastKey),
                    "PastKeyTensor and PastValueTensor are there only together");
  if (!CheckSources(op, infer) || !is_past_whole || !HaveRanks(op)) return;
  if (!CheckHeads(op, infer)) return;
  const Shapes shapes = ShapesOf(op);
  CheckInputs(op, shapes, infer);
  CheckMask(op, shapes, infer);
  CheckPastLengths(op, shapes, infer);
  InferOutputs(op, shapes, infer);
}

}  // namespace dmlop::attention
