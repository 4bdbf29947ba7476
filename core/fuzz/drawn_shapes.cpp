// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/integers.h"
#include "core/fuzz/random_desc.h"
#include "core/ops/signature.h"

namespace dmlop {
namespace {

// The tests' reference is slow, and so are exact sums.
constexpr int64_t kMostProducts = 1 << 14;

bool MayRepeat(std::string_view word) {
  return word.find(':') != word.npos;
}

bool IsMarked(std::string_view word) {
  return word.ends_with('\'');
}

// Draws sizes of words in any order. A size is reduced until all tensors fit that it is in.
class ShapeDrawer {
 public:
  ShapeDrawer(const DescEntropy& from, const SupportRow& row, size_t rank, int64_t room)
      : from_(from), row_(row), rank_(rank), room_(room) {
    const SupportRow::Ranks ranks = row.RanksOf(RankGroup::kSide);
    own_rank_ = static_cast<size_t>(from.Between(ranks.min, ranks.max));
  }

  std::map<const Field*, Sizes> Draw(const Signature& signature, OperatorDesc& op) {
    AddKnown(signature, op);
    const size_t known = words_.size();
    for (const TensorShape& shape : signature.tensors) AddShape(shape, op);
    has_taps_ = signature.windows.fields != nullptr;
    const bool is_even = from_.OneIn(3);
    for (size_t i = known; i < words_.size(); ++i) {
      std::swap(words_[i], words_[i + from_.Index(words_.size() - i)]);
      DrawSize(std::span(words_).subspan(known, i + 1 - known), is_even);
    }
    std::map<const Field*, Sizes> all;
    for (const Shape& shape : shapes_) all[shape.tensor] = SizesOf(shape);
    return all;
  }

 private:
  struct Word {
    std::string_view text;
    size_t number;
    uint64_t size = 1;     // of M:S only 1, where the tensor is repeated, or 0
    bool is_kept = false;  // an output has it
  };
  struct Shape {
    const Field* tensor;
    std::string_view form;
    size_t rank;
  };

  void AddKnown(const Signature& signature, OperatorDesc& op) {
    if (signature.known != nullptr) {
      for (const KnownSize& one : signature.known(op)) words_.push_back({one.word, 0, one.size});
    }
    for (const auto& [word, field] : signature.fields) {
      if (op.find(*field) == nullptr) op.set(*field, from_.OneIn(3) ? from_.Few(4, 16) : 1);
      words_.push_back({word, 0, std::max(1U, op[*field])});
    }
  }

  // Draws one of the forms that have the rank.
  void AddShape(const TensorShape& shape, const OperatorDesc& op) {
    if (std::ranges::find(op.fields(), shape.tensor) == op.fields().end()) return;
    const SupportRow::Ranks ranks = row_.RanksOf(shape.tensor->ranks);
    const bool is_free = !shape.own_rule.empty();
    const size_t rank = is_free ? std::clamp(own_rank_, ranks.min, ranks.max) : rank_;
    const bool has_rank = is_free || shapes_.empty();
    std::vector<std::string_view> forms = FormsOf(shape, op);
    std::erase_if(forms, [&](std::string_view form) {
      const size_t dims = SizesOf({shape.tensor, form, rank}).size();
      return dims == 0 || (has_rank && dims != rank);
    });
    if (forms.empty()) return;
    shapes_.push_back({shape.tensor, from_.OneOf(forms), rank});
    const bool is_input = shape.tensor->role == TensorRole::kInput;
    dmlop::SizesOf(shapes_.back().form, rank, [&](std::string_view word, size_t number) {
      if (is_input) AddWord(word, number);
      if (Word* known = Find(word, number)) known->is_kept |= !is_input;
      return 1;
    });
  }

  void AddWord(std::string_view text, size_t number) {
    if (Find(text, number) != nullptr) return;
    if (MayRepeat(text)) AddWord(text.substr(text.find(':') + 1), number);
    words_.push_back({IsMarked(text) ? text.substr(0, text.size() - 1) : text, number});
  }

  // Draws the last one, and reduces it or the largest one until all fit.
  void DrawSize(std::span<Word> drawn, bool is_even) {
    Word& last = drawn.back();
    last.size = AnySize(last);
    while (!MayRepeat(last.text) && !Fit()) {
      Word& reduced = is_even ? *std::ranges::max_element(drawn, {}, &Word::size) : last;
      if (reduced.size == 1) return;
      reduced.size = (reduced.size + 1) / 2;
    }
  }

  uint64_t AnySize(const Word& word) {
    if (MayRepeat(word.text)) return from_.Index(2);
    if (has_taps_ && word.text == "K") return from_.Few(rank_ > 4 ? 2 : 4, 9);
    if (!word.is_kept && !has_taps_ && from_.OneIn(2)) {
      room_ = from_.limits().max_elements;
      if (from_.OneIn(3)) return from_.Number(60, 600);  // several chains of sums
    }
    return from_.Size(static_cast<uint64_t>(room_));
  }

  // An element may depend on all elements along what is marked.
  bool Fit() const {
    std::vector<uint64_t> all;
    for (const Word& word : words_) all.push_back(std::max<uint64_t>(1, word.size));
    return SaturatedProduct(all) <= kMostProducts &&
           std::ranges::all_of(shapes_, [&](const Shape& shape) {
             const bool is_marked = shape.form.find('\'') != shape.form.npos;
             return SaturatedProduct(SizesOf(shape)) <= room_ &&
                    (!is_marked || SaturatedProduct(SizesOf(shape, /*only_marked=*/true)) <=
                                       from_.limits().max_slice_elements);
           });
  }

  Sizes SizesOf(const Shape& shape, bool only_marked = false) const {
    return dmlop::SizesOf(shape.form, shape.rank, [&](std::string_view word, size_t number) {
      return only_marked && !IsMarked(word) ? 1 : SizeOf(word, number);
    });
  }

  // Only outputs have other words.
  uint64_t SizeOf(std::string_view text, size_t number) const {
    const Word* word = const_cast<ShapeDrawer*>(this)->Find(text, number);
    if (word == nullptr) return 1;
    return word->size == 0 ? SizeOf(text.substr(text.find(':') + 1), number) : word->size;
  }

  Word* Find(std::string_view text, size_t number) {
    if (IsMarked(text)) text.remove_suffix(1);
    const auto found = std::ranges::find_if(
        words_, [&](const Word& word) { return word.number == number && word.text == text; });
    return found == words_.end() ? nullptr : &*found;
  }

  const DescEntropy& from_;
  const SupportRow& row_;
  size_t rank_;
  size_t own_rank_;  // of tensors with ranks of their own
  int64_t room_;     // elements that a tensor has at most
  bool has_taps_ = false;
  std::vector<Word> words_;
  std::vector<Shape> shapes_;
};

}  // namespace

std::map<const Field*, Sizes> DrawShapes(const DescEntropy& from, const SupportRow& row,
                                         size_t rank, int64_t room, OperatorDesc& op) {
  return ShapeDrawer(from, row, rank, room).Draw(*op.info().shapes, op);
}

}  // namespace dmlop
