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

constexpr TupleRules kTupleRules = {"GND-1", "GND-1", "GND-2", "GND-3", "GND-4", "GND-5"};

void Infer(const OperatorDesc& op, Inference& infer) {
  if (CheckTuples(kTupleRules, op, infer)) infer.Output("GND-5", kOutputTensor, TupleSizes(op));
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("GATHER_ND", {kFields, kSupportBy<kRows>, "MOV-1", Infer}, GatherBy<TupleLinks>(),
                {.values_choose = true}),
    OperatorRow("GATHER_ND1", {kBatchFields, kBatchSupport, "MOV-1", Infer}, GatherBy<TupleLinks>(),
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::gather_nd
