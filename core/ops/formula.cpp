// SPDX-License-Identifier: Apache-2.0
#include "core/ops/formula.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "core/base/integers.h"
#include "core/ops/families.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

std::string_view Name(FormulaOperation operation) {
  constexpr std::string_view kNames[] = {"element",
                                         "number",
                                         "sum",
                                         "mean",
                                         "product",
                                         "maximum",
                                         "minimum",
                                         "first maximum",
                                         "last maximum",
                                         "first minimum",
                                         "last minimum",
                                         "choice",
                                         "choice",
                                         "difference",
                                         "quotient",
                                         "quotient or dividend",
                                         "power",
                                         "weighted",
                                         "at least",
                                         "negative",
                                         "floor of a quotient",
                                         "truncated quotient",
                                         "magnitude",
                                         "square",
                                         "square root",
                                         "exponential",
                                         "logarithm",
                                         "function",
                                         "rounded to FLOAT64",
                                         "rounded to FLOAT32",
                                         "rounded to FLOAT16",
                                         "round",
                                         "truncate",
                                         "clamp",
                                         "wrap"};
  return kNames[static_cast<size_t>(operation)];
}

Formula::Node Formula::Add(Entry entry) {
  if (nodes_.size() >= kMostNodes || operands_.size() >= 2 * kMostNodes) is_too_long_ = true;
  if (is_too_long_) return 0;
  nodes_.push_back(entry);
  return static_cast<Node>(nodes_.size() - 1);
}

std::vector<Formula::Node> Formula::Elements(const Region& region) {
  return Elements(region, Dims::Filled(region.sizes.size(), 1));
}

std::vector<Formula::Node> Formula::Elements(const Region& region, const Dims& steps) {
  Dims counts;
  for (size_t d = 0; d < steps.size(); ++d) counts.push_back(CeilDiv(region.sizes[d], steps[d]));
  const bool is_numbered = region.count() <= std::numeric_limits<uint32_t>::max();
  if (!is_numbered || dmlop::Product(counts) > static_cast<int64_t>(kMostNodes))
    is_too_long_ = true;
  if (is_too_long_) return {};
  const int64_t all = dmlop::Product(counts);
  const int64_t count = std::min(all, static_cast<int64_t>(most_listed_));
  listed_ += count;
  left_out_ += all - count;
  if (region.count() == 1) return {Element(region)};
  std::vector<Node> elements;
  elements.reserve(static_cast<size_t>(count));
  ReserveFor(static_cast<size_t>(count));
  regions_.push_back(region);
  const auto place = static_cast<uint32_t>(regions_.size() - 1);
  const Dims strides = PackedLayout(region.sizes).strides;
  Dims index = Dims::Filled(counts.size(), 0);
  for (int64_t k = 0; k < count; ++k, Advance(counts, index)) {
    int64_t number = 0;
    for (size_t d = 0; d < index.size(); ++d) number += index[d] * steps[d] * strides[d];
    Entry entry{Operation::kElement, place, static_cast<uint32_t>(number)};
    entry.is_listed = true;
    elements.push_back(Add(entry));
  }
  return elements;
}

// A long list mostly becomes a few nodes for each of its elements. What is kept at least doubles,
// so that repeated lists are not copied each time.
void Formula::ReserveFor(size_t elements) {
  constexpr size_t kMany = 1024, kNodesOfEach = 3;
  const size_t wanted = nodes_.size() + kNodesOfEach * elements;
  if (elements < kMany || wanted < 2 * nodes_.capacity()) return;
  nodes_.reserve(wanted);
  operands_.reserve(operands_.size() + kNodesOfEach * elements);
}

Formula::Node Formula::Element(size_t tensor, const Dims& index) {
  if (is_too_long_) return 0;
  Entry entry{Operation::kElement, static_cast<uint32_t>(coordinates_.size()),
              static_cast<uint32_t>(index.size())};
  entry.tensor = static_cast<uint32_t>(tensor);
  coordinates_.insert(coordinates_.end(), index.begin(), index.end());
  return Add(entry);
}

Formula::Node Formula::Number(double value) {
  std::optional<Dyadic> exact;
  if (std::isfinite(value)) exact = Dyadic(value);
  numbers_.push_back({value, exact, ""});
  return Add({Operation::kNumber, static_cast<uint32_t>(numbers_.size() - 1), 0});
}

Formula::Node Formula::Number(const Dyadic& value) {
  numbers_.push_back({value.Truncated(), value, ""});
  return Add({Operation::kNumber, static_cast<uint32_t>(numbers_.size() - 1), 0});
}

Formula::Node Formula::Given(double value, std::string name) {
  const Node node = Number(value);
  numbers_.back().name = std::move(name);
  return node;
}

Formula::Node Formula::Apply(Operation operation, std::span<const Node> operands) {
  const auto first = static_cast<uint32_t>(operands_.size());
  if (!is_too_long_) operands_.insert(operands_.end(), operands.begin(), operands.end());
  Entry entry{operation, first, static_cast<uint32_t>(operands.size())};
  entry.has_list = true;
  return Add(entry);
}

Formula::Node Formula::Apply(Operation operation, std::initializer_list<Node> operands) {
  const Node node = Apply(operation, std::span(operands.begin(), operands.size()));
  if (!is_too_long_) nodes_[node].has_list = false;
  return node;
}

Formula::Node Formula::Function(ElementWiseFunction function, std::span<const Node> operands,
                                std::array<double, 2> numbers, std::optional<Node> definition) {
  const Node node = Apply(Operation::kElementWise, operands);
  functions_.push_back({function, numbers, definition});
  if (is_too_long_) return node;
  nodes_[node].function = static_cast<uint32_t>(functions_.size() - 1);
  nodes_[node].has_list = false;
  return node;
}

Formula::Node Formula::Like(Node node, std::span<const Node> operands,
                            std::optional<Node> definition) {
  if (is_too_long_) return 0;
  Entry entry = nodes_[node];
  entry.first = static_cast<uint32_t>(operands_.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  if (definition) {
    functions_.push_back(functions_[entry.function]);
    functions_.back().definition = definition;
    entry.function = static_cast<uint32_t>(functions_.size() - 1);
  }
  return Add(entry);
}

Formula::Node Formula::Rounded(DataType type, Node x) {
  switch (type) {
    case DataType::kFloat64:
      return Apply(Operation::kRoundToFloat64, {x});
    case DataType::kFloat16:
      return Apply(Operation::kRoundToFloat16, {x});
    default:
      return Apply(Operation::kRoundToFloat32, {x});
  }
}

Formula::Node Formula::Confined(Operation how, Node x, DataType type) {
  const Dyadic count = Dyadic(1).TimesPowerOfTwo(BitWidth(type));
  const Dyadic least = IsSigned(type) ? -count.TimesPowerOfTwo(-1) : Dyadic();
  return Apply(how, {x, Number(least), Number(least + count - Dyadic(1))});
}

Formula::Node Formula::Quantized(Node units, std::optional<Node> zero_point, DataType type) {
  Node whole = Named("rounded", Apply(Operation::kRound, {units}));
  if (zero_point) whole = Sum({whole, *zero_point});
  return Confined(Operation::kClamp, whole, type);
}

Formula::Node Formula::Shared(Node node) {
  if (!is_too_long_) nodes_[node].is_shared = true;
  return node;
}

Formula::Node Formula::Named(std::string_view name, Node node) {
  if (!is_too_long_) names_.emplace(node, name);
  return Shared(node);
}

std::span<const Formula::Node> Formula::operands(Node node) const {
  const Entry& entry = nodes_[node];
  const bool is_leaf =
      entry.operation == Operation::kElement || entry.operation == Operation::kNumber;
  if (is_leaf) return {};
  return std::span(operands_).subspan(entry.first, entry.count);
}

double Formula::ValueOf(Node element) const {
  const ConstTensorView& view = inputs_[tensor(element)];
  double value = 0;
  VisitDataType(AllTypes(), view.type,
                [&]<typename T>() { value = AsDouble(view.elements<T>()[offset(element)]); });
  return value;
}

Formula::Node Formula::definition(Node node) const {
  if (operation(node) != Operation::kElementWise) return node;
  return functions_[nodes_[node].function].definition.value_or(node);
}

// --- formulas of operators -----------------------------------------------------------------------

namespace {

using Node = FormulaNode;

// ln(e^x1 + ... + e^xN), by differences from the greatest, which stay in range. There are no
// differences where an infinite one decides all.
Node LogarithmOfExponentials(std::span<const Node> elements, Formula& formula) {
  const Node maximum =
      formula.Named("maximum", formula.Apply(FormulaOperation::kMaximum, elements));
  const auto exponential = [&](Node x) {
    return formula.Apply(FormulaOperation::kExponential, {formula.Difference(x, maximum)});
  };
  const Node sum =
      formula.Named("sum of e^(x - max)", formula.Sum(formula.Each(elements, exponential)));
  const Node rest = formula.Apply(FormulaOperation::kLogarithm, {sum});
  const Node infinity = formula.Number(std::numeric_limits<double>::infinity());
  const Node magnitude = formula.Apply(FormulaOperation::kMagnitude, {maximum});
  formula.Promise("0.51 ULP + 2^-45 * (1 + |max|)");
  return formula.Apply(FormulaOperation::kIfAtLeast,
                       {magnitude, infinity, maximum, formula.Sum({maximum, rest})});
}

Node Extreme(ReduceFunction function, bool takes_last, std::span<const Node> elements,
             Formula& formula) {
  switch (function) {
    case ReduceFunction::kMax:
      return formula.Apply(FormulaOperation::kMaximum, elements);
    case ReduceFunction::kMin:
      return formula.Apply(FormulaOperation::kMinimum, elements);
    case ReduceFunction::kArgMax:
      return formula.Apply(
          takes_last ? FormulaOperation::kLastMaximum : FormulaOperation::kFirstMaximum, elements);
    default:
      return formula.Apply(
          takes_last ? FormulaOperation::kLastMinimum : FormulaOperation::kFirstMinimum, elements);
  }
}

Node Product(std::span<const Node> elements, Formula& formula) {
  formula.Promise("0.5001 ULP");
  return formula.Named("product", formula.Apply(FormulaOperation::kProduct, elements));
}

// The sum of the elements, or of what the function makes of each.
Node SumFor(ReduceFunction function, std::span<const Node> elements, Formula& formula) {
  const auto sum_of = [&](std::string_view name, FormulaOperation operation) {
    const auto term = [&](Node x) { return formula.Apply(operation, {x}); };
    return formula.Named(name, formula.Sum(formula.Each(elements, term)));
  };
  switch (function) {
    case ReduceFunction::kL1:
      return sum_of("sum of magnitudes", FormulaOperation::kMagnitude);
    case ReduceFunction::kL2:
    case ReduceFunction::kSumSquare:
      return sum_of("sum of squares", FormulaOperation::kSquare);
    default:
      return formula.Named("sum", formula.Sum(elements));
  }
}

// A float, or what an integer is before it wraps.
Node Whole(ReduceFunction function, std::span<const Node> elements, Formula& formula) {
  if (function == ReduceFunction::kMultiply) return Product(elements, formula);
  const Node sum = SumFor(function, elements, formula);
  switch (function) {
    case ReduceFunction::kAverage:
      return formula.Quotient(sum, formula.Number(static_cast<double>(elements.size())));
    case ReduceFunction::kL2:
      return formula.Apply(FormulaOperation::kSquareRoot, {sum});
    case ReduceFunction::kLogSum:
      formula.Promise("0.51 ULP");
      return formula.Apply(FormulaOperation::kLogarithm, {sum});
    default:
      return sum;
  }
}

}  // namespace

FormulaNode Reduced(ReduceFunction function, bool takes_last, std::span<const Node> elements,
                    DataType type, Formula& formula) {
  switch (function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return Extreme(function, takes_last, elements, formula);
    case ReduceFunction::kLogSumExp:
      return LogarithmOfExponentials(elements, formula);
    default: {
      const Node whole = Whole(function, elements, formula);
      return IsFloat(type) ? whole : formula.Confined(FormulaOperation::kWrap, whole, type);
    }
  }
}

// --- of operators --------------------------------------------------------------------------------

namespace {

std::optional<Node> FormulaOf(const Movement&, const OperatorDesc&, const Region&, Formula&) {
  return std::nullopt;
}

// The product of one tap in each dimension; its weight is part / WeightedTaps::whole.
struct WeightedTap {
  int64_t element;  // of the input, in row-major order
  Dyadic part;
};
struct WeightedTaps {
  std::vector<WeightedTap> taps = {{0, Dyadic(1)}};
  Dyadic whole = Dyadic(1);

  bool Multiply(const TapAxis& by, int64_t index) {
    constexpr int64_t kMostTaps = 1 << 16;
    if (by.Count(index) > kMostTaps / std::max<int64_t>(1, std::ssize(taps))) return false;
    const AxisTaps axis = by.Taps(index);
    if (!axis.is_exact) return false;
    std::vector<WeightedTap> products;
    for (const WeightedTap& tap : taps) {
      for (size_t i = 0; i < axis.offsets.size(); ++i) {
        products.push_back({tap.element + axis.offsets[i], tap.part * axis.parts[i]});
      }
    }
    taps = std::move(products);
    whole = whole * axis.whole;
    return true;
  }

  // Weights without a divisor are easier to read, so a power of two is divided out of them.
  void DividePowersOfTwo() {
    if (whole.bit_length() != 1) return;
    for (WeightedTap& tap : taps) tap.part = tap.part.TimesPowerOfTwo(-whole.exponent());
    whole = Dyadic(1);
  }
};

std::optional<Node> WeightedSum(const WeightedSource& source, const Region& element,
                                Formula& formula) {
  WeightedTaps all;
  for (size_t d = 0; d < source.axes.size(); ++d) {
    if (!all.Multiply(*source.axes[d], element.begin[d])) return std::nullopt;
  }
  all.DividePowersOfTwo();
  const Dims& sizes = source.from.layout.sizes;
  std::vector<Node> products;
  for (const WeightedTap& tap : all.taps) {
    const Region place{0, IndexOf(sizes, tap.element), Dims::Filled(sizes.size(), 1)};
    products.push_back(formula.Product({formula.Number(tap.part), formula.Element(place)}));
  }
  const Node sum = formula.Named("sum of products", formula.Sum(products));
  if (source.rule == WeightedSource::kWrap) {
    return formula.Confined(FormulaOperation::kWrap, sum, source.from.type);
  }
  const bool is_divided = (all.whole - Dyadic(1)).Sign() != 0;
  const Node exact = is_divided ? formula.Quotient(sum, formula.Number(all.whole)) : sum;
  return IsFloat(source.from.type) ? exact : formula.Apply(FormulaOperation::kTruncate, {exact});
}

}  // namespace

std::optional<Node> FormulaOf(const Computed& family, const OperatorDesc& op, const Region& element,
                              Formula& formula) {
  if (family.formula != nullptr) return family.formula(op, element, formula);
  if (family.weights == nullptr) return std::nullopt;
  const TensorDesc& input = *TensorSlots(op, TensorRole::kInput)[0].desc;
  const Dims sizes(input.sizes->begin(), input.sizes->end());
  const WeightedSource source =
      family.weights(op, {nullptr, *input.data_type, PackedLayout(sizes)});
  if (source.rule == WeightedSource::kCopy) return std::nullopt;
  return WeightedSum(source, element, formula);
}

std::optional<FormulaNode> FormulaOf(const OperatorDesc& op, const Region& element,
                                     Formula& formula) {
  const auto last =
      std::visit([&](const auto& family) { return FormulaOf(family, op, element, formula); },
                 op.info().family);
  return formula.is_too_long() || formula.is_unknown() ? std::nullopt : last;
}

}  // namespace dmlop
