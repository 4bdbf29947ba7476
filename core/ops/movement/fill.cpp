// SPDX-License-Identifier: Apache-2.0
// DML_FILL_VALUE_CONSTANT_OPERATOR_DESC: fills a tensor with one value.
#include <optional>

#include "core/ops/inference.h"

namespace dmlop::fill {
namespace {

constexpr auto kValueDataType = field::TypeOf("ValueDataType");
constexpr auto kValue = field::ScalarOf("Value");
constexpr const Field* kFields[] = {&kOutputTensor, &kValueDataType, &kValue};

constexpr SupportRow kRows[] = {
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(4, 0), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {types::kAll}},
};

// The output's sizes follow from nothing else.
void Infer(const OperatorDesc&, Inference&) {}

std::optional<ElementBytes> Value(const OperatorDesc& op) {
  return op[kValue].bytes;
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("FILL_VALUE_CONSTANT", {kFields, kSupportBy<kRows>, "ELW-4", Infer},
                Movement{.moves = nullptr, .fill = Value}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::fill
