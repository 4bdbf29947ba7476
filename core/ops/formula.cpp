#include "core/ops/formula.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/base/integer_division.h"
#include "core/ops/operator.h"
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
                                         "difference",
                                         "quotient",
                                         "quotient or dividend",
                                         "power",
                                         "weighted",
                                         "at least",
                                         "magnitude",
                                         "square",
                                         "square root",
                                         "exponential",
                                         "logarithm",
                                         "function",
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
  std::vector<Node> elements;
  regions_.push_back(region);
  const auto place = static_cast<uint32_t>(regions_.size() - 1);
  const Dims strides = PackedLayout(region.sizes).strides;
  Dims index = Dims::Filled(counts.size(), 0);
  for (int64_t k = 0; k < dmlop::Product(counts); ++k, Advance(counts, index)) {
    int64_t number = 0;
    for (size_t d = 0; d < index.size(); ++d) number += index[d] * steps[d] * strides[d];
    elements.push_back(Add({Operation::kElement, place, static_cast<uint32_t>(number)}));
  }
  return elements;
}

Formula::Node Formula::Element(const Region& region) {
  regions_.push_back(region);
  return Add({Operation::kElement, static_cast<uint32_t>(regions_.size() - 1), 0});
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
  return Add({operation, first, static_cast<uint32_t>(operands.size())});
}

Formula::Node Formula::Function(ElementWiseFunction function, std::span<const Node> operands,
                                std::array<double, 2> numbers) {
  const Node node = Apply(Operation::kElementWise, operands);
  functions_.push_back({function, numbers});
  if (!is_too_long_) nodes_[node].function = static_cast<uint32_t>(functions_.size() - 1);
  return node;
}

Formula::Node Formula::Rounded(DataType type, Node x) {
  const bool is_half = type == DataType::kFloat16;
  return Apply(is_half ? Operation::kRoundToFloat16 : Operation::kRoundToFloat32, {x});
}

Formula::Node Formula::Confined(Operation how, Node x, DataType type) {
  Node least = 0, greatest = 0;
  VisitDataType(Join<Integers64, Integers32, Integers16, Integers8>(), type, [&]<typename T>() {
    least = Number(Dyadic(std::numeric_limits<T>::min()));
    greatest = Number(Dyadic(std::numeric_limits<T>::max()));
  });
  return Apply(how, {x, least, greatest});
}

Formula::Node Formula::Quantized(Node units, std::optional<Node> zero_point, DataType type) {
  Node whole = Named("rounded", Apply(Operation::kRound, {units}));
  if (zero_point) whole = Sum({whole, *zero_point});
  return Confined(Operation::kClamp, whole, type);
}

Formula::Node Formula::Shared(Node node) {
  if (!is_too_long_) shared_.insert(node);
  return node;
}

Formula::Node Formula::Named(std::string_view name, Node node) {
  if (!is_too_long_) names_.emplace(node, name);
  return node;
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
  VisitDataType(AllTypes(), view.type, [&]<typename T>() {
    value = AsDouble(view.elements<T>()[OffsetOf(view.layout, index(element))]);
  });
  return value;
}

// --- of operators --------------------------------------------------------------------------------

namespace {

using Node = FormulaNode;

template <typename Family>
std::optional<Node> FormulaOf(const Family&, const OperatorDesc&, const Region&, Formula&) {
  return std::nullopt;
}

std::optional<Node> FormulaOf(const Custom& family, const OperatorDesc& op, const Region& element,
                              Formula& formula) {
  if (family.formula == nullptr) return std::nullopt;
  return family.formula(op, element, formula);
}

// A tap of all dimensions, times the wholes of these.
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

  // Weights without a divisor are easier to read.
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

std::optional<Node> FormulaOf(const Placed& family, const OperatorDesc& op, const Region& element,
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

}  // namespace

std::optional<FormulaNode> FormulaOf(const ElementWiseCall& call,
                                     std::span<const FormulaNode> operands, Formula& formula) {
  if (call.scale_bias) return std::nullopt;
  if (call.function == ElementWiseFunction::kCast) return operands[0];
  if (!IsApproximated(call.function)) return std::nullopt;
  return formula.Function(call.function, operands,
                          {call.parameters.numbers[0], call.parameters.numbers[1]});
}

std::optional<FormulaNode> FormulaOf(const OperatorDesc& op, const Region& element,
                                     Formula& formula) {
  const auto last =
      std::visit([&](const auto& family) { return FormulaOf(family, op, element, formula); },
                 op.info().family);
  return formula.is_too_long() || formula.is_unknown() ? std::nullopt : last;
}

}  // namespace dmlop
