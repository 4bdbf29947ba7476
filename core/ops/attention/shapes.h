// The fields of MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1, and the sizes that their tensors have
// in common.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/ops/inference.h"

namespace dmlop::attention {

inline constexpr auto kQuery = field::Optional(field::Input("QueryTensor"));
inline constexpr auto kKey = field::Optional(field::Input("KeyTensor"));
inline constexpr auto kValue = field::Optional(field::Input("ValueTensor"));
constexpr FieldOf<TensorDesc> Stacked(std::string_view name) {
  return field::Optional(field::Input(name, TypeVariable::kT, RankGroup::kFurther));
}
inline constexpr auto kStackedQueryKey = Stacked("StackedQueryKeyTensor");
inline constexpr auto kStackedKeyValue = Stacked("StackedKeyValueTensor");
inline constexpr auto kStackedQueryKeyValue = Stacked("StackedQueryKeyValueTensor");
inline constexpr auto kBias =
    field::Optional(field::Input("BiasTensor", TypeVariable::kT, RankGroup::kOther));
inline constexpr auto kMask =
    field::Optional(field::Input("MaskTensor", TypeVariable::kIndex, RankGroup::kOther));
inline constexpr auto kPositionBias =
    field::Optional(field::Input("RelativePositionBiasTensor", TypeVariable::kT, RankGroup::kSide));
inline constexpr auto kPastKey =
    field::Optional(field::Input("PastKeyTensor", TypeVariable::kT, RankGroup::kSide));
inline constexpr auto kPastValue =
    field::Optional(field::Input("PastValueTensor", TypeVariable::kT, RankGroup::kSide));
inline constexpr auto kPastLengths =
    field::Optional(field::Input("PastSequenceLengthsTensor", TypeVariable::kU, RankGroup::kOther));
inline constexpr auto kPresentKey =
    field::Optional(field::Output("OutputPresentKeyTensor", TypeVariable::kT, RankGroup::kSide));
inline constexpr auto kPresentValue =
    field::Optional(field::Output("OutputPresentValueTensor", TypeVariable::kT, RankGroup::kSide));
inline constexpr auto kScale = field::Float("Scale");
inline constexpr auto kMaskFilterValue = field::Float("MaskFilterValue");
inline constexpr Limits kHeads = {.min = 1, .rule = "CTR-5"};
inline constexpr auto kHeadCount = field::Uint("HeadCount", kHeads);
inline constexpr auto kQueryHeadCount = field::Uint("QueryHeadCount", kHeads);
inline constexpr auto kKeyValueHeadCount = field::Uint("KeyValueHeadCount", kHeads);

enum MaskType : uint32_t {
  kNoMask,
  kKeySequenceLength,
  kKeySequenceEndStart,
  kKeyQuerySequenceLengthStartEnd,
  kBoolean,
};
inline constexpr std::string_view kMaskTypeNames[] = {
    "NONE", "KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START", "KEY_QUERY_SEQUENCE_LENGTH_START_END",
    "BOOLEAN"};
inline constexpr auto kMaskType =
    field::Enum("MaskType", {"DML_MULTIHEAD_ATTENTION_MASK_TYPE_", kMaskTypeNames});

// Of a tensor that may be left out, and that not every operator has.
bool Has(const OperatorDesc& op, const FieldOf<TensorDesc>& tensor);

struct Shapes {
  uint32_t batches;
  uint32_t queries;  // tokens
  uint32_t fresh;    // keys that are not past
  uint32_t past;     // keys in PastKeyTensor
  uint32_t keys;     // all
  uint32_t query_heads;
  uint32_t key_heads;
  uint32_t size;        // of a head of queries and keys
  uint32_t value_size;  // of a head of values
};

// Of a valid descriptor.
Shapes ShapesOf(const OperatorDesc& op);

void Infer(const OperatorDesc& op, Inference& infer);

}  // namespace dmlop::attention
