// SPDX-License-Identifier: Apache-2.0
// DML_CONVOLUTION_INTEGER_OPERATOR_DESC and DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC:
// cross-correlations of integers that stand for real numbers. With N batches, C and O channels, G
// groups, spatial sizes I, K, Out, and g = o / (O / G)
//
//   S[n, o, p] = sum over c < C / G and taps k of
//                (Input[n, g * (C / G) + c, q] - zI) * (Filter[o, c, k] - zF[o])
//   q[d] = p[d] * Strides[d] - StartPadding[d] + k[d] * Dilations[d], as far as it is in [0, I[d])
//
// the output is S itself, or S + Bias[o] in units of the output's scale.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include "core/base/text.h"
#include "core/engine/matrix/integer_product.h"
#include "core/engine/matrix/window_lines.h"
#include "core/exact/exact_sum.h"
#include "core/ops/families.h"
#include "core/ops/quantization.h"
#include "core/ops/windows.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::integer_convolution {
namespace {

using namespace quantization;

// --- fields --------------------------------------------------------------------------------------

constexpr auto kQuantized = TypeVariable::kIndex;
constexpr auto kSide = RankGroup::kSide;

constexpr auto kFilter = field::Input("FilterTensor", TypeVariable::kU);
constexpr auto kInputZeroPoint =
    field::Optional(field::Input("InputZeroPointTensor", TypeVariable::kT, kSide));
constexpr auto kFilterZeroPoint =
    field::Optional(field::Input("FilterZeroPointTensor", TypeVariable::kU, kSide));
constexpr auto kInputScale = field::Input("InputScaleTensor", TypeVariable::kV, kSide);
constexpr auto kFilterScale =
    field::Input("FilterScaleTensor", TypeVariable::kV, RankGroup::kOther);
constexpr auto kOutputScale = field::Input("OutputScaleTensor", TypeVariable::kV, kSide);
constexpr auto kOutputZeroPoint =
    field::Optional(field::Input("OutputZeroPointTensor", kQuantized, kSide));
constexpr auto kBias = field::Optional(field::Input("BiasTensor", TypeVariable::kW));
constexpr auto kSums = field::Output("OutputTensor", TypeVariable::kV);
constexpr auto kIntegers = field::Output("OutputTensor", kQuantized);

constexpr WindowFields kWindows = WindowFieldsWith(
    {.min = 1, .rule = "CTR-5", .min_count = 1, .max_count = 2, .count_rule = "CTR-4"});

std::vector<WindowAxis> AxesOf(const OperatorDesc& op) {
  std::vector<WindowAxis> axes;
  for (size_t d = 0; d < op[kWindows.strides].size(); ++d) {
    axes.push_back(
        AxisOf(kWindows, op, d, op.sizes(kInputTensor)[d + 2], op.sizes(kFilter)[d + 2]));
  }
  return axes;
}

constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{N, G*c, P@K..}"},
    {&kFilter, "{G*o, c, K..}"},
    Parameter(kInputScale, kOfAll),
    Parameter(kInputZeroPoint, kOfAll),
    Parameter(kFilterScale, kOfChannels),
    Parameter(kFilterZeroPoint, kOfChannels),
    Parameter(kOutputScale, kOfAll),
    Parameter(kOutputZeroPoint, kOfAll),
    {&kBias, "{1, G*o, 1..}"},
    {&kSums, "{N, G*o, P..}"},
    {&kIntegers, "{N, G*o, P..}"},
};
constexpr Signature ShapesOf(std::string_view rule) {
  const TapWindows windows = {
      .fields = &kWindows, .rule = rule, .fit_rule = rule, .filter = &kFilter};
  return {rule, rule, kTensors, "", nullptr, kGroupWords, windows};
}
constexpr Signature kIntegerShapes = ShapesOf("CVI-1");
constexpr Signature kQuantizedShapes = ShapesOf("QCV-1");
// Parameters have a map each.
constexpr Signature kParameters = {"", "", kTensors};

// --- sums ----------------------------------------------------------------------------------------

// A part of the output by its beginning and its sizes.
struct Part {
  Dims begin, sizes;

  // Removes the channels.
  static Dims Places(const Dims& dims) {
    Dims places = {dims[0]};
    for (size_t d = 2; d < dims.size(); ++d) places.push_back(dims[d]);
    return places;
  }
};

// Passes the sums of a part to the sink: rows are output channels, columns the places in the part.
template <typename Sum>
void SumWindows(const OperatorDesc& op, const FieldViews& tensors, const Part& part,
                const SumSink<Sum>& sink) {
  const ConstTensorView input = tensors.input(kInputTensor).Slice(0, part.begin[0], part.sizes[0]);
  const ConstTensorView filter = tensors.input(kFilter);
  const Dims& strides = filter.layout.strides;
  const Dims& sizes = filter.layout.sizes;
  const std::vector<int64_t> input_zero = IntegersOf(tensors.input(kInputZeroPoint));
  const std::vector<int64_t> filter_zeros = IntegersOf(tensors.input(kFilterZeroPoint));
  std::vector<LineAxis> axes;
  for (const WindowAxis& axis : AxesOf(op)) {
    const size_t d = axes.size() + kFirstSpatial;
    axes.push_back(LineAxis::Of(axis, part.begin[d], part.sizes[d], axis.Outputs()));
  }
  const int64_t group_rows = sizes[0] / op[kGroupCount];
  const int64_t group_channels = input.layout.sizes[1] / op[kGroupCount];
  const int64_t end = part.begin[1] + part.sizes[1];
  for (int64_t o = part.begin[1]; o < end;) {
    const int64_t group = o / group_rows;
    const int64_t count = std::min(end, (group + 1) * group_rows) - o;
    const ViewLines rows(
        {filter.Slice(0, o, count).data,
         filter.type,
         {{count}, {strides[0]}},
         {Dims(sizes.begin() + 1, sizes.end()), Dims(strides.begin() + 1, strides.end())}});
    const auto zeros =
        std::span(filter_zeros).subspan(filter_zeros.size() > 1 ? static_cast<size_t>(o) : 0);
    const WindowLines columns(input.Slice(1, group * group_channels, group_channels), axes,
                              WindowLines::Order::kChannelsFirst, ZeroPointAt(input_zero, 0));
    MultiplyIntegers<Sum>(0, {rows, zeros}, {columns, input_zero}, [&](const SumRow<Sum>& sums) {
      sink({sums.batch, o + sums.row, sums.column, sums.sums});
    });
    o += count;
  }
}

// Stores the function of each sum; a column is a place in the part. The arguments must outlive the
// sink.
template <typename T, typename Sum, typename Function>
SumSink<Sum> StoreInto(const TensorView& output, const Part& part, const Function& function) {
  return [&, places = Part::Places(part.sizes)](const SumRow<Sum>& sums) {
    Dims place = IndexOf(places, sums.column);
    T* const to = output.elements<T>() + (sums.row - part.begin[1]) * output.layout.strides[1];
    Dims strides = Part::Places(output.layout.strides);
    for (const Sum sum : sums.sums) {
      int64_t offset = 0;
      for (size_t d = 0; d < place.size(); ++d) offset += place[d] * strides[d];
      to[offset] = function(sums.row, sum);
      Advance(places, place);
    }
  };
}

std::optional<FormulaNode> ParameterOf(const OperatorDesc& op, const Field& field,
                                       const Region& element, Formula& formula) {
  return quantization::ParameterOf(kParameters, op, field, element, formula);
}

FormulaNode Sums(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::vector<SourceMap> sources = SourcesOf(kIntegerShapes, op);
  const size_t parameters = TensorSlots(op, TensorRole::kInput).size() - 2;
  const ZeroPoints zeros{ParameterOf(op, kInputZeroPoint, element, formula),
                         ParameterOf(op, kFilterZeroPoint, element, formula)};
  return SumOfProducts(std::span(sources).first(sources.size() - parameters), element, zeros,
                       formula);
}

// --- CONVOLUTION_INTEGER -------------------------------------------------------------------------

constexpr auto kIntegerFields = Fields(kInputTensor, kInputZeroPoint, kFilter, kFilterZeroPoint,
                                       kSums, kDimensionCount, kWindows.strides, kWindows.dilations,
                                       kWindows.start_padding, kWindows.end_padding, kGroupCount);
constexpr std::array<const FieldOf<TensorDesc>*, 2> kZeroPoints = {&kInputZeroPoint,
                                                                   &kFilterZeroPoint};

void InferInteger(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kSums, DataType::kInt32);
  RequireOneRank("CVI-1", op, kZeroPoints, infer);
  InferShapes(kIntegerShapes, op, infer);
}

void RunInteger(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  const Part part{begin, outputs[0].layout.sizes};
  const auto sum_alone = [](int64_t, int32_t sum) { return sum; };
  SumWindows<int32_t>(op, {op, inputs, outputs}, part,
                      StoreInto<int32_t, int32_t>(outputs[0], part, sum_alone));
}

FormulaNode IntegerMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  return formula.Confined(FormulaOperation::kWrap, Sums(op, element, formula), DataType::kInt32);
}

// --- QUANTIZED_LINEAR_CONVOLUTION ----------------------------------------------------------------

constexpr auto kQuantizedFields =
    Fields(kInputTensor, kInputScale, kInputZeroPoint, kFilter, kFilterScale, kFilterZeroPoint,
           kBias, kOutputScale, kOutputZeroPoint, kIntegers, kDimensionCount, kWindows.strides,
           kWindows.dilations, kWindows.start_padding, kWindows.end_padding, kGroupCount);

void InferQuantized(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kIntegers, *op[kInputTensor].data_type);
  InferShapes(kQuantizedShapes, op, infer);
}

void RunQuantized(const OperatorDesc& op, InputViews inputs, const Dims& begin,
                  OutputViews outputs) {
  const Part part{begin, outputs[0].layout.sizes};
  const FieldViews tensors(op, inputs, outputs);
  const double input_scale = NumbersOf(tensors.input(kInputScale))[0];
  const double output_scale = NumbersOf(tensors.input(kOutputScale))[0];
  const std::vector<double> filter_scales = NumbersOf(tensors.input(kFilterScale));
  const std::vector<int64_t> bias = IntegersOf(tensors.input(kBias));
  const std::vector<int64_t> zero = IntegersOf(tensors.input(kOutputZeroPoint));
  VisitDataType(Integers8(), outputs[0].type, [&]<typename T>() {
    using Limits = std::numeric_limits<T>;
    const QuantizedRange range{zero.empty() ? 0 : zero[0], Limits::min(), Limits::max()};
    const auto requantize = [&](int64_t channel, int64_t sum) {
      const UnitChange units{input_scale, ValueAt(filter_scales, channel), output_scale};
      const int64_t biased = sum + (bias.empty() ? 0 : ValueAt(bias, channel));
      return static_cast<T>(Requantize(biased, units, range));
    };
    SumWindows<int64_t>(op, tensors, part, StoreInto<T, int64_t>(outputs[0], part, requantize));
  });
}

FormulaNode QuantizedMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const auto parameter = [&](const Field& field) {
    return ParameterOf(op, field, element, formula);
  };
  FormulaNode sum = Sums(op, element, formula);
  if (const auto bias = parameter(kBias)) {
    sum = formula.Named("sum with bias", formula.Sum({sum, *bias}));
  }
  const Units units{*parameter(kInputScale), *parameter(kFilterScale), *parameter(kOutputScale),
                    parameter(kOutputZeroPoint)};
  return InUnits(sum, units, *op[kIntegers].data_type, formula);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("CONVOLUTION_INTEGER", {kIntegerFields, "QSH-2", InferInteger, &kIntegerShapes},
                Computed{.run = RunInteger,
                         .sources = SourcesBy<kIntegerShapes>,
                         .operations = OperationsBy<kIntegerShapes>,
                         .formula = IntegerMeaning}),
    OperatorRow("QUANTIZED_LINEAR_CONVOLUTION",
                {kQuantizedFields, "QSH-2", InferQuantized, &kIntegerShapes},
                Computed{.run = RunQuantized,
                         .sources = SourcesBy<kIntegerShapes>,
                         .operations = OperationsBy<kIntegerShapes>,
                         .formula = QuantizedMeaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::integer_convolution
