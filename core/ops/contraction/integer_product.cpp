// SPDX-License-Identifier: Apache-2.0
// DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC, DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC and
// DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC: products of matrices of integers that stand
// for real numbers. With the sums of products
//
//   S[i.., m, n] = sum over k of (A[i.., m, k] - zA[m]) * (B[i.., k, n] - zB[n])
//
// the output is S itself, S * sA[m] * sB[n] + Bias, or that in units of the output's scale.
#include <limits>
#include <span>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/integer_product.h"
#include "core/engine/matrix/product_grid.h"
#include "core/exact/exact_sum.h"
#include "core/ops/quantization.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::integer_product {
namespace {

using namespace quantization;

// kReal is the type of scales and of what they scale, and also that of plain sums.
constexpr auto kReal = TypeVariable::kV;
constexpr auto kQuantized = TypeVariable::kIndex;
constexpr auto kSide = RankGroup::kSide;

constexpr auto kB = field::Input("BTensor", TypeVariable::kU);
constexpr auto kAScale = field::Input("AScaleTensor", kReal, kSide);
constexpr auto kBScale = field::Input("BScaleTensor", kReal, kSide);
constexpr auto kAZeroPoint =
    field::Optional(field::Input("AZeroPointTensor", TypeVariable::kT, kSide));
constexpr auto kBZeroPoint =
    field::Optional(field::Input("BZeroPointTensor", TypeVariable::kU, kSide));
constexpr auto kLateBZeroPoint =
    field::Optional(field::Input("BZeroPointTensor", TypeVariable::kU, RankGroup::kOther));
constexpr auto kOutputScale = field::Input("OutputScaleTensor", kReal, kSide);
constexpr auto kOutputZeroPoint =
    field::Optional(field::Input("OutputZeroPointTensor", kQuantized, kSide));
constexpr auto kBias = field::Optional(field::Input("BiasTensor", kReal));
constexpr auto kSums = field::Output("OutputTensor", kReal);
constexpr auto kIntegers = field::Output("OutputTensor", kQuantized);

// --- matrices ------------------------------------------------------------------------------------

constexpr TensorShape kTensors[] = {
    {&kATensor, "{.., M, K}"},
    {&kB, "{.., K, N}"},
    Parameter(kAScale, kOfRows),
    Parameter(kAZeroPoint, kOfRows),
    Parameter(kBScale, kOfColumns),
    Parameter(kBZeroPoint, kOfColumns),
    Parameter(kLateBZeroPoint, kOfColumns),
    Parameter(kOutputScale, kOfRows),
    Parameter(kOutputZeroPoint, kOfRows),
    {&kBias, "{.., M, N}"},
    {&kSums, "{.., M, N}"},
    {&kIntegers, "{.., M, N}"},
};
constexpr Signature kIntegerShapes = {"MMI-1", "MMI-1", kTensors};
constexpr Signature kFloatShapes = {"MMF-1", "MMF-1", kTensors};
constexpr Signature kQuantizedShapes = {"QMM-1", "QMM-1", kTensors};

// Returns the tensor from a matrix of the batch on.
ConstTensorView MatrixAt(ConstTensorView view, int64_t batch) {
  view.data += OffsetOfElement(MatricesOf(view.layout), batch);
  return view;
}

// Stores functions of sums. `functions(index)` returns the function for the columns of a row of the
// output from an index on; it takes the column and the sum. Both arguments must outlive the sink.
template <typename T, typename Sum, typename Functions>
SumSink<Sum> StoreInto(const TensorView& output, const Functions& functions) {
  return [&](const SumRow<Sum>& sums) {
    const Layout& layout = output.layout;
    const size_t last = layout.rank() - 1;
    Dims index = IndexOf(MatricesOf(layout).sizes, sums.batch);
    index[last - 1] = sums.row;
    index[last] = sums.column;
    T* to = output.elements<T>() + OffsetOf(layout, index);
    const auto function = functions(index);
    int64_t column = sums.column;
    for (const Sum sum : sums.sums) {
      *to = function(column++, sum);
      to += layout.strides[last];
    }
  };
}

// Passes the sums for 8-bit integers to the sink.
template <typename Sum>
void MultiplyBytes(const FieldViews& tensors, const Field& b_zero_point, const SumSink<Sum>& sink) {
  const ConstTensorView a = tensors.input(kATensor);
  const ConstTensorView b = tensors.input(kB);
  const std::vector<int64_t> a_zeros = IntegersOf(tensors.input(kAZeroPoint));
  const std::vector<int64_t> b_zeros = IntegersOf(tensors.input(b_zero_point));
  const size_t rows = a.layout.rank() - 2;
  const int64_t work = a.layout.sizes[rows] * a.layout.sizes[rows + 1] * b.layout.sizes[rows + 1];
  const int64_t batches = MatricesOf(a.layout).element_count();
  ParallelFor(batches, ProductGrid::Grain(batches, work), 0, [&](int64_t begin, int64_t end) {
    for (int64_t batch = begin; batch < end; ++batch) {
      const ViewLines left(MatrixView::Of(MatrixAt(a, batch), rows, rows + 1));
      const ViewLines right(MatrixView::Of(MatrixAt(b, batch), rows + 1, rows));
      MultiplyIntegers<Sum>(batch, {left, a_zeros}, {right, b_zeros}, sink);
    }
  });
}

std::optional<FormulaNode> ParameterOf(const OperatorDesc& op, const Field& field,
                                       const Region& element, Formula& formula) {
  return quantization::ParameterOf(kIntegerShapes, op, field, element, formula);
}

FormulaNode Sums(const OperatorDesc& op, const Field& b_zero_point, const Region& element,
                 Formula& formula) {
  const std::vector<SourceMap> sources = SourcesOf(kIntegerShapes, op);
  const SourceMap lines[] = {sources[0], sources[*NumberInRole(op, kB)]};
  const ZeroPoints zeros{ParameterOf(op, kAZeroPoint, element, formula),
                         ParameterOf(op, b_zero_point, element, formula)};
  return SumOfProducts(lines, element, zeros, formula);
}

// --- MATRIX_MULTIPLY_INTEGER ---------------------------------------------------------------------

constexpr auto kIntegerFields = Fields(kATensor, kAZeroPoint, kB, kLateBZeroPoint, kSums);

void InferInteger(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kSums, DataType::kInt32);
  InferShapes(kIntegerShapes, op, infer);
}

void RunInteger(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const auto sums_alone = [](const Dims&) { return [](int64_t, int32_t sum) { return sum; }; };
  MultiplyBytes<int32_t>({op, inputs, outputs}, kLateBZeroPoint,
                         StoreInto<int32_t, int32_t>(outputs[0], sums_alone));
}

FormulaNode IntegerMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  return formula.Confined(FormulaOperation::kWrap, Sums(op, kLateBZeroPoint, element, formula),
                          DataType::kInt32);
}

// --- MATRIX_MULTIPLY_INTEGER_TO_FLOAT ------------------------------------------------------------

constexpr auto kFloatFields =
    Fields(kATensor, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kBias, kSums);

bool IsByte(DataType type) {
  return types::kInt8s.Contains(type);
}

constexpr std::array<const FieldOf<TensorDesc>*, 4> kFloatParameters = {&kAScale, &kAZeroPoint,
                                                                        &kBScale, &kBZeroPoint};

void InferFloat(const OperatorDesc& op, Inference& infer) {
  const DataType a = *op[kATensor].data_type;
  const DataType b = *op[kB].data_type;
  infer.Require(a == b || (IsByte(a) && IsByte(b)), "MMF-2", {kB.name, std::nullopt, "DataType"},
                "{} does not go with {} of ATensor", Name(b), Name(a));
  RequireOneRank("QSH-2", op, kFloatParameters, infer);
  InferShapes(kFloatShapes, op, infer);
}

// Turns sums into real numbers.
template <typename T>
class Scaler {
 public:
  explicit Scaler(const FieldViews& tensors)
      : a_scales_(NumbersOf(tensors.input(kAScale))),
        b_scales_(NumbersOf(tensors.input(kBScale))),
        bias_(tensors.input(kBias)) {}

  auto operator()(const Dims& index) const {
    const double a = ValueAt(a_scales_, index[index.size() - 2]);
    const T* bias = nullptr;
    int64_t stride = 0;
    if (bias_.data != nullptr) {
      Dims row = index;
      row.back() = 0;
      bias = bias_.elements<T>() + OffsetOf(bias_.layout, row);
      stride = bias_.layout.strides.back();
    }
    return [this, a, bias, stride](int64_t column, Int128 sum) {
      const double b = ValueAt(b_scales_, column);
      return RoundScaledSum<T>(sum, a, b, bias == nullptr ? -0.0 : AsDouble(bias[column * stride]));
    };
  }

 private:
  std::vector<double> a_scales_, b_scales_;
  ConstTensorView bias_;
};

void RunFloat(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const FieldViews tensors(op, inputs, outputs);
  const ConstTensorView a = tensors.input(kATensor);
  VisitDataType(Floats(), outputs[0].type, [&]<typename T>() {
    const Scaler<T> scaler(tensors);
    if (IsByte(a.type)) {
      MultiplyBytes<int64_t>(tensors, kBZeroPoint, StoreInto<T, int64_t>(outputs[0], scaler));
    } else {
      MultiplyWideIntegers({a, IntegersOf(tensors.input(kAZeroPoint))},
                           {tensors.input(kB), IntegersOf(tensors.input(kBZeroPoint))},
                           StoreInto<T, Int128>(outputs[0], scaler));
    }
  });
}

FormulaNode FloatMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const FormulaNode real = formula.Product({Sums(op, kBZeroPoint, element, formula),
                                            *ParameterOf(op, kAScale, element, formula),
                                            *ParameterOf(op, kBScale, element, formula)});
  if (!op.Has(kBias)) return real;
  return formula.Sum({real, *ParameterOf(op, kBias, element, formula)});
}

// --- QUANTIZED_LINEAR_MATRIX_MULTIPLY ------------------------------------------------------------

constexpr auto kQuantizedFields = Fields(kATensor, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint,
                                         kOutputScale, kOutputZeroPoint, kIntegers);
constexpr std::array<const FieldOf<TensorDesc>*, 6> kQuantizedParameters = {
    &kAScale, &kAZeroPoint, &kBScale, &kBZeroPoint, &kOutputScale, &kOutputZeroPoint};

void InferQuantized(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kIntegers, *op[kATensor].data_type);
  RequireOneRank("QSH-2", op, kQuantizedParameters, infer);
  InferShapes(kQuantizedShapes, op, infer);
}

void RunQuantized(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const FieldViews tensors(op, inputs, outputs);
  const std::vector<double> a_scales = NumbersOf(tensors.input(kAScale));
  const std::vector<double> b_scales = NumbersOf(tensors.input(kBScale));
  const std::vector<double> scales = NumbersOf(tensors.input(kOutputScale));
  std::vector<int64_t> zeros = IntegersOf(tensors.input(kOutputZeroPoint));
  if (zeros.empty()) zeros = {0};
  VisitDataType(Integers8(), outputs[0].type, [&]<typename T>() {
    using Range = std::numeric_limits<T>;
    const auto requantize = [&](const Dims& index) {
      const int64_t row = index[index.size() - 2];
      const double a = ValueAt(a_scales, row);
      const double c = ValueAt(scales, row);
      const QuantizedRange range{ValueAt(zeros, row), Range::min(), Range::max()};
      return [&b_scales, a, c, range](int64_t column, int64_t sum) {
        return static_cast<T>(Requantize(sum, {a, ValueAt(b_scales, column), c}, range));
      };
    };
    MultiplyBytes<int64_t>(tensors, kBZeroPoint, StoreInto<T, int64_t>(outputs[0], requantize));
  });
}

FormulaNode QuantizedMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const FormulaNode sum = Sums(op, kBZeroPoint, element, formula);
  const Units units{*ParameterOf(op, kAScale, element, formula),
                    *ParameterOf(op, kBScale, element, formula),
                    *ParameterOf(op, kOutputScale, element, formula),
                    ParameterOf(op, kOutputZeroPoint, element, formula)};
  return InUnits(sum, units, *op[kIntegers].data_type, formula);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("MATRIX_MULTIPLY_INTEGER", {kIntegerFields, "QSH-2", InferInteger, &kIntegerShapes},
                Computed{.run = RunInteger,
                         .sources = SourcesBy<kIntegerShapes>,
                         .operations = OperationsBy<kIntegerShapes>,
                         .formula = IntegerMeaning}),
    OperatorRow("MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
                {kFloatFields, "MMF-1", InferFloat, &kFloatShapes},
                Computed{.run = RunFloat,
                         .sources = SourcesBy<kFloatShapes>,
                         .operations = OperationsBy<kFloatShapes>,
                         .formula = FloatMeaning}),
    OperatorRow("QUANTIZED_LINEAR_MATRIX_MULTIPLY",
                {kQuantizedFields, "QSH-2", InferQuantized, &kQuantizedShapes},
                Computed{.run = RunQuantized,
                         .sources = SourcesBy<kQuantizedShapes>,
                         .operations = OperationsBy<kQuantizedShapes>,
                         .formula = QuantizedMeaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::integer_product
