// SPDX-License-Identifier: Apache-2.0
// MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1, one element at a time, in 400 bits.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

constexpr mpfr_prec_t kPrecision = 400;

using Sizes = std::vector<uint32_t>;

class Call {
 public:
  Call(const OperatorDesc& desc, std::span<const ConstTensorView> inputs)
      : desc_(desc), inputs_(inputs), slots_(TensorSlots(desc, TensorRole::kInput)) {
    const bool is_grouped = desc.name() == "MULTIHEAD_ATTENTION1";
    query_heads_ = Get<uint32_t>(desc, is_grouped ? "QueryHeadCount" : "HeadCount");
    key_heads_ = Get<uint32_t>(desc, is_grouped ? "KeyValueHeadCount" : "HeadCount");
    output_ = *Get<TensorDesc>(desc, "OutputTensor").sizes;
    value_size_ = output_.back() / query_heads_;
    if (Has("QueryTensor")) size_ = View("QueryTensor").layout.sizes.back() / query_heads_;
    for (const char* stack : {"StackedQueryKeyTensor", "StackedQueryKeyValueTensor"}) {
      if (Has(stack)) size_ = View(stack).layout.sizes[4];
    }
    for (const char* keys :
         {"StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"}) {
      if (Has(keys)) fresh_ = View(keys).layout.sizes[1];
    }
    if (Has("KeyTensor")) fresh_ = FromEnd(View("KeyTensor"), 2);
    if (Has("PastKeyTensor")) past_ = FromEnd(View("PastKeyTensor"), 2);
    keys_ = past_ + fresh_;
    has_lengths_ = is_grouped && Has("PastSequenceLengthsTensor");
    if (has_lengths_) TakePresentKeys();
  }

  int64_t query_heads() const { return query_heads_; }
  int64_t key_heads() const { return key_heads_; }
  int64_t value_size() const { return value_size_; }
  int64_t size() const { return size_; }
  int64_t keys() const { return keys_; }
  DataType type() const { return *Get<TensorDesc>(desc_, "OutputTensor").data_type; }

  bool Has(std::string_view name) const { return Find(name) != slots_.size(); }

  // The bits of an element, of which only the last dimensions' indices are given.
  uint64_t BitsAtLast(std::string_view name, std::initializer_list<int64_t> last) const {
    const ConstTensorView& view = View(name);
    Dims index = Dims::Filled(view.layout.rank() - last.size(), 0);
    for (const int64_t i : last) index.push_back(i);
    return BitsAt(view, index);
  }
  double Last(std::string_view name, std::initializer_list<int64_t> last) const {
    return Quantity({View(name).type, BitsAtLast(name, last)});
  }
  double NumberOf(std::optional<uint64_t> bits) const {
    return bits ? Quantity({type(), *bits}) : 0.0;
  }

  // --- queries, keys and values with their bias, rounded -----------------------------------------

  uint64_t Query(int64_t b, int64_t n, int64_t i, int64_t e) const {
    const int64_t column = n * size_ + e;
    if (Has("QueryTensor")) return Biased(BitsAtLast("QueryTensor", {b, i, column}), column);
    const char* stack =
        Has("StackedQueryKeyTensor") ? "StackedQueryKeyTensor" : "StackedQueryKeyValueTensor";
    return Biased(BitsAtLast(stack, {b, i, n, 0, e}), column);
  }
  uint64_t FreshKey(int64_t b, int64_t m, int64_t j, int64_t e) const {
    const int64_t column = m * size_ + e;
    const int64_t place = query_heads_ * size_ + column;
    if (Has("KeyTensor")) return Biased(BitsAtLast("KeyTensor", {b, j, column}), place);
    if (Has("StackedKeyValueTensor")) {
      return Biased(BitsAtLast("StackedKeyValueTensor", {b, j, m, 0, e}), place);
    }
    const char* stack =
        Has("StackedQueryKeyTensor") ? "StackedQueryKeyTensor" : "StackedQueryKeyValueTensor";
    return Biased(BitsAtLast(stack, {b, j, m, 1, e}), place);
  }
  uint64_t FreshValue(int64_t b, int64_t m, int64_t j, int64_t e) const {
    const int64_t column = m * value_size_ + e;
    const int64_t place = (query_heads_ + key_heads_) * size_ + column;
    if (Has("ValueTensor")) return Biased(BitsAtLast("ValueTensor", {b, j, column}), place);
    if (Has("StackedKeyValueTensor")) {
      return Biased(BitsAtLast("StackedKeyValueTensor", {b, j, m, 1, e}), place);
    }
    return Biased(BitsAtLast("StackedQueryKeyValueTensor", {b, j, m, 2, e}), place);
  }

  // MHA-12, MHA-13: the number of past keys of a batch that count.
  int64_t PastOf(int64_t b) const {
    if (!has_lengths_) return past_;
    const ConstTensorView& view = View("PastSequenceLengthsTensor");
    const Dims index = IndexOf(view.layout.sizes, b);
    const double length = Quantity({view.type, BitsAt(view, index)});
    if (std::isnan(length)) return 0;
    const double most = static_cast<double>(keys_ - fresh_);
    return static_cast<int64_t>(std::min(std::max(length, 0.0), most));
  }

  // An element of the cache; null if it is not set.
  std::optional<uint64_t> Key(int64_t b, int64_t m, int64_t j, int64_t e) const {
    const int64_t past = PastOf(b);
    if (j >= past && j < past + fresh_) return FreshKey(b, m, j - past, e);
    if (j < past && j < past_) return BitsAtLast("PastKeyTensor", {b, m, j, e});
    return std::nullopt;
  }
  std::optional<uint64_t> Value(int64_t b, int64_t m, int64_t j, int64_t e) const {
    const int64_t past = PastOf(b);
    if (j >= past && j < past + fresh_) return FreshValue(b, m, j - past, e);
    if (j < past && j < past_) return BitsAtLast("PastValueTensor", {b, m, j, e});
    return std::nullopt;
  }

  bool IsSeen(int64_t b, int64_t i, int64_t j) const { return !has_lengths_ || j <= PastOf(b) + i; }

  bool IsMasked(int64_t b, int64_t n, int64_t i, int64_t j) const {
    const double key = static_cast<double>(j);
    switch (Get<uint32_t>(desc_, "MaskType")) {
      case 1:
      case 3:
        return key >= Last("MaskTensor", {b});
      case 2:
        return key >= Last("MaskTensor", {0, b}) || key < Last("MaskTensor", {1, b});
      case 4:
        return Last("MaskTensor", {b, n, i, j}) == 0;
      default:
        return false;
    }
  }

 private:
  static int64_t FromEnd(const ConstTensorView& view, size_t d) {
    return view.layout.sizes[view.layout.rank() - d];
  }

  void TakePresentKeys() {
    for (const TensorSlot& slot : TensorSlots(desc_, TensorRole::kOutput)) {
      const Sizes& sizes = *slot.desc->sizes;
      if (slot.path != "OutputTensor") keys_ = sizes[sizes.size() - 2];
    }
  }

  size_t Find(std::string_view name) const {
    size_t i = 0;
    while (i < slots_.size() && slots_[i].path != name) ++i;
    return i;
  }
  const ConstTensorView& View(std::string_view name) const { return inputs_[Find(name)]; }

  uint64_t Biased(uint64_t bits, int64_t place) const {
    if (!Has("BiasTensor")) return bits;
    const double x = NumberOf(bits);
    const double bias = Last("BiasTensor", {place});
    const double sum = x + bias;
    return Rounded(std::isfinite(sum) ? Exact(x) + Exact(bias) : Exact(0), sum, type());
  }

  const OperatorDesc& desc_;
  std::span<const ConstTensorView> inputs_;
  std::vector<TensorSlot> slots_;
  Sizes output_;
  int64_t query_heads_ = 0;
  int64_t key_heads_ = 0;
  int64_t size_ = 0;
  int64_t value_size_ = 0;
  int64_t fresh_ = 0;
  int64_t past_ = 0;
  int64_t keys_ = 0;
  bool has_lengths_ = false;
};

struct Score {
  Real exact{0.0, kPrecision};
  double plain = 0;  // in FLOAT64; decides whether a weight is 0
  double magnitude = 0;
};

Score ScoreOf(const Call& call, const OperatorDesc& desc, const Dims& at, int64_t j) {
  const int64_t m = at[1] / (call.query_heads() / call.key_heads());
  const double scale = Get<float>(desc, "Scale");
  Score score;
  for (int64_t e = 0; e < call.size(); ++e) {
    const double query = call.NumberOf(call.Query(at[0], at[1], at[2], e));
    const double key = call.NumberOf(call.Key(at[0], m, j, e));
    Real product(query, kPrecision);
    mpfr_mul_d(product.get(), product.get(), key, MPFR_RNDN);
    mpfr_add(score.exact.get(), score.exact.get(), product.get(), MPFR_RNDN);
    score.plain += query * key;
    score.magnitude += std::fabs(scale * query * key);
  }
  mpfr_mul_d(score.exact.get(), score.exact.get(), scale, MPFR_RNDN);
  score.plain *= scale;
  const auto add = [&](double term) {
    mpfr_add_d(score.exact.get(), score.exact.get(), term, MPFR_RNDN);
    score.plain += term;
    score.magnitude += std::fabs(term);
  };
  if (call.Has("RelativePositionBiasTensor")) {
    add(call.Last("RelativePositionBiasTensor", {at[0], at[1], at[2], j}));
  }
  if (call.IsMasked(at[0], at[1], at[2], j)) add(Get<float>(desc, "MaskFilterValue"));
  return score;
}

Expectation Nan(DataType type) {
  return {Rounded(Exact(0), std::numeric_limits<double>::quiet_NaN(), type)};
}

// `at` holds the batch, head, query and component of the value.
Expectation Result(const Call& call, const OperatorDesc& desc, const Dims& at) {
  std::vector<int64_t> keys;
  std::vector<Score> scores;
  for (int64_t j = 0; j < call.keys(); ++j) {
    if (!call.IsSeen(at[0], at[2], j)) continue;
    keys.push_back(j);
    scores.push_back(ScoreOf(call, desc, at, j));
  }
  size_t greatest = 0;
  double magnitude = 0;
  double greatest_plain = scores[0].plain;
  for (size_t k = 0; k < keys.size(); ++k) {
    if (std::isnan(scores[k].plain)) return Nan(call.type());
    if (mpfr_greater_p(scores[k].exact.get(), scores[greatest].exact.get())) greatest = k;
    greatest_plain = std::max(greatest_plain, scores[k].plain);
    if (std::isfinite(scores[k].plain)) magnitude = std::max(magnitude, scores[k].magnitude);
  }
  if (!std::isfinite(scores[greatest].plain)) return Nan(call.type());
  const int64_t m = at[1] / (call.query_heads() / call.key_heads());
  Real weights(0.0, kPrecision);
  Real sum(0.0, kPrecision);
  double special = 0;
  double largest = 0;
  for (size_t k = 0; k < keys.size(); ++k) {
    Real weight(0.0, kPrecision);
    mpfr_sub(weight.get(), scores[k].exact.get(), scores[greatest].exact.get(), MPFR_RNDN);
    mpfr_exp(weight.get(), weight.get(), MPFR_RNDN);
    mpfr_add(weights.get(), weights.get(), weight.get(), MPFR_RNDN);
    const double value = call.NumberOf(call.Value(at[0], m, keys[k], at[3]));
    if (!std::isfinite(value)) {
      if (scores[k].plain - greatest_plain >= -708) special += value;
      continue;
    }
    largest = std::max(largest, std::fabs(value));
    mpfr_mul_d(weight.get(), weight.get(), value, MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), weight.get(), MPFR_RNDN);
  }
  if (special != 0) return {Rounded(Exact(0), special, call.type())};
  mpfr_div(sum.get(), sum.get(), weights.get(), MPFR_RNDN);
  Expectation expected;
  expected.bits = call.type() == DataType::kFloat16 ? BitsOf(RoundReal<Half>(sum))
                                                    : BitsOf(RoundReal<float>(sum));
  expected.exact.emplace(sum);
  expected.ulps = 0.501;
  const double steps = static_cast<double>(2 * call.size() + 600);
  expected.slack = steps * 0x1p-53 * (1 + magnitude) * largest;
  return expected;
}

Expectation Attention(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                      size_t output, const Dims& index) {
  const Call call(desc, inputs);
  const std::string name = TensorSlots(desc, TensorRole::kOutput)[output].path;
  const size_t rank = index.size();
  if (name == "OutputTensor") {
    const int64_t column = index[rank - 1];
    return Result(
        call, desc,
        {index[rank - 3], column / call.value_size(), index[rank - 2], column % call.value_size()});
  }
  const int64_t b = index[rank - 4];
  const int64_t m = index[rank - 3];
  const auto element = name == "OutputPresentKeyTensor"
                           ? call.Key(b, m, index[rank - 2], index[rank - 1])
                           : call.Value(b, m, index[rank - 2], index[rank - 1]);
  return {element.value_or(0)};
}

constexpr NamedOracle kOracles[] = {
    {"MULTIHEAD_ATTENTION", Attention},
    {"MULTIHEAD_ATTENTION1", Attention},
};

}  // namespace

std::span<const NamedOracle> AttentionOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
