// SPDX-License-Identifier: Apache-2.0
// The formula of an element of the result: the mean of a component of the values, weighted by
// exponentials of scores.
#include "core/ops/formula.h"

#include <fmt/format.h>

#include <map>

#include "core/ops/attention/attention.h"

namespace dmlop::attention {
namespace {

struct Component {
  int64_t batch, head, token, number;
};

// The sources of queries, keys or values: new tokens, whose bias begins at a column, and past
// ones.
struct Tokens {
  std::span<const Source> sources;
  const FieldOf<TensorDesc>* past;
  int64_t size;  // of a head
  int64_t first_bias;
};

class AttentionFormula {
 public:
  AttentionFormula(const OperatorDesc& op, const Region& element, Formula& formula)
      : op_(op),
        element_(element),
        formula_(formula),
        shapes_(ShapesOf(op)),
        choice_(KeysOf(op, formula.inputs())) {
    const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
    for (size_t i = 0; i < slots.size(); ++i) inputs_.emplace(slots[i].field, i);
  }

  FormulaNode Result() {
    const int64_t size = shapes_.value_size;
    const int64_t column = FromEnd(1);
    head_ = column / size;
    const int64_t key_head = head_ / (shapes_.query_heads / shapes_.key_heads);
    const std::vector<FormulaNode> scores = Scores(key_head);
    const FormulaNode maximum =
        formula_.Named("maximum", formula_.Apply(FormulaOperation::kMaximum, scores));
    const std::vector<FormulaNode> weights = formula_.Each(scores, [&](FormulaNode score) {
      return formula_.Shared(
          formula_.Apply(FormulaOperation::kExponential, {formula_.Difference(score, maximum)}));
    });
    const FormulaNode sum = formula_.Named("sum of exponentials", formula_.Sum(weights));
    std::vector<FormulaNode> products;
    for (size_t key = 0; key < weights.size(); ++key) {
      const FormulaNode value =
          Rounded(Values(), {Batch(), key_head, static_cast<int64_t>(key), column % size});
      products.push_back(formula_.Apply(FormulaOperation::kWeighted, {weights[key], value}));
    }
    return formula_.Quotient(formula_.Named("weighted sum of values", formula_.Sum(products)), sum);
  }

  // An element of the keys or values that are handed on.
  FormulaNode Present(bool of_keys) {
    return At(of_keys ? Keys() : Values(), {FromEnd(4), FromEnd(3), FromEnd(2), FromEnd(1)});
  }

 private:
  int64_t FromEnd(size_t d) const { return element_.begin[element_.begin.size() - d]; }
  int64_t Batch() const { return FromEnd(3); }
  int64_t Query() const { return FromEnd(2); }

  Tokens Queries() const { return {kQuerySources, nullptr, shapes_.size, 0}; }
  Tokens Keys() const {
    return {kKeySources, &kPastKey, shapes_.size, int64_t{shapes_.query_heads} * shapes_.size};
  }
  Tokens Values() const {
    const Tokens keys = Keys();
    return {kValueSources, &kPastValue, shapes_.value_size,
            keys.first_bias + int64_t{shapes_.key_heads} * keys.size};
  }

  // --- elements ----------------------------------------------------------------------------------

  // At the last indices of an input.
  FormulaNode Input(const Field& tensor, const Dims& last) {
    const size_t input = inputs_.at(&tensor);
    const size_t rank = formula_.inputs()[input].layout.rank();
    Region place{input, Dims::Filled(rank - last.size(), 0), Dims::Filled(rank, 1)};
    for (const int64_t index : last) place.begin.push_back(index);
    return formula_.Element(place);
  }

  // Past ones are first; between them and behind the new ones there may be nothing, which is 0.
  FormulaNode At(const Tokens& tokens, Component component) {
    const int64_t past = tokens.past == nullptr ? 0
                         : choice_.past.empty()
                             ? int64_t{shapes_.past}
                             : choice_.past[static_cast<size_t>(component.batch)];
    const auto [batch, head, token, number] = component;
    if (token < past) {
      const bool is_there = op_.Has(*tokens.past) && token < int64_t{shapes_.past};
      return is_there ? Input(*tokens.past, {batch, head, token, number}) : formula_.Number(0.0);
    }
    component.token -= past;
    const bool is_new = tokens.past == nullptr || component.token < int64_t{shapes_.fresh};
    return is_new ? New(tokens, component) : formula_.Number(0.0);
  }

  FormulaNode New(const Tokens& tokens, const Component& component) {
    const auto [batch, head, token, number] = component;
    const int64_t column = head * tokens.size + number;
    for (const Source& source : tokens.sources) {
      if (!op_.Has(*source.tensor)) continue;
      const FormulaNode x = source.place
                                ? Input(*source.tensor, {batch, token, head, *source.place, number})
                                : Input(*source.tensor, {batch, token, column});
      if (!op_.Has(kBias)) return x;
      return formula_.Sum({x, Input(kBias, {tokens.first_bias + column})});
    }
    return formula_.Number(0.0);
  }

  // Returns the component as the cache has it.
  FormulaNode Rounded(const Tokens& tokens, const Component& component) {
    const FormulaNode x = At(tokens, component);
    if (formula_.operation(x) != FormulaOperation::kSum) return x;
    return formula_.Rounded(*op_[kOutputTensor].data_type, x);
  }

  // --- scores ------------------------------------------------------------------------------------

  std::vector<FormulaNode> Scores(int64_t key_head) {
    std::vector<FormulaNode> query;
    for (int64_t i = 0; i < int64_t{shapes_.size}; ++i) {
      query.push_back(formula_.Shared(Rounded(Queries(), {Batch(), head_, Query(), i})));
    }
    std::vector<FormulaNode> scores;
    for (int64_t key = 0; key < KeyCount(); ++key) {
      scores.push_back(Told(key, Score(query, key_head, key)));
    }
    return scores;
  }

  // With lengths of the past, a query sees no later keys.
  int64_t KeyCount() const {
    if (choice_.past.empty()) return shapes_.keys;
    return std::min<int64_t>(shapes_.keys,
                             choice_.past[static_cast<size_t>(Batch())] + Query() + 1);
  }

  FormulaNode Told(int64_t key, FormulaNode score) {
    constexpr int64_t kMostTold = 16;
    if (KeyCount() > kMostTold) return formula_.Shared(score);
    return formula_.Named(fmt::format("score of key {}", key), score);
  }

  FormulaNode Score(const std::vector<FormulaNode>& query, int64_t key_head, int64_t key) {
    std::vector<FormulaNode> products;
    for (size_t i = 0; i < query.size(); ++i) {
      const FormulaNode x = Rounded(Keys(), {Batch(), key_head, key, static_cast<int64_t>(i)});
      products.push_back(formula_.Product({query[i], x}));
    }
    std::vector<FormulaNode> terms = {
        formula_.Scaled(static_cast<double>(op_[kScale]), formula_.Sum(products))};
    if (op_.Has(kPositionBias)) {
      terms.push_back(Input(kPositionBias, {Batch(), head_, Query(), key}));
    }
    if (IsMasked(key)) {
      terms.push_back(formula_.Number(static_cast<double>(op_[kMaskFilterValue])));
    }
    return terms.size() == 1 ? terms[0] : formula_.Sum(terms);
  }

  bool IsMasked(int64_t key) const {
    if (!choice_.kept.empty()) {
      const Range& kept = choice_.kept[static_cast<size_t>(Batch())];
      return key < kept.begin || key >= kept.end;
    }
    const auto input = inputs_.find(&kMask);
    if (input == inputs_.end()) return false;
    const ConstTensorView& mask = formula_.inputs()[input->second];
    Dims index = Dims::Filled(mask.layout.rank() - 4, 0);
    for (const int64_t i : {Batch(), head_, Query(), key}) index.push_back(i);
    return mask.elements<int32_t>()[OffsetOf(mask.layout, index)] == 0;
  }

  const OperatorDesc& op_;
  const Region& element_;
  Formula& formula_;
  Shapes shapes_;
  KeyChoice choice_;
  std::map<const Field*, size_t> inputs_;  // their numbers, which each of many elements asks for
  int64_t head_ = 0;                       // of the query
};

}  // namespace

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  AttentionFormula attention(op, element, formula);
  const Field* const output = TensorSlots(op, TensorRole::kOutput)[element.tensor].field;
  if (output == &kOutputTensor) return attention.Result();
  return attention.Present(output == &kPresentKey);
}

}  // namespace dmlop::attention
