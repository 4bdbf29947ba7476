// SPDX-License-Identifier: Apache-2.0
// DML_MULTIHEAD_ATTENTION_OPERATOR_DESC and DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.
#include "core/ops/attention/attention.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/ops/signature.h"

namespace dmlop::attention {
namespace {

constexpr const FieldOf<TensorDesc>* kSources[] = {
    &kQuery, &kKey, &kValue, &kStackedQueryKey, &kStackedKeyValue, &kStackedQueryKeyValue};

uint32_t FromEnd(const Sizes& sizes, size_t d) {
  return sizes[sizes.size() - d];
}

uint32_t HeadsOf(const OperatorDesc& op, const FieldOf<uint32_t>& field) {
  const uint32_t* one_for_all = op.find_if_known(kHeadCount);
  return one_for_all != nullptr ? *one_for_all : op[field];
}

// --- sources of queries, keys and values ---------------------------------------------------------

bool CheckSources(const OperatorDesc& op, Inference& infer) {
  std::vector<std::string_view> names;
  for (const FieldOf<TensorDesc>* source : kSources) {
    if (op.Has(*source)) names.push_back(source->name);
  }
  const auto count = [&](std::span<const Source> sources) {
    return std::ranges::count_if(sources, [&](const Source& one) { return op.Has(*one.tensor); });
  };
  const auto queries = count(kQuerySources), keys = count(kKeySources);
  const auto values = count(kValueSources);
  const bool has_past = op.Has(kPastKey) && op.Has(kPastValue);
  const bool reads_past_only = queries == 1 && keys == 0 && values == 0 && has_past;
  const bool is_sound = reads_past_only || (queries == 1 && keys == 1 && values == 1);
  return infer.Require(is_sound, "MHA-1", At(kQuery),
                       "queries, keys and values must be there once each, or queries alone with "
                       "PastKeyTensor and PastValueTensor; there are: {}",
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

// Returns whether ranks suffice to take sizes from the tensors. No level allows others.
bool HaveRanks(const OperatorDesc& op) {
  const auto has = [&](const FieldOf<TensorDesc>& tensor, size_t rank) {
    return !op.Has(tensor) || op[tensor].rank() >= rank;
  };
  return has(kQuery, 3) && has(kKey, 3) && has(kValue, 3) && has(kStackedQueryKey, 5) &&
         has(kStackedKeyValue, 5) && has(kStackedQueryKeyValue, 5) && has(kPastKey, 4) &&
         has(kPastValue, 4);
}

bool CheckDivides(const FieldOf<TensorDesc>& tensor, uint32_t heads, const OperatorDesc& op,
                  Inference& infer) {
  if (!op.Has(tensor)) return true;
  const TensorAt at = infer.tensor(tensor);
  return infer.Require(at.sizes().back() % heads == 0, "MHA-2", SizeAt(at, at.sizes().size() - 1),
                       "{} does not divide by the number of heads, {}", at.sizes().back(), heads);
}

bool CheckHeads(const OperatorDesc& op, Inference& infer) {
  const uint32_t query_heads = HeadsOf(op, kQueryHeadCount);
  const uint32_t key_heads = HeadsOf(op, kKeyValueHeadCount);
  const bool divides = CheckDivides(kQuery, query_heads, op, infer) &&
                       CheckDivides(kKey, key_heads, op, infer) &&
                       CheckDivides(kValue, key_heads, op, infer);
  if (query_heads == key_heads) return divides;
  const bool is_group =
      infer.Require(query_heads % key_heads == 0, "MHA-11", At(kKeyValueHeadCount),
                    "{} does not divide QueryHeadCount, which is {}", key_heads, query_heads);
  return divides && is_group;
}

// --- sizes ---------------------------------------------------------------------------------------

// The words are batches, queries, new, past and all keys, heads of queries and of keys, and the
// components of keys and of values; stacked queries have as many heads as the keys.
constexpr std::string_view kRow =
    "{1.., B} | {1.., B, 1} | {1.., B, 1, 1} | {1.., B, 1, 1, 1} | {B, 1, 1, 1, 1}";
constexpr TensorShape Ranked(const FieldOf<TensorDesc>& tensor, std::string_view dims,
                             std::string_view rule) {
  return {.tensor = &tensor, .dims = dims, .own_rule = rule};
}
template <bool kHasLengths>
constexpr std::string_view kPresentRule = kHasLengths ? "MHA-13" : "MHA-10";
template <bool kHasLengths>
constexpr TensorShape kTensors[] = {
    Ranked(kQuery, "{1.., B, S, N*H}", "MHA-2"),
    Ranked(kKey, "{1.., B, L, M*H}", "MHA-2"),
    Ranked(kValue, "{1.., B, L, M*V}", "MHA-2"),
    Ranked(kStackedQueryKey, "{1.., B, S, N, 2, H}", "MHA-2"),
    Ranked(kStackedKeyValue, "{1.., B, L, M, 2, H}", "MHA-2"),
    Ranked(kStackedQueryKeyValue, "{1.., B, S, N, 3, H}", "MHA-2"),
    Ranked(kBias, "{1.., N*H+M*H+M*V}", "MHA-4"),
    {&kMask, "{A..} | {1.., B} | {1.., 2, B} | {1.., 3*B+2} | {1.., B, N, S, T}", &kMaskType,
     "MHA-6 | MHA-8 | MHA-8 | MHA-9 | MHA-7"},
    Ranked(kPositionBias, "{1.., B, N, S, T}", "MHA-5"),
    Ranked(kPastKey, "{1.., B, M, P, H}", "MHA-10"),
    Ranked(kPastValue, "{1.., B, M, P, V}", "MHA-10"),
    Ranked(kPastLengths, kRow, "MHA-12"),
    {.tensor = &kOutputTensor, .dims = "{1.., B, S, N*V}", .own_rule = "MHA-2", .rank_of = &kQuery},
    Ranked(kPresentKey, "{1.., B, M, T, H}", kPresentRule<kHasLengths>),
    Ranked(kPresentValue, "{1.., B, M, T, V}", kPresentRule<kHasLengths>),
};
std::vector<KnownSize> WordsOf(const OperatorDesc& op) {
  const auto [b, s, l, p, t, nq, nk, h, hv] = ShapesOf(op);
  return {{"B", b},  {"S", s},  {"L", l}, {"P", p}, {"T", t},
          {"N", nq}, {"M", nk}, {"H", h}, {"V", hv}};
}
template <bool kHasLengths>
constexpr Signature kShapes = {
    .rank_rule = "MHA-2", .size_rule = "MHA-2", .tensors = kTensors<kHasLengths>, .known = WordsOf};

void InferSizes(const OperatorDesc& op, const Shapes& shapes, Inference& infer) {
  const bool is_stack = op.Has(kStackedQueryKey) || op.Has(kStackedQueryKeyValue);
  infer.Require(!is_stack || shapes.query_heads == shapes.key_heads, "MHA-2",
                At(kKeyValueHeadCount), "{} is not QueryHeadCount, which is {}: they are stacked",
                shapes.key_heads, shapes.query_heads);
  InferShapes(Has(op, kPastLengths) ? kShapes<true> : kShapes<false>, op, infer);
}

void CheckMask(const OperatorDesc& op, Inference& infer) {
  const uint32_t type = op[kMaskType];
  infer.Require(op.Has(kMask) == (type != kNoMask), "MHA-6", At(kMask),
                "MaskType is {}: a mask is {}", kMaskTypeNames[type],
                type == kNoMask ? "not used" : "needed");
}

// Returns how many keys the cache has, if its sizes are given.
std::optional<uint32_t> PresentKeys(const OperatorDesc& op) {
  for (const FieldOf<TensorDesc>* present : {&kPresentKey, &kPresentValue}) {
    if (!op.Has(*present) || !op[*present].sizes || op[*present].rank() < 4) continue;
    return FromEnd(op.sizes(*present), 2);
  }
  return std::nullopt;
}

void CheckPastLengths(const OperatorDesc& op, const Shapes& shapes, Inference& infer) {
  if (!Has(op, kPastLengths)) return;
  const DataType type = *op[kPastLengths].data_type;
  const DataType common = *op[kOutputTensor].data_type;
  infer.Require(type == DataType::kInt32 || type == common, "MHA-12",
                {kPastLengths.name, std::nullopt, "DataType"}, "{} is neither INT32 nor {}",
                Name(type), Name(common));
  infer.Require(shapes.keys >= shapes.fresh, "MHA-13",
                At(op.Has(kPresentKey) ? kPresentKey : kPresentValue),
                "{} keys have no room for the {} that are new", shapes.keys, shapes.fresh);
}

}  // namespace

bool Has(const OperatorDesc& op, const FieldOf<TensorDesc>& tensor) {
  return op.find_if_known(tensor) != nullptr;
}

Shapes ShapesOf(const OperatorDesc& op) {
  Shapes shapes{};
  shapes.query_heads = HeadsOf(op, kQueryHeadCount);
  shapes.key_heads = HeadsOf(op, kKeyValueHeadCount);
  if (op.Has(kPastKey)) {
    shapes.past = FromEnd(op.sizes(kPastKey), 2);
    shapes.value_size = op.sizes(kPastValue).back();
  }
  // Queries are the last, since keys and values must agree with them.
  const auto take = [&](std::span<const Source> sources, uint32_t heads, uint32_t& tokens,
                        uint32_t& size) {
    for (const auto& [tensor, place] : sources) {
      if (!op.Has(*tensor)) continue;
      const Sizes& sizes = op.sizes(*tensor);
      shapes.batches = FromEnd(sizes, place ? 5 : 3);
      tokens = FromEnd(sizes, place ? 4 : 2);
      size = sizes.back() / (place ? 1 : heads);
    }
  };
  take(kValueSources, shapes.key_heads, shapes.fresh, shapes.value_size);
  take(kKeySources, shapes.key_heads, shapes.fresh, shapes.size);
  take(kQuerySources, shapes.query_heads, shapes.queries, shapes.size);
  shapes.keys = shapes.past + shapes.fresh;
  if (Has(op, kPastLengths)) shapes.keys = PresentKeys(op).value_or(shapes.keys);
  return shapes;
}

void Infer(const OperatorDesc& op, Inference& infer) {
  const bool is_past_whole =
      infer.Require(op.Has(kPastKey) == op.Has(kPastValue), "MHA-10", At(kPastKey),
                    "PastKeyTensor and PastValueTensor are there only together");
  if (!CheckSources(op, infer) || !is_past_whole || !HaveRanks(op)) return;
  if (!CheckHeads(op, infer)) return;
  for (const TensorSlot& slot : TensorSlots(op)) {
    if (slot.desc->sizes && !AreKnown(*slot.desc->sizes)) return;  // sums of sizes are unknown, too
  }
  const Shapes shapes = ShapesOf(op);
  CheckMask(op, infer);
  CheckPastLengths(op, shapes, infer);
  InferSizes(op, shapes, infer);
}

// --- parts ---------------------------------------------------------------------------------------

Part PartOf(const Shapes& shapes, const Field& output, const Dims& begin, const Dims& sizes) {
  const size_t rank = begin.size();
  const auto span = [&](size_t from_end) {
    return Span{begin[rank - from_end], sizes[rank - from_end]};
  };
  if (&output != &kOutputTensor) {
    const bool of_keys = &output == &kPresentKey;
    return {of_keys ? Part::kKeys : Part::kValues, span(4), span(2), {}, span(3), span(1)};
  }
  const int64_t size = shapes.value_size;
  const Span columns = span(1);
  const int64_t first = columns.begin / size;
  const int64_t last = (columns.begin + columns.size - 1) / size;
  const int64_t group = shapes.query_heads / shapes.key_heads;
  return {Part::kResult,
          span(3),
          span(2),
          {first, last - first + 1},
          {first / group, last / group - first / group + 1},
          first == last ? Span{columns.begin % size, columns.size} : Whole(size)};
}

namespace {

// The components of a head have the same weights.
Region WithWholeHeads(const OperatorDesc& op, Region part) {
  if (TensorSlots(op, TensorRole::kOutput)[part.tensor].field != &kOutputTensor) return part;
  const int64_t size = ShapesOf(op).value_size;
  int64_t& first = part.begin.back();
  int64_t& count = part.sizes.back();
  const int64_t end = RoundUp(first + count, size);
  first -= first % size;
  count = end - first;
  return part;
}

}  // namespace

// --- sources -------------------------------------------------------------------------------------

namespace {

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
    const Field& field = *TensorSlots(op_, TensorRole::kOutput)[output.tensor].field;
    const Part part = attention::PartOf(shapes_, field, output.begin, output.sizes);
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

// --- rows ----------------------------------------------------------------------------------------

namespace {

constexpr auto kFields =
    Fields(kQuery, kKey, kValue, kStackedQueryKey, kStackedKeyValue, kStackedQueryKeyValue, kBias,
           kMask, kPositionBias, kPastKey, kPastValue, kOutputTensor, kPresentKey, kPresentValue,
           kScale, kMaskFilterValue, kHeadCount, kMaskType);
constexpr auto kFields1 =
    Fields(kQuery, kKey, kValue, kStackedQueryKey, kStackedKeyValue, kStackedQueryKeyValue, kBias,
           kMask, kPositionBias, kPastKey, kPastValue, kPastLengths, kOutputTensor, kPresentKey,
           kPresentValue, kScale, kMaskFilterValue, kQueryHeadCount, kKeyValueHeadCount, kMaskType);
int64_t Operations(const OperatorDesc& op) {
  const Shapes shapes = ShapesOf(op);
  return SaturatedProduct({shapes.batches, shapes.query_heads, shapes.queries, shapes.keys,
                           int64_t{shapes.size} + shapes.value_size});
}

constexpr Computed kFamily = {.run = RunAttention,
                              .sources = Sources,
                              .together = WithWholeHeads,
                              .warn = WarnOfPast,
                              .operations = Operations,
                              .formula = Meaning};

constexpr OperatorInfo kOperators[] = {
    OperatorRow("MULTIHEAD_ATTENTION", {kFields, "MHA-3", Infer}, kFamily,
                {.reads_by_index = true}),
    OperatorRow("MULTIHEAD_ATTENTION1", {kFields1, "MHA-3", Infer}, kFamily,
                {.reads_by_index = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::attention
