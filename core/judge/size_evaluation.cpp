// SPDX-License-Identifier: Apache-2.0
#include "core/judge/size_evaluation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <optional>
#include <variant>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/judge/computation.h"

namespace dmlop {
namespace {

using Node = Formula::Node;

// Writes what elements come to.
class SizeTable {
 public:
  SizeTable(const Dims& sizes, SizesAndTerms& table)
      : numbers_(PackedLayout(sizes)), table_(table) {
    table_.sizes.resize(static_cast<size_t>(numbers_.element_count()));
    table_.terms.resize(table_.sizes.size());
  }

  // Gives every element the largest of those that were put.
  void SpreadLargest() {
    std::ranges::fill(table_.sizes, *std::ranges::max_element(table_.sizes));
    std::ranges::fill(table_.terms, *std::ranges::max_element(table_.terms));
  }

  void Put(const Dims& element, const Magnitude& value) {
    const auto i = static_cast<size_t>(OffsetOf(numbers_, element));
    table_.sizes[i] = std::isnan(value.size) ? std::abs(value.value) : value.size;
    table_.terms[i] = value.terms;
  }

 private:
  Layout numbers_;
  SizesAndTerms& table_;
};

// Elements that have the same formula, in which only those elements move with the result that are
// not part of a list: all elements of a slice, whose statistics are evaluated once.
class SharedFormula {
 public:
  SharedFormula(const OperatorDesc& op, InputViews inputs, const Region& slice)
      : op_(op), sources_(SourcesOf(op)), slice_(slice), formula_(inputs) {
    const Region first{slice.tensor, slice.begin, Dims::Filled(slice.begin.size(), 1)};
    last_ = FormulaOf(op, first, formula_);
    if (!last_) return;
    places_ = [this](const Formula& formula, Node element) { return PlaceOf(formula, element); };
    moves_.resize(size_t{*last_} + 1);
    values_.emplace(formula_, MagnitudeArithmetic{&places_});
  }
  SharedFormula(const SharedFormula&) = delete;

  // Whether other elements have this formula, too. Operators with products of their own have one
  // for each element, and so may have those some of whose elements depend on no input.
  bool IsShared() {
    if (!last_ || sources_.empty() || OperationsOf(op_) != 0 || !Moves(*last_)) return false;
    const int64_t count = slice_.count();
    return std::ranges::all_of(std::initializer_list<int64_t>{0, count / 2, count - 1},
                               [&](int64_t element) { return IsSharedWith(element); });
  }

  // Computes the elements with numbers [begin, end) in the slice.
  void Evaluate(int64_t begin, int64_t end, SizeTable& table) {
    for (int64_t i = begin; i < end; ++i) {
      element_ = {slice_.tensor, slice_.IndexAt(i), Dims::Filled(slice_.begin.size(), 1)};
      values_->Forget([this](Node node) { return Moves(node); });
      table.Put(element_.begin, values_->At(*last_));
    }
  }

 private:
  bool IsSharedWith(int64_t element) {
    element_ = {slice_.tensor, slice_.IndexAt(element), Dims::Filled(slice_.begin.size(), 1)};
    Formula own(formula_.inputs());
    const auto last = FormulaOf(op_, element_, own);
    return last == last_ && IsAlike(own);
  }

  // Whether a formula has the same operations on the same numbers, and its elements are at the
  // places that follow from this one.
  bool IsAlike(const Formula& own) const {
    for (Node node = 0; node <= *last_; ++node) {
      if (formula_.operation(node) != own.operation(node) ||
          !std::ranges::equal(formula_.operands(node), own.operands(node))) {
        return false;
      }
      if (formula_.operation(node) == FormulaOperation::kNumber) {
        const double x = formula_.number(node), y = own.number(node);
        if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
      }
      if (formula_.operation(node) == FormulaOperation::kElement &&
          (formula_.tensor(node) != own.tensor(node) ||
           PlaceOf(formula_, node) != own.index(node))) {
        return false;
      }
    }
    return true;
  }

  // Elements that are not listed are those that alone feed the result in their tensor, or lie at
  // its place.
  Dims PlaceOf(const Formula& formula, Node element) const {
    if (formula.IsListed(element)) return formula.index(element);
    const auto source = sources_[formula.tensor(element)](element_);
    return source && source->count() == 1 ? source->begin : element_.begin;
  }

  bool Moves(Node node) {
    std::optional<bool>& moves = moves_[node];
    if (moves) return *moves;
    moves = formula_.operation(node) == FormulaOperation::kElement && !formula_.IsListed(node);
    for (const Node operand : formula_.operands(node)) {
      if (Moves(operand)) *moves = true;
    }
    const Node definition = formula_.definition(node);
    if (definition != node && Moves(definition)) *moves = true;
    return *moves;
  }

  const OperatorDesc& op_;
  const std::vector<SourceMap> sources_;
  const Region slice_;
  Formula formula_;
  std::optional<Node> last_;
  Region element_{};
  MagnitudeArithmetic::Places places_;
  std::vector<std::optional<bool>> moves_;
  std::optional<FormulaEvaluation<MagnitudeArithmetic>> values_;
};

class Evaluation {
 public:
  Evaluation(const OperatorDesc& op, InputViews inputs, const Dims& sizes, size_t output,
             SizesAndTerms& table)
      : op_(op), inputs_(inputs), sizes_(sizes), output_(output), table_(sizes, table) {}

  void Run() {
    const auto whole = WholeDimensions();
    if (whole && SharedFormula(op_, inputs_, SliceAlong(*whole)).IsShared()) {
      return RunSlices(SliceAlong(*whole));
    }
    const int64_t count = Product(sizes_);
    const int64_t evaluated =
        std::clamp<int64_t>(kMostWork / WorkOfElement(), std::min(kFewest, count), count);
    const int64_t step = CeilDiv(count, evaluated);
    ParallelFor(CeilDiv(count, step), kGrain, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Put(IndexOf(sizes_, i * step));
    });
    if (step > 1) table_.SpreadLargest();
  }

 private:
  static constexpr int64_t kGrain = 16;
  // About a second's work. Where it does not suffice, as for long sequences, only some elements are
  // evaluated.
  static constexpr int64_t kMostWork = int64_t{1} << 28;
  static constexpr int64_t kFewest = 64;

  // Formulas of networks run the operator up to the step before.
  int64_t WorkOfElement() const {
    constexpr int64_t kWorkOfNode = 32;
    Formula formula(inputs_);
    const Dims middle = IndexOf(sizes_, Product(sizes_) / 2);
    const auto last = FormulaOf(op_, {output_, middle, Dims::Filled(middle.size(), 1)}, formula);
    const int64_t steps_before = IsNetwork(op_) ? OperationsOf(op_) : 0;
    return kWorkOfNode * (1 + int64_t{last.value_or(0)}) + steps_before;
  }

  // The dimensions of slices whose elements have one formula; none if each has its own.
  std::optional<std::vector<uint32_t>> WholeDimensions() const {
    const Computed* computed = ComputedOnParts(op_);
    if (std::holds_alternative<ElementWise>(op_.info().family) ||
        (computed != nullptr && computed->unsplittable_dims == nullptr)) {
      std::vector<uint32_t> all;
      for (uint32_t d = 0; d < sizes_.size(); ++d) all.push_back(d);
      return all;
    }
    if (computed == nullptr) return std::nullopt;
    return computed->unsplittable_dims(op_);
  }

  // The first slice along some dimensions.
  Region SliceAlong(const std::vector<uint32_t>& whole) const {
    Region slice{output_, Dims::Filled(sizes_.size(), 0), Dims::Filled(sizes_.size(), 1)};
    for (const uint32_t d : whole) slice.sizes[d] = sizes_[d];
    return slice;
  }

  void RunSlices(const Region& slice) {
    Dims others = sizes_;
    for (size_t d = 0; d < others.size(); ++d) others[d] /= slice.sizes[d];
    if (Product(others) == 1) {
      constexpr int64_t kElements = 1024;
      return ParallelFor(slice.count(), kElements, 0, [&](int64_t begin, int64_t end) {
        SharedFormula(op_, inputs_, slice).Evaluate(begin, end, table_);
      });
    }
    ParallelFor(Product(others), 1, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Region one = slice;
        one.begin = IndexOf(others, i);
        SharedFormula(op_, inputs_, one).Evaluate(0, one.count(), table_);
      }
    });
  }

  void Put(const Dims& element) {
    Formula formula(inputs_);
    const auto last = FormulaOf(op_, {output_, element, Dims::Filled(element.size(), 1)}, formula);
    if (!last) return;
    table_.Put(element, FormulaEvaluation<MagnitudeArithmetic>(formula).At(*last));
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  const Dims& sizes_;
  const size_t output_;
  SizeTable table_;
};

}  // namespace

SizesAndTerms EvaluateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                            size_t output) {
  SizesAndTerms table;
  Evaluation(op, inputs, sizes, output, table).Run();
  return table;
}

}  // namespace dmlop
