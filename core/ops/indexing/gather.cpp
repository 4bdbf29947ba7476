// SPDX-License-Identifier: Apache-2.0
// Operators that take elements by indices, or put them elsewhere.
#include <algorithm>

#include "core/base/text.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/index/indexed_rows.h"
#include "core/ops/indexing/index_links.h"

namespace dmlop::gather {
namespace {

using namespace indexing;

constexpr auto kIndexDimensions = field::Uint("IndexDimensions", {.max = kMaxRank});
constexpr auto kGatherFields =
    Fields(kInputTensor, kIndicesTensor, kOutputTensor, kAxis, kIndexDimensions);
constexpr auto kElementsFields = Fields(kInputTensor, kIndicesTensor, kOutputTensor, kAxis);

// --- GATHER --------------------------------------------------------------------------------------

// A dimension of the output, and its origin.
struct GatherDim {
  uint32_t size;
  IndexLinks::Dim link;
};

void CropLeadingOnes(std::vector<GatherDim>& dims, size_t begin, size_t end, size_t rank) {
  while (dims.size() > rank && begin < end && dims[begin].size == 1) {
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(begin));
    --end;
  }
}

// Returns the output's dimensions; more than the input has if they do not fit (GAT-3, GAT-4).
std::vector<GatherDim> GatherDims(const OperatorDesc& op) {
  const std::vector<uint32_t>& input = op.sizes(kInputTensor);
  const std::vector<uint32_t>& indices = op.sizes(kIndicesTensor);
  const size_t rank = input.size();
  const size_t axis = op[kAxis];
  std::vector<GatherDim> dims;
  for (size_t d = 0; d < axis; ++d) dims.push_back({input[d], {.data = d}});
  for (size_t d = rank - op[kIndexDimensions]; d < rank; ++d) {
    dims.push_back({indices[d], {.index = d}});
  }
  for (size_t d = axis + 1; d < rank; ++d) dims.push_back({input[d], {.data = d}});
  while (dims.size() < rank) dims.insert(dims.begin(), GatherDim{1, {}});
  const size_t before = dims.size();
  CropLeadingOnes(dims, 0, before, rank);
  const size_t cropped = std::min(axis, before - dims.size());
  CropLeadingOnes(dims, axis - cropped, axis - cropped + op[kIndexDimensions], rank);
  return dims;
}

void InferGather(const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  const TensorAt indices = infer.tensor(kIndicesTensor);
  const size_t rank = input.desc.rank();
  if (!infer.RequireAxis("MOV-4", At(kAxis), op[kAxis], input)) return;
  if (!infer.RequireSameRank("GAT-1", indices, input)) return;
  if (!infer.Require(op[kIndexDimensions] <= rank, "GAT-1", At(kIndexDimensions),
                     "{} is more than the {} of the tensors", op[kIndexDimensions],
                     Counted(rank, "dimension"))) {
    return;
  }
  for (size_t d = 0; d < rank - op[kIndexDimensions]; ++d) {
    infer.Require(Agree(indices.sizes()[d], 1), "GAT-2", SizeAt(indices, d),
                  "the size before the last {} is {}; expected 1", op[kIndexDimensions],
                  indices.sizes()[d]);
  }
  if (!AreKnown(input.sizes()) || !AreKnown(indices.sizes())) return;  // any may be a leading 1
  const std::vector<GatherDim> dims = GatherDims(op);
  Sizes sizes;
  for (const GatherDim& dim : dims) sizes.push_back(dim.size);
  if (!infer.Require(dims.size() <= rank, "GAT-4", At(kOutputTensor),
                     "the gathered elements make {}, which has more than {}", ToString(sizes),
                     Counted(rank, "dimension"))) {
    return;
  }
  infer.Output("GAT-6", kOutputTensor, sizes);
}

IndexLinks GatherLinks(const OperatorDesc& op) {
  IndexLinks links;
  for (const GatherDim& dim : GatherDims(op)) links.dims.push_back(dim.link);
  links.chosen = {op[kAxis]};
  return links;
}

// --- GATHER_ELEMENTS -----------------------------------------------------------------------------

void InferElements(const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  const TensorAt indices = infer.tensor(kIndicesTensor);
  if (!infer.RequireAxis("MOV-4", At(kAxis), op[kAxis], input)) return;
  if (!infer.RequireSameRank("GEL-1", indices, input)) return;
  Sizes expected = input.sizes();
  expected[op[kAxis]] = indices.sizes()[op[kAxis]];
  infer.RequireSizes("GEL-1", indices, expected);
  infer.Output("GEL-1", kOutputTensor, indices.sizes());
}

// --- GATHER_ND -----------------------------------------------------------------------------------

// DML_GATHER_ND_OPERATOR_DESC and DML_GATHER_ND1_OPERATOR_DESC: tuples of indices select slices.

constexpr auto kGatherNdFields =
    Fields(kInputTensor, kIndicesTensor, kOutputTensor, kIndexedDims, kIndexDims);
constexpr auto kGatherNd1Fields =
    Fields(kInputTensor, kIndicesTensor, kOutputTensor, kIndexedDims, kIndexDims, kBatchDims);

constexpr TupleRules kGatherNdRules = {"GND-1", "GND-1", "GND-2", "GND-3", "GND-4", "GND-5"};

void InferGatherNd(const OperatorDesc& op, Inference& infer) {
  if (CheckTuples(kGatherNdRules, op, infer)) infer.Output("GND-5", kOutputTensor, TupleSizes(op));
}

// --- SCATTER -------------------------------------------------------------------------------------

constexpr auto kScatterFields =
    Fields(kInputTensor, kIndicesTensor, kUpdatesTensor, kOutputTensor, kAxis);

void InferScatter(const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  const TensorAt indices = infer.tensor(kIndicesTensor);
  if (!infer.RequireAxis("MOV-4", At(kAxis), op[kAxis], input)) return;
  infer.Output("SCE-1", kOutputTensor, input.sizes());
  if (!infer.RequireSameRank("SCE-1", indices, input)) return;
  Sizes expected = input.sizes();
  expected[op[kAxis]] = indices.sizes()[op[kAxis]];
  infer.RequireSizes("SCE-2", indices, expected);
  infer.RequireSizes("SCE-1", infer.tensor(kUpdatesTensor), indices.sizes());
}

// --- SCATTER_ND ----------------------------------------------------------------------------------

constexpr auto kScatterNdFields =
    Fields(kInputTensor, kIndicesTensor, kUpdatesTensor, kOutputTensor, kIndexedDims, kIndexDims);

void InferScatterNd(const OperatorDesc& op, Inference& infer) {
  infer.Output("SND-1", kOutputTensor, op.sizes(kInputTensor));
  const TupleRules rules = {"SND-1", "SND-2", "SND-2", "SND-2", "SND-2", "SND-3"};
  if (!CheckTuples(rules, op, infer)) return;
  infer.RequireSizes("SND-3", infer.tensor(kUpdatesTensor), TupleSizes(op));
}

// --- MAX_UNPOOLING -------------------------------------------------------------------------------

constexpr auto kUnpoolingFields = Fields(kInputTensor, kIndicesTensor, kOutputTensor);

void InferUnpooling(const OperatorDesc& op, Inference& infer) {
  infer.RequireSizes("MUP-1", infer.tensor(kIndicesTensor), op.sizes(kInputTensor));
}

void Unpool(const OperatorDesc&, InputViews inputs, OutputViews outputs) {
  IndexLinks links;
  for (size_t d = 0; d < inputs[0].layout.rank(); ++d) links.dims.push_back({.index = d});
  FillView(ElementBytes{}, outputs[0]);
  const auto places = CountedPlaces(outputs[0].layout, inputs[1]);
  ScatterRows(links, *places, inputs[0], inputs[1].layout, outputs[0]);
}

void WarnOfUnpooling(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const int64_t count = LayoutOf(op[kOutputTensor]).element_count();
  WarnOfIndices(op, inputs, {&count, 1}, "dropped", diagnostics);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("GATHER", {kGatherFields, "MOV-1", InferGather}, GatherBy<GatherLinks>(),
                {.reads_by_index = true}),
    OperatorRow("GATHER_ELEMENTS", {kElementsFields, "MOV-1", InferElements},
                GatherBy<ElementLinks>(), {.reads_by_index = true}),
    OperatorRow("GATHER_ND", {kGatherNdFields, "MOV-1", InferGatherNd}, GatherBy<TupleLinks>(),
                {.reads_by_index = true}),
    OperatorRow("GATHER_ND1", {kGatherNd1Fields, "MOV-1", InferGatherNd}, GatherBy<TupleLinks>(),
                {.reads_by_index = true}),
    OperatorRow("SCATTER", {kScatterFields, "MOV-1", InferScatter}, ScatterBy<ElementLinks>(),
                {.reads_by_index = true, .alias = "SCATTER_ELEMENTS"}),
    OperatorRow("SCATTER_ND", {kScatterNdFields, "MOV-1", InferScatterNd}, ScatterBy<TupleLinks>(),
                {.reads_by_index = true}),
    OperatorRow("MAX_UNPOOLING", {kUnpoolingFields, "MOV-1", InferUnpooling},
                Computed{.run = Unpool,
                         .sources = SourcesFrom<AllOfInput, AllOfInput>,
                         .unsplittable_dims = AllDimensions,
                         .warn = WarnOfUnpooling},
                {.reads_by_index = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::gather
