// SPDX-License-Identifier: Apache-2.0
// DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC and DML_ONE_HOT_OPERATOR_DESC: one number for each
// sequence along Axis determines how that is treated.
#include "core/engine/index/indexed_rows.h"
#include "core/ops/indexing/shared.h"

namespace dmlop::sequence {
namespace {

using namespace indexing;

// The elements of a sequence share all coordinates except that on Axis.
IndexLinks SequenceLinks(const OperatorDesc& op, size_t rank, bool shares_data) {
  IndexLinks links;
  links.position = op[kAxis];
  for (size_t d = 0; d < rank; ++d) {
    const size_t shared = d == links.position ? IndexLinks::kNone : d;
    links.dims.push_back({shares_data ? shared : IndexLinks::kNone, shared});
  }
  return links;
}

// --- REVERSE_SUBSEQUENCES ------------------------------------------------------------------------

constexpr auto kLengths = field::Input("SequenceLengthsTensor", TypeVariable::kIndex);
constexpr const Field* kReverseFields[] = {&kInputTensor, &kLengths, &kOutputTensor, &kAxis};
constexpr SupportRow kReverseRows[] = {
    Row(Level(2, 1), 4, 4, types::kUpTo32, kUint32),
    Row(Level(3, 0), 4, 5, types::kUpTo32, kUint32),
    Row(Level(4, 0), 1, 8, types::kUpTo32, kUint32),
    Row(Level(5, 0), 1, 8, types::kAll, kUnsigned),
};

void InferReverse(const OperatorDesc& op, Inference& infer) {
  Sizes sizes = op.sizes(kInputTensor);
  infer.Output("REV-1", kOutputTensor, sizes);
  if (!infer.RequireAxis("MOV-4", At(kAxis), op[kAxis], infer.tensor(kInputTensor))) return;
  sizes[op[kAxis]] = 1;
  infer.RequireSizes("REV-1", infer.tensor(kLengths), sizes);
}

void Reverse(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const Layout& data = inputs[0].layout;
  const auto places = ReversedPlaces(data.sizes[op[kAxis]], data.strides[op[kAxis]], inputs[1]);
  GatherRows(SequenceLinks(op, data.rank(), /*shares_data=*/true), *places, inputs[0],
             inputs[1].layout, outputs[0]);
}

std::vector<SourceMap> ReverseSources(const OperatorDesc& op) {
  return {AlongAxis(op, 0), AlongAxis(op, 1)};
}

// --- ONE_HOT -------------------------------------------------------------------------------------

constexpr auto kValues = field::Input("ValuesTensor");
constexpr const Field* kOneHotFields[] = {&kIndicesTensor, &kValues, &kOutputTensor, &kAxis};
constexpr SupportRow kOneHotRows[] = {
    Row(Level(2, 0), 4, 4, types::kFloats, kUint32),
    Row(Level(2, 1), 4, 4, types::kUpTo32, kUint32),
    Row(Level(3, 0), 1, 8, types::kUpTo32, kAnyIndex),
    Row(Level(4, 1), 1, 8, types::kAll, kAnyIndex),
};

void InferOneHot(const OperatorDesc& op, Inference& infer) {
  const TensorAt indices = infer.tensor(kIndicesTensor);
  const TensorAt values = infer.tensor(kValues);
  infer.RequireSameRank("OHT-1", values, indices);
  infer.Require(LayoutOf(values.desc).element_count() >= 2, "OHT-2", SizesOf(values),
                "Sizes are {}; the values off and on are two elements", ToString(values.sizes()));
  if (!infer.RequireAxis("MOV-4", At(kAxis), op[kAxis], indices)) return;
  if (!op[kOutputTensor].sizes) return;
  const TensorAt output = infer.tensor(kOutputTensor);
  if (!infer.RequireSameRank("OHT-1", output, indices)) return;
  Sizes expected = output.sizes();
  expected[op[kAxis]] = 1;
  infer.RequireSizes("OHT-1", indices, expected);
}

// The first two values are off and on.
void OneHot(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& values = inputs[1];
  const int64_t on = OffsetOfElement(values.layout, 1);
  const Layout& output = outputs[0].layout;
  const auto places = OneHotPlaces(output.sizes[op[kAxis]], on, inputs[0]);
  GatherRows(SequenceLinks(op, output.rank(), /*shares_data=*/false), *places, values,
             inputs[0].layout, outputs[0]);
}

std::vector<SourceMap> OneHotSources(const OperatorDesc& op) {
  return {AlongAxis(op, 0), AllOfInput(op, 1)};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ONE_HOT", {kOneHotFields, kSupportBy<kOneHotRows>, "OHT-4", InferOneHot},
                Computed{.run = OneHot, .sources = OneHotSources, .unsplittable_dims = TheAxis},
                {.values_choose = true}),
    OperatorRow("REVERSE_SUBSEQUENCES",
                {kReverseFields, kSupportBy<kReverseRows>, "MOV-1", InferReverse},
                Computed{.run = Reverse, .sources = ReverseSources, .unsplittable_dims = TheAxis},
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::sequence
