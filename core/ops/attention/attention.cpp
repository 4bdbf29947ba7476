// SPDX-License-Identifier: Apache-2.0
// DML_MULTIHEAD_ATTENTION_OPERATOR_DESC and DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.
#include "core/ops/attention/attention.h"

#include <algorithm>

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
    OperatorRow("MULTIHEAD_ATTENTION", {kFields, "MHA-3", Infer}, kFamily, {.values_choose = true}),
    OperatorRow("MULTIHEAD_ATTENTION1", {kFields1, "MHA-3", Infer}, kFamily,
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

// --- sources -------------------------------------------------------------------------------------

namespace {

struct Span {
  int64_t begin, size;
};

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

Span Whole(int64_t size) {
  return {0, size};
}

// The columns of heads, each with `size` components, in a row of all heads.
Span InRow(const Span& heads, int64_t size, const Span& components) {
  if (heads.size == 1) return {heads.begin * size + components.begin, components.size};
  return {heads.begin * size, heads.size * size};
}

// Returns which of the `count` tokens that begin at `begin` lie in a span.
std::optional<Span> Within(const Span& tokens, int64_t begin, int64_t count) {
  const int64_t first = std::max(tokens.begin, begin);
  const int64_t last = std::min(tokens.begin + tokens.size, begin + count);
  if (first >= last) return std::nullopt;
  return Span{first - begin, last - first};
}

class Map {
 public:
  explicit Map(const OperatorDesc& op) : op_(op), shapes_(ShapesOf(op)) {}

  std::optional<Region> operator()(size_t input, std::string_view name,
                                   const Region& output) const {
    const Part part = PartOf(output);
    const auto last = LastOf(name, part);
    if (!last) return std::nullopt;
    const Sizes& sizes = *TensorSlots(op_, TensorRole::kInput)[input].desc->sizes;
    Region region{input, Dims::Filled(sizes.size() - last->size(), 0),
                  Dims::Filled(sizes.size() - last->size(), 1)};
    for (const Span& span : *last) {
      region.begin.push_back(span.begin);
      region.sizes.push_back(span.size);
    }
    return region;
  }

 private:
  using Spans = std::vector<Span>;  // of the last dimensions

  Part PartOf(const Region& output) const {
    const std::string_view name = TensorSlots(op_, TensorRole::kOutput)[output.tensor].field->name;
    const size_t rank = output.begin.size();
    const auto span = [&](size_t from_end) {
      return Span{output.begin[rank - from_end], output.sizes[rank - from_end]};
    };
    if (name != kOutputTensor.name) {
      const bool of_keys = name == kPresentKey.name;
      return {of_keys ? Part::kKeys : Part::kValues, span(4), span(2), {}, span(3), span(1)};
    }
    const int64_t size = shapes_.value_size;
    const Span columns = span(1);
    const int64_t first = columns.begin / size;
    const int64_t last = (columns.begin + columns.size - 1) / size;
    const int64_t group = shapes_.query_heads / shapes_.key_heads;
    return {Part::kResult,
            span(3),
            span(2),
            {first, last - first + 1},
            {first / group, last / group - first / group + 1},
            first == last ? Span{columns.begin % size, columns.size} : Whole(size)};
  }

  // The components of keys that a part depends on: for the result, all.
  Span KeyComponents(const Part& part) const {
    return part.is_result() ? Whole(shapes_.size) : part.components;
  }

  // The new keys that a part depends on. If their places depend on lengths, it may be any of them.
  std::optional<Span> Fresh(const Part& part) const {
    if (part.is_result() || Has(op_, kPastLengths)) return Whole(shapes_.fresh);
    return Within(part.tokens, shapes_.past, shapes_.fresh);
  }

  std::optional<Spans> LastOf(std::string_view name, const Part& part) const {
    if (name == kQuery.name) return OfQuery(part);
    if (name == kKey.name) return OfRow(part, Part::kKeys, shapes_.size, KeyComponents(part));
    if (name == kValue.name) {
      return OfRow(part, Part::kValues, shapes_.value_size, part.components);
    }
    if (name == kStackedQueryKey.name) return OfStack(part, 2, 1, std::nullopt);
    if (name == kStackedKeyValue.name) return OfStack(part, 2, 0, 1);
    if (name == kStackedQueryKeyValue.name) return OfStack(part, 3, 1, 2);
    if (name == kBias.name) return OfBias(part);
    if (name == kPastKey.name) return OfPast(part, Part::kKeys, KeyComponents(part));
    if (name == kPastValue.name) return OfPast(part, Part::kValues, part.components);
    if (name == kPastLengths.name) return OfPastLengths(part);
    if (!part.is_result()) return std::nullopt;
    if (name == kMask.name && op_[kMaskType] != kBoolean) return OfLengths(part);
    return Spans{part.batches, part.query_heads, part.tokens, Whole(shapes_.keys)};
  }

  std::optional<Spans> OfQuery(const Part& part) const {
    if (!part.is_result()) return std::nullopt;
    const int64_t size = shapes_.size;
    return Spans{part.batches, part.tokens, InRow(part.query_heads, size, Whole(size))};
  }

  bool Concerns(const Part& part, Part::Output output) const {
    return part.is_result() || part.output == output;
  }

  std::optional<Spans> OfRow(const Part& part, Part::Output output, int64_t size,
                             const Span& components) const {
    const auto tokens = Fresh(part);
    if (!Concerns(part, output) || !tokens) return std::nullopt;
    return Spans{part.batches, *tokens, InRow(part.key_heads, size, components)};
  }

  // The tensor is a stack of `count`, with keys and values at these places, if it has them.
  std::optional<Spans> OfStack(const Part& part, int64_t count, std::optional<int64_t> keys,
                               std::optional<int64_t> values) const {
    const auto tokens = Fresh(part);
    if (!tokens) return std::nullopt;
    if (part.is_result()) {
      return Spans{part.batches, *tokens, part.key_heads, Whole(count), Whole(shapes_.size)};
    }
    const auto place = part.output == Part::kKeys ? keys : values;
    if (!place) return std::nullopt;
    return Spans{part.batches, *tokens, part.key_heads, {*place, 1}, part.components};
  }

  std::optional<Spans> OfBias(const Part& part) const {
    const int64_t queries = int64_t{shapes_.query_heads} * shapes_.size;
    const int64_t keys = int64_t{shapes_.key_heads} * shapes_.size;
    const int64_t values = int64_t{shapes_.key_heads} * shapes_.value_size;
    if (part.is_result()) return Spans{Whole(queries + keys + values)};
    const bool of_keys = part.output == Part::kKeys;
    Span span = InRow(part.key_heads, of_keys ? shapes_.size : shapes_.value_size, part.components);
    span.begin += of_keys ? queries : queries + keys;
    return Spans{span};
  }

  std::optional<Spans> OfPast(const Part& part, Part::Output output, const Span& components) const {
    if (!Concerns(part, output)) return std::nullopt;
    const auto tokens =
        part.is_result() ? Whole(shapes_.past) : Within(part.tokens, 0, shapes_.past);
    if (!tokens) return std::nullopt;
    return Spans{part.batches, part.key_heads, *tokens, components};
  }

  // The batches lie along the only dimension with more than one element.
  Spans OfPastLengths(const Part& part) const {
    Spans spans;
    for (const uint32_t size : op_.sizes(kPastLengths)) {
      spans.push_back(size == 1 ? Whole(1) : part.batches);
    }
    return spans;
  }

  std::optional<Spans> OfLengths(const Part& part) const {
    if (op_[kMaskType] == kKeySequenceEndStart) return Spans{Whole(2), part.batches};
    return Spans{part.batches};
  }

  const OperatorDesc& op_;
  Shapes shapes_;
};

}  // namespace

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  std::vector<SourceMap> maps;
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  for (size_t input = 0; input < slots.size(); ++input) {
    maps.push_back([map = Map(op), input, name = slots[input].field->name](const Region& output) {
      return map(input, name, output);
    });
  }
  return maps;
}

}  // namespace dmlop::attention
