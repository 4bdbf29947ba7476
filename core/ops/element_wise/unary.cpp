// Operators of one input.
#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias};

// 64-bit types have no ScaleBias.
void RequireScalable(std::string_view code, const OperatorDesc& op, Inference& infer) {
  const DataType type = *op[kInputTensor].data_type;
  infer.Require(!op.Has(kScaleBias) || BitWidth(type) != 64, code, At(kScaleBias),
                "ScaleBias is not supported for {}", Name(type));
}

// --- ELEMENT_WISE_IDENTITY -----------------------------------------------------------------------

constexpr SupportRow kIdentityRows[] = {
    {Level(1, 0), 4, 5, {types::kFloats}},
    {Level(2, 1), 4, 5, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {types::kAll}},
};
constexpr SupportTable kIdentitySupport[] = {{kIdentityRows}};
constexpr Rule kIdentityRules[] = {
    {"ID-1", "input and output agree in DataType, DimensionCount and Sizes"},
    {"ID-6", "no ScaleBias for 64-bit types"},
};

void InferIdentity(const OperatorDesc& op, Inference& infer) {
  infer.Output("ID-1", kOutputTensor, op.sizes(kInputTensor));
  RequireScalable("ID-6", op, infer);
}

// Hardware may multiply and add with one rounding or with two (ID-8).
uint64_t IdentityTolerance(const OperatorDesc& op) {
  return op.Has(kScaleBias) ? 2 : 0;
}

// --- functions of one element --------------------------------------------------------------------

constexpr DataTypeSet kSignedTo32 = {DataType::kInt32, DataType::kInt16, DataType::kInt8};
constexpr SupportRow kAbsRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(2, 1), 4, 4, {types::kFloats | kSignedTo32}},
    {Level(3, 0), 1, 8, {types::kFloats | kSignedTo32}},
    {Level(4, 1), 1, 8, {types::kFloats | kSignedTo32 | DataTypeSet{DataType::kInt64}}},
};
constexpr SupportTable kAbsSupport[] = {{kAbsRows}};
constexpr Rule kScaledRules[] = {
    {"ELW-1", "input and output agree in DataType, DimensionCount and Sizes"},
    {"SB-4", "no ScaleBias for 64-bit types"},
};

void InferScaled(const OperatorDesc& op, Inference& infer) {
  infer.Output("ELW-1", kOutputTensor, op.sizes(kInputTensor));
  RequireScalable("SB-4", op, infer);
}

constexpr OperatorInfo Scaled(std::string_view name, std::string_view summary,
                              std::span<const SupportTable> support, ElementWiseFunction function) {
  return {.name = name,
          .summary = summary,
          .fields = kFields,
          .support = support,
          .type_rule = "ELW-1",
          .rules = kScaledRules,
          .infer = InferScaled,
          .family = ElementWise{function},
          .in_place = true};
}

constexpr OperatorInfo kOperators[] = {
    {.name = "ELEMENT_WISE_IDENTITY",
     .summary = "copies a tensor, between any two layouts, optionally as x * Scale + Bias",
     .fields = kFields,
     .support = kIdentitySupport,
     .type_rule = "ID-1",
     .rules = kIdentityRules,
     .infer = InferIdentity,
     .family = ElementWise{ElementWiseFunction::kCast},
     .in_place = true,
     .hardware_tolerance = IdentityTolerance},
    Scaled("ELEMENT_WISE_ABS", "the magnitude of each element", kAbsSupport,
           ElementWiseFunction::kAbs),
};

}  // namespace

std::span<const OperatorInfo> UnaryOperators() {
  return kOperators;
}

}  // namespace dmlop
