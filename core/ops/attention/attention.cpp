// SPDX-License-Identifier: Apache-2.0
// DML_MULTIHEAD_ATTENTION_OPERATOR_DESC and DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.
#include "core/ops/attention/attention.h"

#include "core/base/integers.h"
namespace dmlop::attention {
namespace {

using namespace attention;

constexpr const Field* kFields[] = {&kQuery,
                                    &kKey,
                                    &kValue,
                                    &kStackedQueryKey,
                                    &kStackedKeyValue,
                                    &kStackedQueryKeyValue,
                                    &kBias,
                                    &kMask,
                                    &kPositionBias,
                                    &kPastKey,
                                    &kPastValue,
                                    &kOutputTensor,
                                    &kPresentKey,
                                    &kPresentValue,
                                    &kScale,
                                    &kMaskFilterValue,
                                    &kHeadCount,
                                    &kMaskType};
constexpr const Field* kFields1[] = {&kQuery,
                                     &kKey,
                                     &kValue,
                                     &kStackedQueryKey,
                                     &kStackedKeyValue,
                                     &kStackedQueryKeyValue,
                                     &kBias,
                                     &kMask,
                                     &kPositionBias,
                                     &kPastKey,
                                     &kPastValue,
                                     &kPastLengths,
                                     &kOutputTensor,
                                     &kPresentKey,
                                     &kPresentValue,
                                     &kScale,
                                     &kMaskFilterValue,
                                     &kQueryHeadCount,
                                     &kKeyValueHeadCount,
                                     &kMaskType};
constexpr SupportRow Row(FeatureLevel since) {
  return {since,
          3,
          5,
          {types::kFloats, types::kFloats | DataTypeSet{DataType::kInt32}, {}, {DataType::kInt32}},
          {{{4, 5}, {1, 5}, {5, 5}}}};
}
constexpr SupportRow kRows[] = {Row(Level(6, 1))};
constexpr SupportRow kRows1[] = {Row(Level(6, 3))};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr SupportTable kSupport1[] = {{kRows1}};

constexpr Rule kRules1[] = {
    {"CTR-5", "numbers of heads are not 0"},
    {"MHA-1",
     "queries, keys and values come from tensors or stacks of them, each once; or queries alone, "
     "with past keys and values"},
    {"MHA-2",
     "queries are {B, s, N * H}, keys {B, l, N * H}, values {B, l, N * V}, the output {B, s, N * "
     "V}, behind 1s; stacks {B, tokens, N, 2 or 3, H}"},
    {"MHA-3", "all tensors but masks and lengths agree in DataType"},
    {"MHA-4", "the bias has an element for each column of queries, keys and values"},
    {"MHA-5", "the position bias is {B, N, s, T}, behind a 1"},
    {"MHA-6", "MaskType NONE has no mask, and every other has one"},
    {"MHA-7", "a mask of booleans is {B, N, s, T}, behind a 1"},
    {"MHA-8", "lengths of keys are {B}, their ends and starts {2, B}, behind 1s"},
    {"MHA-9", "lengths and offsets of keys and queries are {3 * B + 2}, behind 1s"},
    {"MHA-10",
     "past keys and values are there together; past and present ones are {B, N, P or T, H or V}, "
     "behind a 1"},
    {"MHA-11", "KeyValueHeadCount divides QueryHeadCount"},
    {"MHA-12", "past lengths are {B}, behind or before 1s, of INT32 or the common type"},
    {"MHA-13", "with past lengths, present keys have room for the new ones"},
};
constexpr std::span<const Rule> kRules = std::span(kRules1).first<11>();

int64_t Operations(const OperatorDesc& op) {
  const Shapes shapes = ShapesOf(op);
  return SaturatedProduct({shapes.batches, shapes.query_heads, shapes.queries, shapes.keys,
                           int64_t{shapes.size} + shapes.value_size});
}

constexpr Computed kFamily = {.run = RunAttention,
                              .sources = Sources,
                              .unsplittable_dims = AllDimensions,
                              .warn = WarnOfPast,
                              .operations = Operations,
                              .formula = Meaning};

constexpr OperatorInfo kOperators[] = {
    {.name = "MULTIHEAD_ATTENTION",
     .summary = "means of values, weighted by what queries make of their keys",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "MHA-3",
     .rules = kRules,
     .infer = Infer,
     .family = kFamily,
     .values_choose = true},
    {.name = "MULTIHEAD_ATTENTION1",
     .summary = "MULTIHEAD_ATTENTION with groups of queries and lengths of the past",
     .fields = kFields1,
     .support = kSupport1,
     .type_rule = "MHA-3",
     .rules = kRules1,
     .infer = Infer,
     .family = kFamily,
     .values_choose = true},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::attention
