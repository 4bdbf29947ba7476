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
#include "core/judge/slice_formula.h"

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

// The elements of a slice, whose statistics are evaluated once.
class SliceEvaluation {
 public:
  SliceEvaluation(const OperatorDesc& op, InputViews inputs, const Region& slice)
      : slice_(slice), shared_(op, inputs, ElementAt(0)) {
    places_ = [this](const Formula&, Node node) { return shared_.PlaceOf(node, element_); };
    values_.emplace(shared_.formula(), MagnitudeArithmetic{&places_});
  }
  SliceEvaluation(const SliceEvaluation&) = delete;

  bool IsPossible() const {
    const int64_t count = slice_.count();
    return shared_.IsSharedBy({ElementAt(0), ElementAt(count / 2), ElementAt(count - 1)});
  }

  // Computes the elements with numbers [begin, end) in the slice.
  void Evaluate(int64_t begin, int64_t end, SizeTable& table) {
    for (int64_t i = begin; i < end; ++i) {
      element_ = ElementAt(i);
      values_->Forget([this](Node node) { return shared_.Moves(node); });
      table.Put(element_.begin, values_->At(*shared_.last()));
    }
  }

 private:
  Region ElementAt(int64_t i) const {
    return {slice_.tensor, slice_.IndexAt(i), Dims::Filled(slice_.begin.size(), 1)};
  }

  const Region slice_;
  SliceFormula shared_;
  Region element_{};
  MagnitudeArithmetic::Places places_;
  std::optional<FormulaEvaluation<MagnitudeArithmetic>> values_;
};

class Evaluation {
 public:
  Evaluation(const OperatorDesc& op, InputViews inputs, const Dims& sizes, size_t output,
             SizesAndTerms& table)
      : op_(op), inputs_(inputs), sizes_(sizes), output_(output), table_(sizes, table) {}

  void Run() {
    const auto whole = DimensionsOfSlices(op_, sizes_.size());
    if (whole && SliceEvaluation(op_, inputs_, SliceAlong(*whole)).IsPossible()) {
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
        SliceEvaluation(op_, inputs_, slice).Evaluate(begin, end, table_);
      });
    }
    ParallelFor(Product(others), 1, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Region one = slice;
        one.begin = IndexOf(others, i);
        SliceEvaluation(op_, inputs_, one).Evaluate(0, one.count(), table_);
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
