// SPDX-License-Identifier: Apache-2.0
#include "core/units/magnitude.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "core/arithmetic/computation.h"
#include "core/arithmetic/element_formula.h"
#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/units/formula_character.h"

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
    table_.moved.resize(table_.sizes.size());
  }

  // Gives every element the largest of those that were put.
  void SpreadLargest() {
    std::ranges::fill(table_.sizes, *std::ranges::max_element(table_.sizes));
    std::ranges::fill(table_.terms, *std::ranges::max_element(table_.terms));
    std::ranges::fill(table_.moved, *std::ranges::max_element(table_.moved));
  }

  int64_t NumberOf(const Dims& element) const { return OffsetOf(numbers_, element); }

  void Put(int64_t number, const Magnitude& value) {
    const auto i = static_cast<size_t>(number);
    table_.sizes[i] = std::isnan(value.size) ? std::abs(value.value) : value.size;
    table_.terms[i] = value.terms;
    table_.moved[i] = std::isfinite(value.moved) ? value.moved : 0;
  }

 private:
  Layout numbers_;
  SizesAndTerms& table_;
};

// The elements of a slice. Their statistics are evaluated once, and only what moves is so for each.
template <typename Arithmetic>
class SliceEvaluation {
 public:
  SliceEvaluation(const OperatorDesc& op, InputViews inputs, const Region& slice)
      : slice_(slice),
        shared_(op, inputs, ElementOf(slice, 0)),
        fixed_(shared_.formula()),
        rounded_(NumbersOfTensors(op, shared_.formula(), *shared_.last())) {
    EvaluateLongSums();
    if (!rounded_.empty()) RoundNumbers();
    last_ = SlotOf(*shared_.last());
  }

  static bool IsPossible(const OperatorDesc& op, InputViews inputs, const Region& slice) {
    const int64_t count = slice.count();
    const SliceFormula shared(op, inputs, ElementOf(slice, 0), Formula::kAbridged);
    return shared.IsSharedBy(
        {ElementOf(slice, 0), ElementOf(slice, count / 2), ElementOf(slice, count - 1)});
  }

  // Computes the elements with numbers [begin, end) in the slice; several threads may do so at
  // once.
  void Evaluate(int64_t begin, int64_t end, SizeTable& table) const {
    std::vector<Magnitude> values = values_;
    std::vector<Magnitude> operands;
    for (int64_t first = begin; first < end;) {
      const Row row = RowFrom(first, end, table);
      for (int64_t i = 0; i < row.count; ++i) {
        for (size_t s = 0; s < steps_.size(); ++s) {
          const Step& step = steps_[s];
          operands.clear();
          for (const size_t operand : step.operands) operands.push_back(values[operand]);
          values[step.slot] = ValueOf(step.node, operands, row.offsets[s].At(i));
          if (step.is_rounded) values[step.slot] = WithRounding(values[step.slot]);
        }
        table.Put(row.numbers.At(i), values[last_]);
      }
      first += row.count;
    }
  }

 private:
  static constexpr size_t kBlock = size_t{1} << 15;  // of terms

  // A node that moves, and the slots of its value and its operands among all values.
  struct Step {
    Node node;
    size_t slot;
    std::vector<size_t> operands;
    bool is_rounded;
  };

  // Numbers at equal distances.
  struct Line {
    int64_t first = 0;
    int64_t step = 0;

    int64_t At(int64_t i) const { return first + i * step; }
  };

  // Elements that follow one another along a dimension: their numbers in the output, and for each
  // step that reads an element of an input, where that is.
  struct Row {
    int64_t count = 0;
    Line numbers{};
    std::vector<Line> offsets{};
  };

  // Returns the longest row in [begin, end) if all of it lies on lines, or a single element.
  Row RowFrom(int64_t begin, int64_t end, const SizeTable& table) const {
    int64_t length = 1;
    for (const int64_t size : slice_.sizes) length = size > 1 ? size : length;
    const int64_t count = std::min(end - begin, length - begin % length);
    const auto whole = RowOf(begin, count, table);
    return whole ? *whole : *RowOf(begin, 1, table);
  }

  std::optional<Row> RowOf(int64_t begin, int64_t count, const SizeTable& table) const {
    Row row{count};
    const std::vector<int64_t> seen = {0, count > 1 ? 1 : 0, count / 2, count - 1};
    std::vector<Region> elements;
    for (const int64_t i : seen) elements.push_back(ElementOf(slice_, begin + i));
    const auto line_of = [&](const auto& number_of) -> std::optional<Line> {
      const int64_t first = number_of(elements[0]);
      const Line line{first, number_of(elements[1]) - first};
      for (size_t k = 2; k < seen.size(); ++k) {
        if (number_of(elements[k]) != line.At(seen[k])) return std::nullopt;
      }
      return line;
    };
    row.numbers = *line_of([&](const Region& element) { return table.NumberOf(element.begin); });
    for (const Step& step : steps_) {
      const auto line = line_of([&](const Region& element) { return OffsetOf(step, element); });
      if (!line) return std::nullopt;
      row.offsets.push_back(*line);
    }
    return row;
  }

  // 0 for a step that reads no element.
  int64_t OffsetOf(const Step& step, const Region& element) const {
    const Formula& formula = shared_.formula();
    if (formula.operation(step.node) != FormulaOperation::kElement) return 0;
    const ConstTensorView& view = formula.inputs()[formula.tensor(step.node)];
    return dmlop::OffsetOf(view.layout, shared_.PlaceOf(step.node, element));
  }

  static Region ElementOf(const Region& slice, int64_t i) {
    return {slice.tensor, slice.IndexAt(i), Dims::Filled(slice.begin.size(), 1)};
  }

  // All are evaluated before one of them is rounded, as a variance is made of exact means.
  void RoundNumbers() {
    for (const Node node : rounded_) {
      if (!shared_.Moves(node)) fixed_.At(node);
    }
    for (const Node node : rounded_) {
      if (!shared_.Moves(node)) fixed_.Keep(node, WithRounding(fixed_.At(node)));
    }
  }

  bool IsRounded(Node node) const { return std::ranges::find(rounded_, node) != rounded_.end(); }

  static Magnitude WithRounding(Magnitude number) {
    number.moved += HalfUlpOfFloat16(number.value);
    return number;
  }

  // Evaluates the terms of long sums side by side, each sum after those that they are made of.
  void EvaluateLongSums() {
    const Formula& formula = shared_.formula();
    for (Node node = 0; node <= *shared_.last(); ++node) {
      const bool is_long = formula.operands(node).size() > kBlock;
      const bool is_sum = formula.operation(node) == FormulaOperation::kSum ||
                          formula.operation(node) == FormulaOperation::kMean;
      if (is_long && is_sum && !shared_.Moves(node)) fixed_.Keep(node, LongSum(node));
    }
  }

  Magnitude LongSum(Node list) {
    const Formula& formula = shared_.formula();
    const auto terms = formula.operands(list);
    fixed_.At(terms[0]);  // keeps what all of them are made of
    std::vector<Magnitude> sum;
    for (size_t first = 0; first < terms.size(); first += kBlock) {
      AddTo(sum, terms.subspan(first, std::min(kBlock, terms.size() - first)));
    }
    if (formula.operation(list) == FormulaOperation::kSum) return sum[0];
    sum.push_back(Arithmetic::Number(static_cast<double>(terms.size()), std::nullopt));
    return Arithmetic::Apply(FormulaOperation::kQuotient, sum);
  }

  // `sum` is empty, or the sum of the terms so far.
  void AddTo(std::vector<Magnitude>& sum, std::span<const Node> terms) const {
    constexpr int64_t kPiece = 1024;
    const size_t before = sum.size();
    sum.resize(before + terms.size());
    ParallelFor(std::ssize(terms), kPiece, 0, [&](int64_t begin, int64_t end) {
      auto evaluation = fixed_;
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        sum[before + i] = evaluation.At(terms[i]);
      }
    });
    sum = {Arithmetic::Apply(FormulaOperation::kSum, sum)};
  }

  // Plans a node, after those that it is made of, or evaluates it if it does not move.
  size_t SlotOf(Node node) {
    const Formula& formula = shared_.formula();
    node = Arithmetic::Instead(formula, node);
    const auto known = slots_.find(node);
    if (known != slots_.end()) return known->second;
    std::vector<size_t> operands;
    if (shared_.Moves(node)) {
      for (const Node operand : formula.operands(node)) operands.push_back(SlotOf(operand));
    }
    const size_t slot = values_.size();
    slots_.emplace(node, slot);
    values_.push_back(shared_.Moves(node) ? Magnitude() : fixed_.At(node));
    if (shared_.Moves(node)) {
      steps_.push_back({node, slot, std::move(operands), IsRounded(node)});
    }
    return slot;
  }

  Magnitude ValueOf(Node node, std::span<const Magnitude> operands, int64_t offset) const {
    const Formula& formula = shared_.formula();
    if (formula.operation(node) == FormulaOperation::kElement) {
      return Arithmetic::Element(formula.inputs()[formula.tensor(node)], offset);
    }
    if (formula.operation(node) == FormulaOperation::kElementWise) {
      return Arithmetic::Function(formula.function(node), formula.parameters(node), operands);
    }
    return Arithmetic::Apply(formula.operation(node), operands);
  }

  const Region slice_;
  SliceFormula shared_;
  FormulaEvaluation<Arithmetic> fixed_;
  const std::vector<Node> rounded_;
  std::map<Node, size_t> slots_;
  std::vector<Magnitude> values_;
  std::vector<Step> steps_;
  size_t last_ = 0;
};

template <typename Arithmetic>
class Evaluation {
 public:
  Evaluation(const OperatorDesc& op, InputViews inputs, const Dims& sizes, size_t output,
             SizesAndTerms& table)
      : op_(op), inputs_(inputs), sizes_(sizes), output_(output), table_(sizes, table) {}

  void Run() {
    const auto whole = DimensionsOfSlices(op_, sizes_.size());
    if (whole && Slice::IsPossible(op_, inputs_, SliceAlong(*whole))) {
      return RunSlices(SliceAlong(*whole));
    }
    const int64_t count = Product(sizes_);
    const int64_t evaluated =
        count <= kFewest ? count : std::clamp<int64_t>(kMostWork / WorkOfElement(), kFewest, count);
    const int64_t step = CeilDiv(count, evaluated);
    ParallelFor(CeilDiv(count, step), kGrain, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Put(IndexOf(sizes_, i * step));
    });
    if (step > 1) table_.SpreadLargest();
  }

 private:
  using Slice = SliceEvaluation<Arithmetic>;

  static constexpr int64_t kGrain = 4;
  // About half a second of work. Where it does not suffice, as for long sequences, only some
  // elements are evaluated.
  static constexpr int64_t kMostWork = int64_t{1} << 26;
  static constexpr int64_t kFewest = 32;

  // Formulas of networks run the operator up to the step before.
  int64_t WorkOfElement() const {
    constexpr int64_t kWorkOfNode = 32;
    const int64_t steps_before = IsNetwork(op_) ? OperationsOf(op_) : 0;
    return kWorkOfNode * SizeOfFormula(IndexOf(sizes_, Product(sizes_) / 2)) + steps_before;
  }

  int64_t SizeOfFormula(const Dims& element) const {
    Formula formula(inputs_);
    const auto last = FormulaOf(op_, {output_, element, Dims::Filled(element.size(), 1)}, formula);
    return 1 + int64_t{last.value_or(0)};
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
      constexpr int64_t kPiece = 1024;
      const Slice evaluation(op_, inputs_, slice);
      return ParallelFor(slice.count(), kPiece, 0, [&](int64_t begin, int64_t end) {
        evaluation.Evaluate(begin, end, table_);
      });
    }
    ParallelFor(Product(others), 1, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Region one = slice;
        one.begin = IndexOf(others, i);
        Slice(op_, inputs_, one).Evaluate(0, one.count(), table_);
      }
    });
  }

  void Put(const Dims& element) {
    Formula formula(inputs_);
    const auto last = FormulaOf(op_, {output_, element, Dims::Filled(element.size(), 1)}, formula);
    if (!last) return;
    FormulaEvaluation<Arithmetic> evaluation(formula);
    if (IsNetwork(op_) && inputs_[0].type == DataType::kFloat16) {
      KeepStates(formula, *last, evaluation);
    }
    table_.Put(table_.NumberOf(element), evaluation.At(*last));
  }

  // States that are given are the only numbers that are shared. They are moved by their own
  // rounding and as much again by those of the steps before, which the state passes on.
  static void KeepStates(const Formula& formula, Node last,
                         FormulaEvaluation<Arithmetic>& evaluation) {
    for (Node node = 0; node <= last; ++node) {
      const bool is_number = formula.operation(node) == FormulaOperation::kNumber;
      if (!is_number || !formula.IsShared(node)) continue;
      Magnitude state = Arithmetic::Number(formula.number(node), std::nullopt);
      state.moved = 2 * HalfUlpOfFloat16(state.value);
      evaluation.Keep(node, state);
    }
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
  Evaluation<MagnitudeArithmetic>(op, inputs, sizes, output, table).Run();
  return table;
}

std::vector<double> SizesBeforeDivisors(const OperatorDesc& op, InputViews inputs,
                                        const Dims& sizes, size_t output) {
  SizesAndTerms table;
  Evaluation<UndividedArithmetic>(op, inputs, sizes, output, table).Run();
  return std::move(table.sizes);
}

}  // namespace dmlop
