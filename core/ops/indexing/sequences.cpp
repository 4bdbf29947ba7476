// SPDX-License-Identifier: Apache-2.0
// Operators on sequences of elements along an axis.
#include <algorithm>

#include "core/engine/index/indexed_rows.h"
#include "core/engine/scan/scan.h"
#include "core/ops/formula.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/indexing/index_links.h"

namespace dmlop::sequences {
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
constexpr auto kReverseFields = Fields(kInputTensor, kLengths, kOutputTensor, kAxis);

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

// --- ONE_HOT -------------------------------------------------------------------------------------

constexpr auto kValues = field::Input("ValuesTensor");
constexpr auto kOneHotFields = Fields(kIndicesTensor, kValues, kOutputTensor, kAxis);

void InferOneHot(const OperatorDesc& op, Inference& infer) {
  const TensorAt indices = infer.tensor(kIndicesTensor);
  const TensorAt values = infer.tensor(kValues);
  infer.RequireSameRank("OHT-1", values, indices);
  infer.Require(LayoutOf(values.desc).element_count() != 1, "OHT-2", SizesOf(values),
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

// --- CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT -------------------------------------------------

// DML_CUMULATIVE_SUMMATION_OPERATOR_DESC and DML_CUMULATIVE_PRODUCT_OPERATOR_DESC: combine each
// element with all those before it along Axis.

constexpr auto kExclusiveSum = field::Bool("HasExclusiveSum");
constexpr auto kExclusiveProduct = field::Bool("HasExclusiveProduct");
constexpr auto kSumFields =
    Fields(kInputTensor, kOutputTensor, kAxis, kAxisDirection, kExclusiveSum);
constexpr auto kProductFields =
    Fields(kInputTensor, kOutputTensor, kAxis, kAxisDirection, kExclusiveProduct);

void InferCumulative(const OperatorDesc& op, Inference& infer) {
  InferSameSizes("CUM-1", op, kInputTensor, infer);
  infer.RequireAxis("MOV-4", At(kAxis), op[kAxis], infer.tensor(kInputTensor));
}

template <const FieldOf<bool>& kExclusive>
ScanCall CallOf(const OperatorDesc& op) {
  return {op[kAxis], op[kAxisDirection] == 1, op[kExclusive]};
}

// Returns the elements that a part accumulates: all before it, and its own unless exclusive.
std::optional<Region> Before(const ScanCall& call, int64_t length, const Region& part) {
  const int64_t itself = call.is_exclusive ? 0 : 1;
  const int64_t begin = part.begin[call.axis];
  const int64_t end = begin + part.sizes[call.axis];
  const int64_t from = call.from_the_end ? begin + 1 - itself : 0;
  const int64_t to = call.from_the_end ? length : end - 1 + itself;
  if (from >= to) return std::nullopt;
  Region before = part;
  before.tensor = 0;
  before.begin[call.axis] = from;
  before.sizes[call.axis] = to - from;
  return before;
}

template <const FieldOf<bool>& kExclusive>
std::vector<SourceMap> CumulativeSources(const OperatorDesc& op) {
  const int64_t length = op.sizes(kInputTensor)[op[kAxis]];
  return {[call = CallOf<kExclusive>(op), length](const Region& part) {
    return Before(call, length, part);
  }};
}

void Sum(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  ScanSums(CallOf<kExclusiveSum>(op), inputs[0], outputs[0]);
}

void Multiply(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  ScanProducts(CallOf<kExclusiveProduct>(op), inputs[0], outputs[0]);
}

template <ReduceFunction kFunction, const FieldOf<bool>& kExclusive>
FormulaNode CumulativeMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::optional<Region> taken = CumulativeSources<kExclusive>(op)[0](element);
  auto elements = taken ? formula.Elements(*taken) : std::vector<FormulaNode>();
  if (CallOf<kExclusive>(op).from_the_end) std::ranges::reverse(elements);  // as they are taken
  return Reduced(kFunction, false, elements, formula.inputs()[0].type, formula);
}

Tolerance SumTolerance(const OperatorDesc& op) {
  return {.ulp = HasFloats(op) ? op.sizes(kInputTensor)[op[kAxis]] - 1 : 0};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ONE_HOT", {kOneHotFields, "OHT-4", InferOneHot},
                Computed{.run = OneHot,
                         .sources = SourcesFrom<AlongAxis, AllOfInput>,
                         .unsplittable_dims = TheAxis},
                {.reads_by_index = true}),
    OperatorRow("REVERSE_SUBSEQUENCES", {kReverseFields, "MOV-1", InferReverse},
                Computed{.run = Reverse,
                         .sources = SourcesFrom<AlongAxis, AlongAxis>,
                         .unsplittable_dims = TheAxis},
                {.reads_by_index = true}),
    OperatorRow(
        "CUMULATIVE_PRODUCT", {kProductFields, "CUM-1", InferCumulative},
        Computed{.run = Multiply,
                 .sources = CumulativeSources<kExclusiveProduct>,
                 .unsplittable_dims = TheAxis,
                 .formula = CumulativeMeaning<ReduceFunction::kMultiply, kExclusiveProduct>},
        {.in_place = true}),
    OperatorRow("CUMULATIVE_SUMMATION", {kSumFields, "CUM-1", InferCumulative},
                Computed{.run = Sum,
                         .sources = CumulativeSources<kExclusiveSum>,
                         .unsplittable_dims = TheAxis,
                         .formula = CumulativeMeaning<ReduceFunction::kSum, kExclusiveSum>},
                {.in_place = true, .hardware_tolerance = SumTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::sequences
