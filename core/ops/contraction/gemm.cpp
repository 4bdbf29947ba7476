// SPDX-License-Identifier: Apache-2.0
// DML_GEMM_OPERATOR_DESC: the product of two matrices,
//
//   Output = Alpha * A' B' + Beta * C
//
// of A and B, or of their transposes, for each index in the leading dimensions.
#include <string_view>
#include <utility>

#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/matrix_product.h"
#include "core/engine/matrix/product_grid.h"
#include "core/ops/families.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/quantization.h"
#include "core/ops/signature.h"

namespace dmlop::gemm {
namespace {

constexpr std::string_view kTransformNames[] = {"NONE", "TRANSPOSE"};
constexpr EnumNames kTransforms = {"DML_MATRIX_TRANSFORM_", kTransformNames};
constexpr auto kCTensor = field::Optional(field::Input("CTensor"));
constexpr auto kTransA = field::Enum("TransA", kTransforms);
constexpr auto kTransB = field::Enum("TransB", kTransforms);
constexpr auto kActivation = field::FusedActivation(ActivationHost::kMatrices);
constexpr auto kFields = Fields(kATensor, kBTensor, kCTensor, kOutputTensor, kTransA, kTransB,
                                kAlpha, kBeta, kActivation);

constexpr std::string_view kMatrix = "{.., M, N}";
constexpr TensorShape kTensors[] = {
    {&kATensor, "{.., M, K} | {.., K, M}", &kTransA},
    {&kBTensor, "{.., K, N} | {.., N, K}", &kTransB},
    {&kCTensor, kMatrix},
    {&kOutputTensor, kMatrix},
};
constexpr Signature kShapes = {"GEMM-1", "GEMM-2", kTensors};

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::vector<SourceMap> sources = SourcesOf(kShapes, op);
  const FormulaNode product =
      quantization::SumOfProducts(std::span(sources).first(2), element, {}, formula);
  const FormulaNode scaled = formula.Scaled(op[kAlpha], product);
  if (!op.Has(kCTensor)) return scaled;
  const FormulaNode addend = formula.Element(*sources[2](element));
  return formula.Sum({scaled, formula.Scaled(op[kBeta], addend)});
}

// --- products ------------------------------------------------------------------------------------

// Swaps the last two dimensions of a view.
template <typename View>
View Swapped(View view) {
  const size_t last = view.layout.rank() - 1;
  std::swap(view.layout.sizes[last], view.layout.sizes[last - 1]);
  std::swap(view.layout.strides[last], view.layout.strides[last - 1]);
  return view;
}

// Views as rows x columns for each index in the leading dimensions.
struct Operands {
  ConstTensorView a, b, c;  // A as M x K, B as N x K, and C, without data if there is none
  TensorView output;
};

// Leading dimensions along which B repeats are treated as more rows.
size_t BatchRank(const Operands& operands) {
  const Layout& b = operands.b.layout;
  size_t rank = b.rank() - 2;
  while (rank > 0 && (b.strides[rank - 1] == 0 || b.sizes[rank - 1] == 1)) --rank;
  return rank;
}

Layout Between(const Layout& layout, size_t begin, size_t end) {
  return {Dims(layout.sizes.begin() + begin, layout.sizes.begin() + end),
          Dims(layout.strides.begin() + begin, layout.strides.begin() + end)};
}

// One product of matrices. Its rows are the dimensions from `batch_rank` up to the last one.
class OneProduct {
 public:
  OneProduct(const OperatorDesc& op, const Operands& operands, size_t batch_rank, int64_t batch)
      : operands_(operands), batch_rank_(batch_rank) {
    const Layout leading = Between(operands.output.layout, 0, batch_rank);
    index_ = IndexOf(leading.sizes, batch);
    terms_.factor = op[kAlpha];
    if (op.Has(kCTensor)) terms_.addends.push_back({PlacesOf(operands.c), op[kBeta]});
  }

  void Run() const {
    const ViewLines rows(LinesOf(operands_.a, batch_rank_));
    const ViewLines columns(LinesOf(operands_.b, operands_.b.layout.rank() - 2));
    MultiplyMatrices(rows, columns, terms_, PlacesOf(operands_.output));
  }

 private:
  template <typename Byte>
  Byte* DataOf(const BasicTensorView<Byte>& view) const {
    const Layout leading = Between(view.layout, 0, batch_rank_);
    return view.data + OffsetOf(leading, index_) * static_cast<int64_t>(ByteWidth(view.type));
  }
  MatrixView LinesOf(const ConstTensorView& view, size_t first) const {
    const size_t last = view.layout.rank() - 1;
    return {DataOf(view), view.type, Between(view.layout, first, last),
            Between(view.layout, last, last + 1)};
  }
  template <typename Byte>
  BasicMatrixPlaces<Byte> PlacesOf(const BasicTensorView<Byte>& view) const {
    const size_t last = view.layout.rank() - 1;
    return {DataOf(view), view.type, Between(view.layout, batch_rank_, last),
            Between(view.layout, last, last + 1)};
  }

  const Operands& operands_;
  size_t batch_rank_;
  Dims index_;
  MatrixTerms terms_;
};

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const FieldViews tensors(op, inputs, outputs);
  Operands operands{tensors.input(kATensor), tensors.input(kBTensor), tensors.input(kCTensor),
                    tensors.output(kOutputTensor)};
  if (op[kTransA] != 0) operands.a = Swapped(operands.a);
  if (op[kTransB] == 0) operands.b = Swapped(operands.b);
  const size_t batch_rank = BatchRank(operands);
  const Layout& output = operands.output.layout;
  const int64_t batches = Between(output, 0, batch_rank).element_count();
  const int64_t work = output.element_count() / batches * operands.a.layout.sizes.back();
  const int64_t grain = ProductGrid::Grain(batches, work);
  ParallelFor(batches, grain, operands.output.element_bytes(), [&](int64_t begin, int64_t end) {
    for (int64_t batch = begin; batch < end; ++batch) {
      OneProduct(op, operands, batch_rank, batch).Run();
    }
  });
}

Tolerance HardwareTolerance(const OperatorDesc& op) {
  const Sizes& a = op.sizes(kATensor);
  const uint32_t terms[] = {a[a.size() - (op[kTransA] != 0 ? 2 : 1)]};
  const bool adds = op.Has(kCTensor);
  const int more = (op[kAlpha] != 1 ? 1 : 0) + (adds ? 1 : 0) + (adds && op[kBeta] != 1 ? 1 : 0);
  return UlpOfSum(terms, 2, static_cast<uint64_t>(more));
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("GEMM", {kFields, "GEMM-1", InferBy<kShapes>, &kShapes},
                Computed{.run = Run,
                         .sources = SourcesBy<kShapes>,
                         .operations = OperationsBy<kShapes>,
                         .formula = Meaning},
                {.hardware_tolerance = HardwareTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::gemm
