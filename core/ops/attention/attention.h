// SPDX-License-Identifier: Apache-2.0
// The fields of both MULTIHEAD_ATTENTION operators, and the sizes that their tensors share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/integers.h"
#include "core/ops/family.h"
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
inline constexpr FieldLimits kHeads = {.min = 1, .rule = "CTR-5"};
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

// A source of queries, keys or values: a tensor, or a place in the fourth dimension of a stack.
struct Source {
  const FieldOf<TensorDesc>* tensor;
  std::optional<int64_t> place = std::nullopt;
};
inline constexpr Source kQuerySources[] = {
    {&kQuery}, {&kStackedQueryKey, 0}, {&kStackedQueryKeyValue, 0}};
inline constexpr Source kKeySources[] = {
    {&kKey}, {&kStackedQueryKey, 1}, {&kStackedKeyValue, 0}, {&kStackedQueryKeyValue, 1}};
inline constexpr Source kValueSources[] = {
    {&kValue}, {&kStackedKeyValue, 1}, {&kStackedQueryKeyValue, 2}};

// Returns whether the operator has such a tensor, and it is not left out.
bool Has(const OperatorDesc& op, const FieldOf<TensorDesc>& tensor);

struct Shapes {
  uint32_t batches;
  uint32_t queries;  // tokens
  uint32_t fresh;    // new keys
  uint32_t past;     // keys in PastKeyTensor
  uint32_t keys;     // all
  uint32_t query_heads;
  uint32_t key_heads;
  uint32_t size;        // components of a head of queries or keys
  uint32_t value_size;  // components of a head of values
};

// Takes a valid descriptor.
Shapes ShapesOf(const OperatorDesc& op);

void Infer(const OperatorDesc& op, Inference& infer);

struct Span {
  int64_t begin, size;
};

inline Span Whole(int64_t size) {
  return {0, size};
}

// The ranges that a part of an output covers in the sizes that tensors share.
struct Part {
  enum Output { kResult, kKeys, kValues };
  Output output;
  Span batches;
  Span tokens;       // of queries if part of the result, otherwise of present keys
  Span query_heads;  // only for parts of the result
  Span key_heads;
  Span components;  // within a head; all of them if the part spans several heads

  bool is_result() const { return output == kResult; }
};
Part PartOf(const Shapes& shapes, const Field& output, const Dims& begin, const Dims& sizes);

// Returns the maps from an output to the elements of inputs from which it is computed.
std::vector<SourceMap> Sources(const OperatorDesc& op);

// Computes the part of the outputs that begins at `begin`, or all of them.
void RunAttention(const OperatorDesc& op, InputViews inputs, const Dims& begin,
                  OutputViews outputs);

// The keys that values of the inputs select: how many of each batch are past, and which ones a mask
// of lengths keeps. Empty where there are no such inputs.
struct KeyChoice {
  std::vector<int64_t> past;
  std::vector<Range> kept;
};
KeyChoice KeysOf(const OperatorDesc& op, InputViews inputs);

// Makes the formula of an element of any output.
FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula);

// Warns of lengths of the past that are out of range; RunAttention clamps them.
void WarnOfPast(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics);

}  // namespace dmlop::attention
