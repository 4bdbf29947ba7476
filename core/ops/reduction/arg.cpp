// SPDX-License-Identifier: Apache-2.0
// DML_ARGMIN_OPERATOR_DESC and DML_ARGMAX_OPERATOR_DESC: like REDUCE, but of equal elements either
// the first or the last can be chosen.
#include "core/ops/reduction/shared.h"

namespace dmlop::arg {
namespace {

using namespace reduction;

constexpr const Field* kFields[] = {&kInputTensor, &kOutput, &kAxisCount, &kAxes, &kAxisDirection};
constexpr SupportRow kRows[] = {
    {Level(3, 0), 1, 8, {types::kUpTo32, kIndexTypes}},
    {Level(4, 1), 1, 8, {types::kUpTo32 | types::kInt64s, kIndexTypes}},
};

void Infer(const OperatorDesc& op, Inference& infer) {
  InferIndexType(op, op.name(), infer);
  InferReducedSizes(op, infer);
}

template <ReduceFunction kFunction>
ReductionCall Call(const OperatorDesc& op) {
  return {kFunction, op[kAxes], op[kAxisDirection] == 1};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ARGMAX", {kFields, kSupportBy<kRows>, "RED-2", Infer},
                Reduction{Call<ReduceFunction::kArgMax>}),
    OperatorRow("ARGMIN", {kFields, kSupportBy<kRows>, "RED-2", Infer},
                Reduction{Call<ReduceFunction::kArgMin>}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::arg
