// SPDX-License-Identifier: Apache-2.0
// The formula of an element of the result: the mean of a component of the values, weighted by
// exponentials of scores.
#include "core/ops/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "core/ops/attention/attention.h"

namespace dmlop::attention {
namespace {

struct Component {
  int64_t batch, head, token, number;
};

// The inputs that queries, keys or values come from: new tokens, which may lie at a place of a
// stack and whose bias begins at a column, and past ones.
struct Tokens {
  bool are_cached;  // not so are queries, which are all new
  std::optional<size_t> fresh;
  std::optional<int64_t> place;
  std::optional<size_t> past;
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
        choice_(KeysOf(op, formula.inputs())),
        bias_(NumberInRole(op_, kBias)),
        mask_(NumberInRole(op_, kMask)),
        position_bias_(NumberInRole(op_, kPositionBias)),
        queries_(TokensOf(kQuerySources, nullptr, shapes_.size, 0)),
        keys_(TokensOf(kKeySources, &kPastKey, shapes_.size,
                       int64_t{shapes_.query_heads} * shapes_.size)),
        values_(TokensOf(kValueSources, &kPastValue, shapes_.value_size,
                         keys_.first_bias + int64_t{shapes_.key_heads} * shapes_.size)) {}

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
          Rounded(values_, {Batch(), key_head, static_cast<int64_t>(key), column % size});
      products.push_back(formula_.Apply(FormulaOperation::kWeighted, {weights[key], value}));
    }
    return formula_.Quotient(formula_.Named("weighted sum of values", formula_.Sum(products)), sum);
  }

  // An element of the keys or values that are handed on.
  FormulaNode Present(bool of_keys) {
    return At(of_keys ? keys_ : values_, {FromEnd(4), FromEnd(3), FromEnd(2), FromEnd(1)});
  }

 private:
  int64_t FromEnd(size_t d) const { return element_.begin[element_.begin.size() - d]; }
  int64_t Batch() const { return FromEnd(3); }
  int64_t Query() const { return FromEnd(2); }

  Tokens TokensOf(std::span<const Source> sources, const Field* past, int64_t size,
                  int64_t first_bias) const {
    const bool are_cached = past != nullptr;
    Tokens tokens{are_cached, {}, {}, {}, size, first_bias};
    if (are_cached) tokens.past = NumberInRole(op_, *past);
    for (const Source& source : sources) {
      if (tokens.fresh) break;
      tokens.fresh = NumberInRole(op_, *source.tensor);
      tokens.place = source.place;
    }
    return tokens;
  }

  // --- elements ----------------------------------------------------------------------------------

  // At the last indices of an input.
  FormulaNode Input(size_t input, std::initializer_list<int64_t> last) {
    Dims index = Dims::Filled(formula_.inputs()[input].layout.rank() - last.size(), 0);
    for (const int64_t i : last) index.push_back(i);
    return formula_.Element(input, index);
  }

  // Past ones are first; between them and behind the new ones there may be nothing, which is 0.
  FormulaNode At(const Tokens& tokens, Component component) {
    const int64_t past = !tokens.are_cached ? 0
                         : choice_.past.empty()
                             ? int64_t{shapes_.past}
                             : choice_.past[static_cast<size_t>(component.batch)];
    const auto [batch, head, token, number] = component;
    if (token < past) {
      const bool is_there = tokens.past && token < int64_t{shapes_.past};
      return is_there ? Input(*tokens.past, {batch, head, token, number}) : formula_.Number(0.0);
    }
    component.token -= past;
    const bool is_new = !tokens.are_cached || component.token < int64_t{shapes_.fresh};
    return is_new ? New(tokens, component) : formula_.Number(0.0);
  }

  FormulaNode New(const Tokens& tokens, const Component& component) {
    const auto [batch, head, token, number] = component;
    if (!tokens.fresh) return formula_.Number(0.0);
    const int64_t column = head * tokens.size + number;
    const FormulaNode x = tokens.place
                              ? Input(*tokens.fresh, {batch, token, head, *tokens.place, number})
                              : Input(*tokens.fresh, {batch, token, column});
    if (!bias_) return x;
    return formula_.Sum({x, Input(*bias_, {tokens.first_bias + column})});
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
      query.push_back(formula_.Shared(Rounded(queries_, {Batch(), head_, Query(), i})));
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
      const FormulaNode x = Rounded(keys_, {Batch(), key_head, key, static_cast<int64_t>(i)});
      products.push_back(formula_.Product({query[i], x}));
    }
    std::vector<FormulaNode> terms = {
        formula_.Scaled(static_cast<double>(op_[kScale]), formula_.Sum(products))};
    if (position_bias_) {
      terms.push_back(Input(*position_bias_, {Batch(), head_, Query(), key}));
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
    if (!mask_) return false;
    const ConstTensorView& mask = formula_.inputs()[*mask_];
    Dims index = Dims::Filled(mask.layout.rank() - 4, 0);
    for (const int64_t i : {Batch(), head_, Query(), key}) index.push_back(i);
    return mask.elements<int32_t>()[OffsetOf(mask.layout, index)] == 0;
  }

  const OperatorDesc& op_;
  const Region& element_;
  Formula& formula_;
  Shapes shapes_;
  KeyChoice choice_;
  // The numbers of inputs, which each of many elements asks for.
  std::optional<size_t> bias_, mask_, position_bias_;
  Tokens queries_, keys_, values_;
  int64_t head_ = 0;  // of the query
};

}  // namespace

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  AttentionFormula attention(op, element, formula);
  const Field* const output = TensorSlots(op, TensorRole::kOutput)[element.tensor].field;
  if (output == &kOutputTensor) return attention.Result();
  return attention.Present(output == &kPresentKey);
}

}  // namespace dmlop::attention
