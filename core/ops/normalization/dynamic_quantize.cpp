// SPDX-License-Identifier: Apache-2.0
// DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC.
#include "core/engine/normalization/normalize.h"

#include <utility>

#include "core/ops/normalization/shared.h"

namespace dmlop::dynamic_quantize {
namespace {

using namespace normalization;

constexpr auto kIntegers = field::Output("OutputTensor", TypeVariable::kU);
constexpr auto kScale = field::Output("OutputScaleTensor", TypeVariable::kV);
constexpr auto kZeroPoint = field::Output("OutputZeroPointTensor", TypeVariable::kU);
constexpr const Field* kFields[] = {&kInputTensor, &kIntegers, &kScale, &kZeroPoint};
constexpr SupportRow kRows[] = {
    {Level(4, 0), 1, 8, {types::kFloats, types::kInt8s, DataTypeSet{DataType::kFloat32}}},
};

void Infer(const OperatorDesc& op, Inference& infer) {
  const Sizes& sizes = op.sizes(kInputTensor);
  const Sizes one(sizes.size(), 1);
  infer.OutputType(kIntegers, DataType::kUint8);
  infer.OutputType(kZeroPoint, *op[kIntegers].data_type);
  infer.OutputType(kScale, DataType::kFloat32);
  infer.Output("DQL-2", kIntegers, sizes);
  infer.Output("DQL-1", kScale, one);
  infer.Output("DQL-1", kZeroPoint, one);
}

constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{S'..}"}, {&kIntegers, "{S..}"}, {&kScale, "{1..}"}, {&kZeroPoint, "{1..}"}};
constexpr Signature kShapes = {"DQL-2", "DQL-2", kTensors};

void Run(const OperatorDesc&, InputViews inputs, OutputViews outputs) {
  QuantizeDynamically(inputs[0], {outputs[0], outputs[1], outputs[2]});
}

// The least and the greatest number of an output's type.
std::pair<double, double> EndsOf(DataType type) {
  return IsSigned(type) ? std::pair(-128.0, 127.0) : std::pair(0.0, 255.0);
}

// The ends of the range of the elements and 0.
struct Range {
  FormulaNode hi, lo;
};

Range RangeOf(Formula& formula) {
  const Dims& sizes = formula.inputs()[0].layout.sizes;
  std::vector<FormulaNode> numbers = formula.Elements({0, Dims::Filled(sizes.size(), 0), sizes});
  numbers.push_back(formula.Number(0.0));
  return {formula.Named("maximum", formula.Apply(FormulaOperation::kMaximum, numbers)),
          formula.Named("minimum", formula.Apply(FormulaOperation::kMinimum, numbers))};
}

// Returns the scale before rounding: the range divided by the number of the type's steps.
FormulaNode ScaleOf(const Range& range, DataType type, Formula& formula) {
  if (HasNoRange(formula.inputs()[0])) {
    return formula.Named("scale where all is 0", formula.Number(1.0));
  }
  const auto [min, max] = EndsOf(type);
  return formula.Quotient(formula.Named("range", formula.Difference(range.hi, range.lo)),
                          formula.Number(max - min));
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const DataType type = *op[kIntegers].data_type;
  const Range range = RangeOf(formula);
  const FormulaNode exact_scale = ScaleOf(range, type, formula);
  if (element.tensor == 1) return exact_scale;
  const auto rounded = [&](FormulaNode x) { return formula.Rounded(DataType::kFloat32, x); };
  const FormulaNode scale = formula.Named("scale", rounded(exact_scale));
  const FormulaNode steps =
      formula.Named("steps from the minimum to 0",
                    formula.Apply(kMagnitude, {rounded(formula.Quotient(range.lo, scale))}));
  const FormulaNode zero_point = formula.Quantized(steps, formula.Number(EndsOf(type).first), type);
  if (element.tensor == 2) return zero_point;
  const FormulaNode x = formula.Element({0, element.begin, element.sizes});
  const FormulaNode units =
      formula.Named("in units of the scale", rounded(formula.Quotient(x, scale)));
  return formula.Quantized(units, formula.Named("zero point", zero_point), type);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("DYNAMIC_QUANTIZE_LINEAR", {kFields, kSupportBy<kRows>, "DQL-1", Infer},
                Computed{.run = Run,
                         .sources = SourcesBy<kShapes>,
                         .unsplittable_dims = AllDimensions,
                         .formula = Meaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::dynamic_quantize
