// Operators of two inputs, A and B.
#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

constexpr const Field* kFields[] = {&kATensor, &kBTensor, &kOutputTensor};

constexpr DataTypeSet kFloatsAnd32 = types::kFloats | types::kInt32s;
constexpr SupportRow kAddRows[] = {
    {Level(1, 0), 4, 5, {types::kFloats}},
    {Level(2, 1), 4, 5, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}},
    {Level(4, 1), 1, 8, {kFloatsAnd32 | types::kInt64s}},
    {Level(5, 1), 1, 8, {types::kUpTo32 | types::kInt64s}},
};
constexpr SupportTable kAddSupport[] = {{kAddRows}};
constexpr Rule kRules[] = {
    {"ELW-1", "all tensors agree in DataType, DimensionCount and Sizes"},
};

void Infer(const OperatorDesc& op, Inference& infer) {
  infer.RequireSizes("ELW-1", infer.tensor(kBTensor), op.sizes(kATensor));
  infer.Output("ELW-1", kOutputTensor, op.sizes(kATensor));
}

constexpr OperatorInfo Binary(std::string_view name, std::string_view summary,
                              std::span<const SupportTable> support, ElementWiseFunction function) {
  return {.name = name,
          .summary = summary,
          .fields = kFields,
          .support = support,
          .type_rule = "ELW-1",
          .rules = kRules,
          .infer = Infer,
          .family = ElementWise{function},
          .in_place = true};
}

constexpr OperatorInfo kOperators[] = {
    Binary("ELEMENT_WISE_ADD", "a + b", kAddSupport, ElementWiseFunction::kAdd),
};

}  // namespace

std::span<const OperatorInfo> BinaryOperators() {
  return kOperators;
}

}  // namespace dmlop
