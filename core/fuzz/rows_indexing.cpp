// SPDX-License-Identifier: Apache-2.0
// Sizes for operators whose places depend on values.

#include <algorithm>

#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

namespace dmlop {
namespace indexing_rows {
namespace {

uint32_t DrawAxis(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = static_cast<uint32_t>(from.Index(sizes.size()));
  Set(op, "Axis", axis);
  return axis;
}

Sizes WithAxis(Sizes sizes, uint32_t axis, uint32_t size) {
  sizes[axis] = size;
  return sizes;
}

// `count` sizes after leading 1s.
Sizes LastOf(const DescEntropy& from, size_t rank, size_t count, uint32_t most) {
  Sizes sizes(rank, 1);
  for (size_t d = rank - count; d < rank; ++d) sizes[d] = from.SmallSize(most, 4 * most);
  return sizes;
}

// Leading 1s make room for more dimensions of the indices.
void DrawGather(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes input = sizes;
  const size_t ones = from.Index(input.size());
  std::fill_n(input.begin(), ones, 1u);
  const size_t most = std::min(ones + 1, input.size());
  const size_t count = static_cast<size_t>(from.Between(0, most));
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "IndicesTensor", LastOf(from, input.size(), count, count > 4 ? 2 : 5));
  Set(op, "Axis", from.Number(ones, input.size() - 1));
  Set(op, "IndexDimensions", static_cast<uint32_t>(count));
}

void DrawElements(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = DrawAxis(from, sizes, op);
  // Updates of one element may not be the same, unless it does not matter which of them wins.
  const bool are_free = from.limits().open || op.name() != "SCATTER";
  const uint32_t most = are_free ? 33 : sizes[axis];
  const Sizes indices = WithAxis(sizes, axis, from.SmallSize(std::min(9u, most), most));
  SetSizes(op, "InputTensor", sizes);
  SetSizes(op, "IndicesTensor", indices);
  if (op.name() == "SCATTER") SetSizes(op, "UpdatesTensor", indices);
}

uint64_t ProductOf(const Sizes& sizes, size_t begin, size_t end) {
  uint64_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= sizes[d];
  return product;
}

// As many tuples as the first dimensions of the input have places, at most.
void LimitTuples(const Sizes& input, size_t input_dims, Sizes& indices) {
  const size_t first = input.size() - input_dims;
  const uint64_t most = ProductOf(input, first, first + indices.back());
  for (size_t d = 0; d + 1 < indices.size(); ++d) {
    if (ProductOf(indices, 0, indices.size() - 1) > most) indices[d] = 1;
  }
}

void DrawTuples(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t rank = sizes.size();
  const size_t input_dims = static_cast<size_t>(from.Between(1, rank));
  Sizes input(rank, 1);
  std::copy(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(input_dims),
            input.end() - static_cast<ptrdiff_t>(input_dims));
  const size_t index_dims = static_cast<size_t>(from.Between(1, rank));
  const bool has_batches = op.name() == "GATHER_ND1";
  const size_t batch_dims = has_batches ? from.Index(std::min(input_dims, index_dims)) : 0;
  Sizes indices = LastOf(from, rank, index_dims, 4);
  const size_t chosen = static_cast<size_t>(from.Between(1, input_dims - batch_dims));
  for (size_t b = 0; b < batch_dims; ++b) {
    indices[rank - index_dims + b] = input[rank - input_dims + b];
  }
  indices.back() = static_cast<uint32_t>(chosen);
  if (op.name() == "SCATTER_ND" && !from.limits().open) LimitTuples(input, input_dims, indices);
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "IndicesTensor", indices);
  Set(op, "InputDimensionCount", static_cast<uint32_t>(input_dims));
  Set(op, "IndicesDimensionCount", static_cast<uint32_t>(index_dims));
  if (has_batches) Set(op, "BatchDimensionCount", static_cast<uint32_t>(batch_dims));
  if (op.name() != "SCATTER_ND") return;
  Sizes updates(indices.begin() + static_cast<ptrdiff_t>(rank - index_dims), indices.end() - 1);
  updates.insert(updates.end(), input.end() - static_cast<ptrdiff_t>(input_dims - chosen),
                 input.end());
  while (updates.size() < rank) updates.insert(updates.begin(), 1);
  SetSizes(op, "UpdatesTensor", updates);
}

void DrawReversed(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "InputTensor", sizes);
  SetSizes(op, "SequenceLengthsTensor", WithAxis(sizes, DrawAxis(from, sizes, op), 1));
}

// At least two values, along any dimension.
void DrawOneHot(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = DrawAxis(from, sizes, op);
  const Sizes ones(sizes.size(), 1);
  SetSizes(op, "IndicesTensor", WithAxis(sizes, axis, 1));
  const uint32_t values_axis = static_cast<uint32_t>(from.Index(sizes.size()));
  SetSizes(op, "ValuesTensor", WithAxis(ones, values_axis, from.Number(2, 4)));
  SetSizes(op, "OutputTensor", sizes);
}

void DrawUnpooling(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t rank = sizes.size();
  const Sizes input = LastOf(from, rank, rank, 4);
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "IndicesTensor", input);
  Sizes output = LastOf(from, rank, rank, 5);
  // No two elements have the same place, unless it does not matter which of them wins.
  while (!from.limits().open && ProductOf(output, 0, rank) < ProductOf(input, 0, rank)) {
    ++output.back();
  }
  SetSizes(op, "OutputTensor", output);
}

// The output's sizes are drawn, because they do not follow from the state.
void DrawGenerator(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes state(static_cast<size_t>(from.Between(1, kMaxRank)), 1);
  state.back() = 6;
  SetSizes(op, "InputStateTensor", state);
  SetSizes(op, "OutputTensor", sizes);
}

void DrawSelection(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = DrawAxis(from, sizes, op);
  SetSizes(op, "InputTensor", sizes);
  Set(op, "K", from.Number(1, sizes[axis]));
}

// At least as many coordinates as the input has dimensions after its leading 1s.
void DrawNonzero(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes input = sizes;
  constexpr uint32_t kMost = 200;  // in elements
  uint32_t room = kMost;
  for (uint32_t& size : input) {
    size = std::min(size, room);
    room /= size;
  }
  SetSizes(op, "InputTensor", input);
  const auto first = std::find_if(input.begin(), input.end(), [](uint32_t n) { return n != 1; });
  const auto least = static_cast<uint64_t>(std::max<int64_t>(1, input.end() - first));
  if (from.OneIn(3)) return;
  SetSizes(op, "OutputCountTensor", Sizes(static_cast<size_t>(from.Between(1, kMaxRank)), 1));
  Sizes coordinates(static_cast<size_t>(from.Between(2, kMaxRank)), 1);
  coordinates.end()[-1] = from.Number(least, input.size());
  uint32_t elements = 1;
  for (const uint32_t size : input) elements *= size;
  coordinates.end()[-2] = elements;
  SetSizes(op, "OutputCoordinatesTensor", coordinates);
}

constexpr SizesRow kRows[] = {
    {"GATHER", DrawGather},
    {"GATHER_ELEMENTS", DrawElements},
    {"GATHER_ND", DrawTuples},
    {"GATHER_ND1", DrawTuples},
    {"MAX_UNPOOLING", DrawUnpooling},
    {"NONZERO_COORDINATES", DrawNonzero},
    {"ONE_HOT", DrawOneHot},
    {"RANDOM_GENERATOR", DrawGenerator},
    {"REVERSE_SUBSEQUENCES", DrawReversed},
    {"SCATTER", DrawElements},
    {"SCATTER_ND", DrawTuples},
    {"TOP_K", DrawSelection},
    {"TOP_K1", DrawSelection},
};

}  // namespace
}  // namespace indexing_rows

std::span<const SizesRow> IndexingSizes() {
  return indexing_rows::kRows;
}

}  // namespace dmlop
