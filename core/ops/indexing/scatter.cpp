// SPDX-License-Identifier: Apache-2.0
// DML_SCATTER_OPERATOR_DESC, DML_SCATTER_ND_OPERATOR_DESC and DML_MAX_UNPOOLING_OPERATOR_DESC:
// write elements to the places that indices select. If several share a place, the last one wins.
#include "core/engine/copy/copy_views.h"
#include "core/engine/index/indexed_rows.h"
#include "core/ops/indexing/shared.h"

namespace dmlop::scatter {
namespace {

using namespace indexing;

// --- SCATTER -------------------------------------------------------------------------------------

constexpr const Field* kScatterFields[] = {&kInputTensor, &kIndicesTensor, &kUpdatesTensor,
                                           &kOutputTensor, &kAxis};
constexpr SupportRow kScatterRows[] = {
    Row(Level(2, 0), 4, 4, types::kFloats, kUint32),
    Row(Level(2, 1), 4, 4, types::kUpTo32, kUint32),
    Row(Level(3, 0), 1, 8, types::kUpTo32, kAnyIndex),
    Row(Level(4, 1), 1, 8, types::kAll, kAnyIndex),
};

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

constexpr const Field* kTupleFields[] = {&kInputTensor,  &kIndicesTensor, &kUpdatesTensor,
                                         &kOutputTensor, &kIndexedDims,   &kIndexDims};
constexpr SupportTable kTupleSupport[] = {{std::span(kScatterRows).subspan(1)}};

void InferTuples(const OperatorDesc& op, Inference& infer) {
  infer.Output("SND-1", kOutputTensor, op.sizes(kInputTensor));
  const TupleRules rules = {"SND-1", "SND-2", "SND-2", "SND-2", "SND-2", "SND-3"};
  if (!CheckTuples(rules, op, infer)) return;
  infer.RequireSizes("SND-3", infer.tensor(kUpdatesTensor), TupleSizes(op));
}

// --- MAX_UNPOOLING -------------------------------------------------------------------------------

constexpr const Field* kUnpoolingFields[] = {&kInputTensor, &kIndicesTensor, &kOutputTensor};
constexpr SupportRow kUnpoolingRows[] = {
    Row(Level(2, 0), 4, 4, types::kFloats, kUint32),
    Row(Level(5, 0), 4, 4, types::kUpTo32 | types::kInt64s, kUnsigned),
};

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

std::vector<SourceMap> UnpoolingSources(const OperatorDesc& op) {
  return {AllOfInput(op, 0), AllOfInput(op, 1)};
}

void WarnOfUnpooling(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const int64_t count = LayoutOf(op[kOutputTensor]).element_count();
  WarnOfIndices(op, inputs, {&count, 1}, "dropped", diagnostics);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("SCATTER", {kScatterFields, kSupportBy<kScatterRows>, "MOV-1", InferScatter},
                ScatterBy<ElementLinks>(), {.values_choose = true, .alias = "SCATTER_ELEMENTS"}),
    OperatorRow("SCATTER_ND", {kTupleFields, kTupleSupport, "MOV-1", InferTuples},
                ScatterBy<TupleLinks>(), {.values_choose = true}),
    OperatorRow("MAX_UNPOOLING",
                {kUnpoolingFields, kSupportBy<kUnpoolingRows>, "MOV-1", InferUnpooling},
                Computed{.run = Unpool,
                         .sources = UnpoolingSources,
                         .unsplittable_dims = AllDimensions,
                         .warn = WarnOfUnpooling},
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::scatter
