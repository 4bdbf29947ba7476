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
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"RED-1", "the output has the input's rank; its sizes are 1 on Axes, else the input's"},
    {"RED-2", "the output is INT64, INT32, UINT64 or UINT32"},
    kAxesExist,
    kAxesDiffer,
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
    {.name = "ARGMAX",
     .summary = "the index of the greatest element along axes",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "RED-2",
     .rules = kRules,
     .infer = Infer,
     .family = Reduction{Call<ReduceFunction::kArgMax>}},
    {.name = "ARGMIN",
     .summary = "the index of the least element along axes",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "RED-2",
     .rules = kRules,
     .infer = Infer,
     .family = Reduction{Call<ReduceFunction::kArgMin>}},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::arg
