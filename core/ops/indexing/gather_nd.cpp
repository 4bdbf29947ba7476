// SPDX-License-Identifier: Apache-2.0
// DML_GATHER_ND_OPERATOR_DESC and DML_GATHER_ND1_OPERATOR_DESC: tuples of indices select slices.
#include "core/ops/indexing/shared.h"

namespace dmlop::gather_nd {
namespace {

using namespace indexing;

constexpr const Field* kFields[] = {&kInputTensor, &kIndicesTensor, &kOutputTensor, &kIndexedDims,
                                    &kIndexDims};
constexpr const Field* kBatchFields[] = {&kInputTensor, &kIndicesTensor, &kOutputTensor,
                                         &kIndexedDims, &kIndexDims,     &kBatchDims};

constexpr SupportRow kRows[] = {
    Row(Level(2, 1), 4, 4, types::kUpTo32, kUint32),
    Row(Level(3, 0), 1, 8, types::kUpTo32, kAnyIndex),
    Row(Level(4, 1), 1, 8, types::kAll, kAnyIndex),
};
constexpr SupportTable kBatchSupport[] = {{std::span(kRows).subspan(1)}};

constexpr Rule kRules[] = {
    kOneType,
    {"GND-1",
     "all tensors have one DimensionCount; InputDimensionCount and IndicesDimensionCount lie in "
     "[1, DimensionCount], BatchDimensionCount is less than both"},
    {"GND-2", "a tuple has 1 to InputDimensionCount - BatchDimensionCount indices"},
    {"GND-3", "the sizes of batch dimensions agree"},
    {"GND-4", "sizes before the last InputDimensionCount, IndicesDimensionCount are 1"},
    {"GND-5",
     "the output has the indices' sizes but the last, and the sizes of the input behind a tuple's"},
};
constexpr TupleRules kTupleRules = {"GND-1", "GND-1", "GND-2", "GND-3", "GND-4", "GND-5"};

void Infer(const OperatorDesc& op, Inference& infer) {
  if (CheckTuples(kTupleRules, op, infer)) infer.Output("GND-5", kOutputTensor, TupleSizes(op));
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("GATHER_ND", "slices, chosen by tuples of indices",
                {kFields, kSupportBy<kRows>, "MOV-1", kRules, Infer}, GatherBy<TupleLinks>(),
                {.values_choose = true}),
    OperatorRow("GATHER_ND1", "slices of each batch, chosen by tuples of indices",
                {kBatchFields, kBatchSupport, "MOV-1", kRules, Infer}, GatherBy<TupleLinks>(),
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::gather_nd
