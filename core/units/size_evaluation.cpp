// SPDX-License-Identifier: Apache-2.0
#include "core/units/magnitude.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "core/arithmetic/computation.h"
#include "core/arithmetic/element_formula.h"
#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"
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
  static constexpr int64_t kFewest = 64;

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

// --- sizes of interpolated elements --------------------------------------------------------------

namespace {

// The neighbours of an index of the output in one dimension.
struct Neighbours {
  int64_t offsets[2];
  double weights[2];  // the second one is 0 if there is only one
  double coordinate;  // in the input
};

// Returns those of all indices; none if one has more than two.
std::optional<std::vector<Neighbours>> NeighboursOf(const TapAxis& axis, int64_t count,
                                                    int64_t stride) {
  std::vector<Neighbours> all;
  for (int64_t index = 0; index < count; ++index) {
    if (axis.Count(index) > 2) return std::nullopt;
    const AxisTaps taps = axis.Taps(index);
    Neighbours& one = all.emplace_back();
    for (size_t i = 0; i < taps.offsets.size(); ++i) {
      one.offsets[i] = taps.offsets[i];
      one.weights[i] = taps.parts[i].Truncated() / taps.whole.Truncated();
      const int64_t place = taps.offsets[i] / stride;
      one.coordinate += one.weights[i] * static_cast<double>(place);
    }
    if (taps.offsets.size() == 1) one.offsets[1] = one.offsets[0];
  }
  return all;
}

class CoordinateSizes {
 public:
  CoordinateSizes(const WeightedSource& source, const Dims& sizes)
      : from_(source.from), sizes_(sizes) {
    for (size_t d = 0; d < source.axes.size(); ++d) {
      const int64_t stride = std::max<int64_t>(1, std::abs(from_.layout.strides[d]));
      auto neighbours = NeighboursOf(*source.axes[d], sizes[d], stride);
      if (!neighbours) return;
      axes_.push_back(std::move(*neighbours));
    }
    is_linear_ = true;
  }

  void AddTo(std::vector<double>& scale) const {
    constexpr int64_t kGrain = 4096;
    if (!is_linear_) return;
    ParallelFor(Product(sizes_), kGrain, 0, [&](int64_t begin, int64_t end) {
      Dims index = IndexOf(sizes_, begin);
      for (int64_t i = begin; i < end; ++i, Advance(sizes_, index)) {
        scale[static_cast<size_t>(i)] += SizeAt(index);
      }
    });
  }

 private:
  const Neighbours& At(size_t d, const Dims& index) const {
    return axes_[d][static_cast<size_t>(index[d])];
  }

  double SizeAt(const Dims& index) const {
    double size = 0;
    for (size_t d = 0; d < axes_.size(); ++d) {
      const Neighbours& own = At(d, index);
      if (own.offsets[0] == own.offsets[1]) continue;
      size += std::abs(own.coordinate * Slope(index, d, 0, 0));
    }
    return size;
  }

  // The difference along a dimension, interpolated in the others.
  double Slope(const Dims& index, size_t along, size_t d, int64_t offset) const {
    if (d == axes_.size()) {
      return ValueOf(from_.type, from_.data + offset * static_cast<int64_t>(ByteWidth(from_.type)));
    }
    const Neighbours& own = At(d, index);
    if (d == along) {
      return Slope(index, along, d + 1, offset + own.offsets[1]) -
             Slope(index, along, d + 1, offset + own.offsets[0]);
    }
    double sum = 0;
    for (size_t i = 0; i < 2; ++i) {
      if (own.weights[i] == 0) continue;
      sum += own.weights[i] * Slope(index, along, d + 1, offset + own.offsets[i]);
    }
    return sum;
  }

  const ConstTensorView from_;
  const Dims& sizes_;
  std::vector<std::vector<Neighbours>> axes_;  // by dimension, then by index of the output
  bool is_linear_ = false;
};

// --- regions -------------------------------------------------------------------------------------

double NumberAt(const ConstTensorView& view, const Dims& index) {
  return ValueOf(view.type, view.data + OffsetOf(view.layout, index) *
                                            static_cast<int64_t>(ByteWidth(view.type)));
}

// Returns for each pixel the greater of two products, one with each pixel beside it along a
// dimension: the larger coordinate times the difference. So a sample between two pixels is at least
// the product of these two.
Buffer SlopesAlong(const ConstTensorView& image, size_t d) {
  const Dims& sizes = image.layout.sizes;
  Buffer buffer(static_cast<size_t>(Product(sizes)) * sizeof(float));
  auto* slopes = reinterpret_cast<float*>(buffer.data());
  ParallelFor(Product(sizes), 1 << 12, 0, [&](int64_t begin, int64_t end) {
    Dims index = IndexOf(sizes, begin);
    for (int64_t i = begin; i < end; ++i, Advance(sizes, index)) {
      const double own = NumberAt(image, index);
      double slope = 0;
      for (const int64_t step : {-1, 1}) {
        Dims beside = index;
        beside[d] += step;
        if (beside[d] < 0 || beside[d] == sizes[d]) continue;
        const auto coordinate = static_cast<double>(std::max(index[d], beside[d]));
        slope = std::max(slope, coordinate * std::abs(NumberAt(image, beside) - own));
      }
      slopes[i] = static_cast<float>(slope);
    }
  });
  return buffer;
}

// The operator itself samples slopes along rows and columns.
std::vector<double> SampledSlopes(const OperatorDesc& op, InputViews inputs,
                                  std::span<const Dims> sample) {
  std::vector<double> sum;
  for (const size_t d : {size_t{2}, size_t{3}}) {
    const Buffer slopes = SlopesAlong(inputs[0], d);
    std::vector<ConstTensorView> changed(inputs.begin(), inputs.end());
    changed[0] = {slopes.data(), DataType::kFloat32, PackedLayout(inputs[0].layout.sizes)};
    const std::vector<double> added = MagnitudeRun(op, changed, 0, sample).Sizes();
    sum.resize(added.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
  }
  return sum;
}

// A sample gives a pixel more or less where its coordinate is off, by as much as it gives to the
// pixels around it together, times the coordinate. `shares` are what pixels get.
std::vector<double> SharesAround(const std::vector<double>& shares, const Dims& sizes) {
  const Layout pixels = PackedLayout(sizes);
  std::vector<double> around(shares.size());
  Dims index = Dims::Filled(sizes.size(), 0);
  for (double& sum : around) {
    for (const size_t d : {size_t{2}, size_t{3}}) {
      Dims beside = index;
      const int64_t last = std::min(index[d] + 1, sizes[d] - 1);
      for (beside[d] = std::max<int64_t>(index[d] - 1, 0); beside[d] <= last; ++beside[d]) {
        const auto coordinate = static_cast<double>(beside[d] + 1);
        const double share = shares[static_cast<size_t>(OffsetOf(pixels, beside))];
        if (!std::isnan(share)) sum += coordinate * share;
      }
    }
    Advance(sizes, index);
  }
  return around;
}

}  // namespace

void AddCoordinateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                        std::vector<double>& scale) {
  const auto* computed = std::get_if<Computed>(&op.info().family);
  if (computed == nullptr || computed->weights == nullptr) return;
  CoordinateSizes(computed->weights(op, inputs[0]), sizes).AddTo(scale);
}

bool SamplesRegions(const OperatorDesc& op) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  const auto is_batches = [](const TensorSlot& slot) { return slot.path == "BatchIndicesTensor"; };
  return std::ranges::any_of(slots, is_batches);
}

void AddRegionSizes(const OperatorDesc& op, InputViews inputs, size_t output, const Dims& sizes,
                    std::span<const Dims> sample, std::vector<double>& scale) {
  std::vector<double> added;
  const std::string path = TensorSlots(op, TensorRole::kOutput)[output].path;
  if (path == "OutputGradientTensor") {
    added = SharesAround(scale, sizes);
  } else if (path == "OutputTensor") {
    scale = MagnitudeRun(op, inputs, 0, sample).Sizes();
    added = SampledSlopes(op, inputs, sample);
  } else {
    // The gradient of a corner has all samples, up to the last row or column.
    const Dims& image = inputs[0].layout.sizes;
    const auto farthest = static_cast<double>(std::max(image[2], image[3]));
    for (const double size : scale) added.push_back(farthest * size);
  }
  for (size_t i = 0; i < scale.size(); ++i) scale[i] += added[i];
}

}  // namespace dmlop
