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

inline constexpr auto kQuery = field::Optional(field::Input("QueryTensor"))
                                   .Means("The queries, {batch, queries, heads * head size}.");
inline constexpr auto kKey =
    field::Optional(field::Input("KeyTensor")).Means("The keys, {batch, keys, heads * head size}.");
inline constexpr auto kValue =
    field::Optional(field::Input("ValueTensor"))
        .Means("The values, {batch, keys, heads * head size of values}.");
constexpr FieldOf<TensorDesc> Stacked(std::string_view name) {
  return field::Optional(field::Input(name, TypeVariable::kT, RankGroup::kFurther));
}
inline constexpr auto kStackedQueryKey =
    Stacked("StackedQueryKeyTensor")
        .Means(
            "Queries and keys in one tensor, {batch, sequence, heads, 2, head size}, in place of "
            "two.");
inline constexpr auto kStackedKeyValue =
    Stacked("StackedKeyValueTensor")
        .Means(
            "Keys and values in one tensor, {batch, keys, heads, 2, head size}, in place of two.");
inline constexpr auto kStackedQueryKeyValue =
    Stacked("StackedQueryKeyValueTensor")
        .Means(
            "Queries, keys and values in one tensor, {batch, sequence, heads, 3, head size}, in "
            "place of three.");
inline constexpr auto kBias =
    field::Optional(field::Input("BiasTensor", TypeVariable::kT, RankGroup::kOther))
        .Means("Numbers that are added to the columns of queries, keys and values, in this order.");
inline constexpr auto kMask =
    field::Optional(field::Input("MaskTensor", TypeVariable::kIndex, RankGroup::kOther))
        .Means("Which keys count for a query, in the form that MaskType names.");
inline constexpr auto kPositionBias =
    field::Optional(field::Input("RelativePositionBiasTensor", TypeVariable::kT, RankGroup::kSide))
        .Means("Numbers that are added to the scores, {batch, heads, queries, past and new keys}.");
inline constexpr auto kPastKey =
    field::Optional(field::Input("PastKeyTensor", TypeVariable::kT, RankGroup::kSide))
        .Means(
            "The keys of earlier steps, {batch, heads, past keys, head size}, which come before "
            "the new ones; it goes with PastValueTensor.");
inline constexpr auto kPastValue =
    field::Optional(field::Input("PastValueTensor", TypeVariable::kT, RankGroup::kSide))
        .Means(
            "The values of earlier steps, {batch, heads, past keys, head size of values}; it goes "
            "with PastKeyTensor.");
inline constexpr auto kPastLengths =
    field::Optional(field::Input("PastSequenceLengthsTensor", TypeVariable::kU, RankGroup::kOther))
        .Means("How many past keys each batch item has; with it, a query sees no later keys.");
inline constexpr auto kPresentKey =
    field::Optional(field::Output("OutputPresentKeyTensor", TypeVariable::kT, RankGroup::kSide))
        .Means("Past and new keys together, the past of the next step.");
inline constexpr auto kPresentValue =
    field::Optional(field::Output("OutputPresentValueTensor", TypeVariable::kT, RankGroup::kSide))
        .Means("Past and new values together, the past of the next step.");
inline constexpr auto kScale = field::Float("Scale").Means(
    "The factor of the products of queries and keys, usually 1 / sqrt(head size).");
inline constexpr auto kMaskFilterValue =
    field::Float("MaskFilterValue")
        .Means("The number that is added to the scores of masked keys, such as -10000.");
inline constexpr Limits kHeads = {.min = 1, .rule = "CTR-5"};
inline constexpr auto kHeadCount =
    field::Uint("HeadCount", kHeads)
        .Means("The number of heads, which share the columns of queries, keys and values.");
inline constexpr auto kQueryHeadCount =
    field::Uint("QueryHeadCount", kHeads)
        .Means("The number of heads of the queries, a multiple of KeyValueHeadCount.");
inline constexpr auto kKeyValueHeadCount =
    field::Uint("KeyValueHeadCount", kHeads)
        .Means(
            "The number of heads of keys and values; each serves QueryHeadCount / "
            "KeyValueHeadCount heads of queries.");

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
    field::Enum("MaskType", {"DML_MULTIHEAD_ATTENTION_MASK_TYPE_", kMaskTypeNames})
        .Means(
            "The form of MaskTensor: KEY_SEQUENCE_LENGTH, {1, batch}, has the number of keys, and "
            "KEY_SEQUENCE_END_START, {2, batch}, where they end and start; "
            "KEY_QUERY_SEQUENCE_LENGTH_START_END, {3 * batch + 2}, begins with their numbers; "
            "BOOLEAN, {batch, heads, queries, keys}, is 0 where a key is masked. NONE has no "
            "mask.");

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

// Returns the maps from an output to the elements of inputs from which it is computed.
std::vector<SourceMap> Sources(const OperatorDesc& op);

// Takes a valid descriptor.
void RunAttention(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

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
