// SPDX-License-Identifier: Apache-2.0
// DML_TOP_K_OPERATOR_DESC, DML_TOP_K1_OPERATOR_DESC and DML_NONZERO_COORDINATES_OPERATOR_DESC:
// select elements by their values.
#include <algorithm>

#include "core/engine/select/select.h"
#include "core/ops/indexing/index_links.h"

namespace dmlop::select {
namespace {

using namespace indexing;

// --- TOP_K ---------------------------------------------------------------------------------------

constexpr auto kValues = field::Output("OutputValueTensor");
constexpr auto kPlaces = field::Output("OutputIndexTensor", TypeVariable::kIndex);
constexpr auto kK = field::Uint("K", {.min = 1, .rule = "TPK-2"});
constexpr auto kTopKFields = Fields(kInputTensor, kValues, kPlaces, kAxis, kK);
constexpr auto kTopK1Fields = Fields(kInputTensor, kValues, kPlaces, kAxis, kK, kAxisDirection);

void InferTopK(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kPlaces, DataType::kUint32);
  Sizes sizes = op.sizes(kInputTensor);
  if (!infer.RequireAxis("MOV-4", At(kAxis), op[kAxis], infer.tensor(kInputTensor))) return;
  const uint32_t size = sizes[op[kAxis]];
  if (!infer.Require(IsUnknown(size) || op[kK] <= size, "TPK-2", At(kK),
                     "{} is out of range [1, {}]", op[kK], size)) {
    return;
  }
  sizes[op[kAxis]] = op[kK];
  infer.Output("TPK-1", kValues, sizes);
  infer.Output("TPK-1", kPlaces, sizes);
}

void TopK(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const uint32_t* direction = op.find_if_known(kAxisDirection);
  const bool falling = direction == nullptr || *direction == 1;
  SelectFirst(op[kAxis], falling, inputs[0], outputs[0], outputs[1]);
}

// --- NONZERO_COORDINATES -------------------------------------------------------------------------

constexpr auto kCount = field::Output("OutputCountTensor", TypeVariable::kIndex, RankGroup::kSide);
constexpr auto kCoordinates =
    field::Output("OutputCoordinatesTensor", TypeVariable::kIndex, RankGroup::kOther);
constexpr auto kNonzeroFields = Fields(kInputTensor, kCount, kCoordinates);

size_t DimensionsWithoutLeadingOnes(const Sizes& sizes) {
  const auto first = std::find_if(sizes.begin(), sizes.end(), [](uint32_t n) { return n > 1; });
  return static_cast<size_t>(sizes.end() - first);
}

void InferNonzero(const OperatorDesc& op, Inference& infer) {
  const Sizes& input = op.sizes(kInputTensor);
  const size_t rank = input.size();
  infer.OutputType(kCount, DataType::kUint32);
  infer.OutputType(kCoordinates, DataType::kUint32);
  infer.Output("NZC-1", kCount, Sizes(op[kCount].sizes ? op[kCount].rank() : rank, 1));
  const int64_t elements = LayoutOf(op[kInputTensor]).element_count();
  const bool is_given = op[kCoordinates].sizes.has_value();
  if (is_given && op[kCoordinates].rank() < 2) return;  // no level allows that
  const size_t output_rank = is_given ? op[kCoordinates].rank() : std::max<size_t>(2, rank);
  const uint32_t columns = is_given ? op.sizes(kCoordinates).back() : static_cast<uint32_t>(rank);
  Sizes expected(output_rank, 1);
  // Saturates: an input with more elements has been refused already.
  expected[output_rank - 2] = static_cast<uint32_t>(std::min<int64_t>(elements, UINT32_MAX));
  expected[output_rank - 1] = columns;
  infer.Output("NZC-1", kCoordinates, expected);
  const size_t least = std::max<size_t>(1, DimensionsWithoutLeadingOnes(input));
  infer.Require(IsUnknown(columns) || (columns >= least && columns <= rank), "NZC-1",
                SizeAt(infer.tensor(kCoordinates), output_rank - 1),
                "{} coordinates are out of range [{}, {}]", columns, least, rank);
}

void Nonzero(const OperatorDesc&, InputViews inputs, OutputViews outputs) {
  FindNonzero(inputs[0], outputs[0], outputs[1]);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow(
        "NONZERO_COORDINATES", {kNonzeroFields, "NZC-1", InferNonzero},
        Computed{
            .run = Nonzero, .sources = SourcesFrom<AllOfInput>, .unsplittable_dims = AllDimensions},
        {.reads_by_index = true}),
    OperatorRow(
        "TOP_K", {kTopKFields, "TPK-1", InferTopK},
        Computed{.run = TopK, .sources = SourcesFrom<AlongAxis>, .unsplittable_dims = TheAxis}),
    OperatorRow(
        "TOP_K1", {kTopK1Fields, "TPK-1", InferTopK},
        Computed{.run = TopK, .sources = SourcesFrom<AlongAxis>, .unsplittable_dims = TheAxis}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::select
