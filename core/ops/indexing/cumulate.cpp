// SPDX-License-Identifier: Apache-2.0
// DML_CUMULATIVE_SUMMATION_OPERATOR_DESC and DML_CUMULATIVE_PRODUCT_OPERATOR_DESC: combine each
// element with all those before it along Axis.
#include "core/engine/scan/scan.h"
#include "core/ops/formula.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/indexing/shared.h"

namespace dmlop::cumulative {
namespace {

using namespace indexing;

constexpr auto kExclusiveSum = field::Bool("HasExclusiveSum");
constexpr auto kExclusiveProduct = field::Bool("HasExclusiveProduct");
constexpr const Field* kSumFields[] = {&kInputTensor, &kOutputTensor, &kAxis, &kAxisDirection,
                                       &kExclusiveSum};
constexpr const Field* kProductFields[] = {&kInputTensor, &kOutputTensor, &kAxis, &kAxisDirection,
                                           &kExclusiveProduct};

constexpr DataTypeSet kUpTo32 = types::kFloats | types::kInt32s;
constexpr SupportRow kSumRows[] = {
    {Level(2, 1), 4, 4, {kUpTo32}},
    {Level(4, 0), 1, 8, {kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo32 | types::kInt64s}},
};
constexpr SupportRow kProductRows[] = {
    {Level(3, 1), 4, 4, {kUpTo32}},
    {Level(4, 0), 1, 8, {kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo32 | types::kInt64s}},
};

void Infer(const OperatorDesc& op, Inference& infer) {
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
std::vector<SourceMap> Sources(const OperatorDesc& op) {
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
FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::optional<Region> taken = Sources<kExclusive>(op)[0](element);
  const auto elements = taken ? formula.Elements(*taken) : std::vector<FormulaNode>();
  return Reduced(kFunction, false, elements, formula.inputs()[0].type, formula);
}

Tolerance HardwareTolerance(const OperatorDesc& op) {
  return {.ulp = HasFloats(op) ? op.sizes(kInputTensor)[op[kAxis]] - 1 : 0};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("CUMULATIVE_PRODUCT", {kProductFields, kSupportBy<kProductRows>, "CUM-1", Infer},
                Computed{.run = Multiply,
                         .sources = Sources<kExclusiveProduct>,
                         .unsplittable_dims = TheAxis,
                         .formula = Meaning<ReduceFunction::kMultiply, kExclusiveProduct>},
                {.in_place = true}),
    OperatorRow("CUMULATIVE_SUMMATION", {kSumFields, kSupportBy<kSumRows>, "CUM-1", Infer},
                Computed{.run = Sum,
                         .sources = Sources<kExclusiveSum>,
                         .unsplittable_dims = TheAxis,
                         .formula = Meaning<ReduceFunction::kSum, kExclusiveSum>},
                {.in_place = true, .hardware_tolerance = HardwareTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::cumulative
