// SPDX-License-Identifier: Apache-2.0
// The formula of one element of an output, as data: operations on elements of the inputs and on
// numbers. Each node's operands precede it. An operator's row builds the formula; others print it,
// or evaluate it in an arithmetic of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/exact/dyadic.h"
#include "core/exact/functions.h"
#include "core/ops/family.h"

namespace dmlop {

enum class FormulaOperation : uint8_t {
  kElement,  // an element of an input
  kNumber,
  // Operations on any number of operands.
  kSum,
  kMean,
  kProduct,
  kMaximum,  // ignores NaN if there is another operand
  kMinimum,
  // The place of these among the operands, from 0 on; -0 and +0 are equal.
  kFirstMaximum,
  kLastMaximum,
  kFirstMinimum,
  kLastMinimum,
  // Operations on four operands: x, y, z and w.
  kIfAtLeast,  // z where x >= y, else w
  kIfGreater,  // z where x > y, else w
  // Operations on two operands.
  kDifference,
  kQuotient,
  kQuotientOrDividend,  // x / y, but x if y is 0
  kPower,               // as IEEE pow
  kWeighted,            // x * y, but 0 where x is 0
  kAtLeast,             // x, but y where x is less
  // Operations on one operand.
  kNegative,
  // Operations on two operands that give a whole number.
  kFlooredQuotient,
  kTruncatedQuotient,
  // Operations on one operand.
  kMagnitude,
  kSquare,
  kSquareRoot,
  kExponential,
  kLogarithm,
  kElementWise,     // one that computes elements from elements; see functions.h
  kRoundToFloat64,  // to nearest, ties to even
  kRoundToFloat32,
  kRoundToFloat16,
  kRound,     // to a whole number, ties to even; NaN becomes 0
  kTruncate,  // to a whole number, toward zero
  // Operations on a number and the ends of a range.
  kClamp,  // NaN stays
  kWrap,   // modulo the size of the range
};

std::string_view Name(FormulaOperation operation);  // "sum", "square root", ...

constexpr bool IsChoice(FormulaOperation operation) {
  return operation == FormulaOperation::kIfAtLeast || operation == FormulaOperation::kIfGreater;
}

class Formula {
 public:
  using Node = FormulaNode;
  using Operation = FormulaOperation;

  // A formula that would have more nodes is dropped.
  static constexpr size_t kMostNodes = size_t{1} << 22;

  // An abridged formula has no more elements of a region than this: enough for what is said of
  // operations, and not of values.
  static constexpr size_t kAbridged = 4096;

  // `inputs` are the operator's inputs; their values may decide what is computed. `most_listed` is
  // the number of elements of a region of which no more are taken.
  explicit Formula(InputViews inputs, size_t most_listed = kMostNodes)
      : inputs_(inputs), most_listed_(most_listed) {
    Number(0.0);
  }
  InputViews inputs() const { return inputs_; }
  size_t most_listed() const { return most_listed_; }

  // --- building ----------------------------------------------------------------------------------

  std::vector<Node> Elements(const Region& region);
  // The elements of the region that are `steps` apart in each dimension, from its first on.
  std::vector<Node> Elements(const Region& region, const Dims& steps);
  // The element of a region of one.
  Node Element(const Region& region) { return Element(region.tensor, region.begin); }
  Node Element(size_t tensor, const Dims& index);
  Node Number(double value);
  Node Number(const Dyadic& value);
  // A number that was computed elsewhere and has a name, such as the state of the previous step.
  Node Given(double value, std::string name);

  // Applies an operation to a list of any length.
  Node Apply(Operation operation, std::span<const Node> operands);
  // Applies an operation to operands that expressions write out.
  Node Apply(Operation operation, std::initializer_list<Node> operands);
  Node Sum(std::span<const Node> terms) { return Apply(Operation::kSum, terms); }
  Node Sum(std::initializer_list<Node> terms) { return Apply(Operation::kSum, terms); }
  Node Product(std::initializer_list<Node> factors) { return Apply(Operation::kProduct, factors); }
  Node Difference(Node a, Node b) { return Apply(Operation::kDifference, {a, b}); }
  Node Quotient(Node a, Node b) { return Apply(Operation::kQuotient, {a, b}); }
  // Returns x itself if the factor is 1.
  Node Scaled(double factor, Node x) { return factor == 1 ? x : Product({Number(factor), x}); }
  // Applies an element-wise function with parameters p and q.
  Node Function(ElementWiseFunction function, std::span<const Node> operands,
                std::array<double, 2> numbers = {}, std::optional<Node> definition = std::nullopt);
  Node Function(ElementWiseFunction function, std::initializer_list<Node> operands,
                std::array<double, 2> numbers = {}) {
    return Function(function, std::span(operands.begin(), operands.size()), numbers);
  }
  // The same operation on other operands, evaluated once if the node is. A function that has a
  // definition gets another one.
  Node Like(Node node, std::span<const Node> operands, std::optional<Node> definition);
  // Rounds to a float type.
  Node Rounded(DataType type, Node x);
  // Clamps to, or wraps into, the range of an integer type.
  Node Confined(Operation how, Node x, DataType type);
  // Quantizes a real number that is given in units of the scale: rounds it to an integer, adds the
  // zero point, and clamps the sum to the type.
  Node Quantized(Node units, std::optional<Node> zero_point, DataType type);
  // Applies a function to each node.
  template <typename Function>
  std::vector<Node> Each(std::span<const Node> nodes, Function&& function) {
    std::vector<Node> results;
    results.reserve(nodes.size());
    for (const Node node : nodes) results.push_back(function(node));
    return results;
  }

  // Stands for what cannot be said: then there is no formula at all.
  Node Unknown() {
    is_unknown_ = true;
    return 0;
  }

  // Evaluated once, as it is used more than once.
  Node Shared(Node node);

  // Gives the node a name for readers; a named node is evaluated only once.
  Node Named(std::string_view name, Node node);

  // States how near the last node is to a result that is not always the nearest number: "0.51 ULP".
  void Promise(std::string bound) { promise_ = std::move(bound); }

  // --- reading -----------------------------------------------------------------------------------

  // Returns whether the formula, also what an abridged one lacks of it, would have too many nodes.
  bool is_too_long() const { return is_too_long_ || WholeSize() > int64_t{kMostNodes}; }
  bool is_abridged() const { return left_out_ > 0; }
  // Returns how many nodes there are, or about how many there would be if nothing had been left
  // out.
  int64_t WholeSize() const {
    const auto size = static_cast<int64_t>(nodes_.size());
    return left_out_ == 0 ? size : size + size * left_out_ / listed_;
  }
  bool is_unknown() const { return is_unknown_; }
  Operation operation(Node node) const { return nodes_[node].operation; }
  std::span<const Node> operands(Node node) const;
  // Returns whether the operands are a list that may be of any length.
  bool HasList(Node node) const { return nodes_[node].has_list; }
  size_t tensor(Node element) const {
    const Entry& entry = nodes_[element];
    return entry.is_listed ? regions_[entry.first].tensor : entry.tensor;
  }
  Dims index(Node element) const {
    const Entry& entry = nodes_[element];
    if (entry.is_listed) return regions_[entry.first].IndexAt(entry.count);
    const auto coordinates = coordinates_.begin() + entry.first;
    return Dims(coordinates, coordinates + entry.count);
  }
  // The element's place in its input's data.
  int64_t offset(Node element) const {
    return OffsetOf(inputs_[tensor(element)].layout, index(element));
  }
  // Returns whether the element came with others of its region.
  bool IsListed(Node element) const { return nodes_[element].is_listed; }
  // The value of an element, which may decide what is computed.
  double ValueOf(Node element) const;
  double number(Node node) const { return numbers_[nodes_[node].first].value; }
  // Empty if the number is not finite.
  const std::optional<Dyadic>& exact_number(Node node) const {
    return numbers_[nodes_[node].first].exact;
  }
  // Empty unless the number came from Given.
  const std::string& number_name(Node node) const { return numbers_[nodes_[node].first].name; }
  ElementWiseFunction function(Node node) const { return functions_[nodes_[node].function].name; }
  std::span<const double> parameters(Node node) const {
    return functions_[nodes_[node].function].numbers;
  }
  // The definition of a function; the node itself if it has none.
  Node definition(Node node) const;
  const std::map<Node, std::string>& names() const { return names_; }
  bool IsShared(Node node) const { return nodes_[node].is_shared; }
  bool IsNamed(Node node) const { return names_.contains(node); }
  const std::string& promise() const { return promise_; }

 private:
  // `first` and `count` are the range of operands; of an element, that of its coordinates or, if it
  // is listed, its region and its number in there; of a number, its place.
  struct Entry {
    Operation operation;
    uint32_t first, count;
    uint32_t function = 0;
    uint32_t tensor = 0;
    bool has_list = false;
    bool is_shared = false;
    bool is_listed = false;
  };
  struct NumberEntry {
    double value;
    std::optional<Dyadic> exact;
    std::string name;
  };
  struct FunctionEntry {
    ElementWiseFunction name;
    std::array<double, 2> numbers;
    std::optional<Node> definition;
  };

  void ReserveFor(size_t elements);
  Node Add(Entry entry);

  InputViews inputs_;
  size_t most_listed_;
  int64_t listed_ = 0;    // elements of regions
  int64_t left_out_ = 0;  // likewise, those that an abridged formula lacks
  std::vector<Entry> nodes_;
  std::vector<Node> operands_;
  std::vector<Region> regions_;
  std::vector<int64_t> coordinates_;  // of elements that came alone, which may be many
  std::vector<NumberEntry> numbers_;
  std::vector<FunctionEntry> functions_;
  std::map<Node, std::string> names_;
  std::string promise_;
  bool is_too_long_ = false;
  bool is_unknown_ = false;
};

// Returns the formula of a reduction of elements of a type. `takes_last`: see ReductionCall.
FormulaNode Reduced(ReduceFunction function, bool takes_last, std::span<const FormulaNode> elements,
                    DataType type, Formula& formula);

// Builds the formula of an element of an output of a valid descriptor and returns its last node;
// none if the operator has no formula, only moves bits, or the formula is too long.
std::optional<FormulaNode> FormulaOf(const OperatorDesc& op, const Region& element,
                                     Formula& formula);

// Returns the formula of an element-wise function of operands of a float type, before its rounding;
// none if the function has no formula.
std::optional<FormulaNode> FormulaOf(const ElementWiseCall& call,
                                     std::span<const FormulaNode> operands, Formula& formula);

// Computes the values of nodes. An arithmetic has a type Value and the functions
//
//   Value Element(const ConstTensorView& view, int64_t offset)
//   Value Number(double value, const std::optional<Dyadic>& exact)
//   Value Apply(FormulaOperation operation, std::span<const Value> operands)
//   Value Function(ElementWiseFunction function, std::span<const double> parameters,
//                  std::span<const Value> operands)
//
// and may have one that gives the node that is evaluated for another:
//
//   Formula::Node Instead(const Formula& formula, Formula::Node node)
template <typename Arithmetic>
class FormulaEvaluation {
 public:
  using Value = typename Arithmetic::Value;

  explicit FormulaEvaluation(const Formula& formula, Arithmetic arithmetic = {})
      : formula_(formula), arithmetic_(std::move(arithmetic)) {}

  Value At(Formula::Node node) {
    if constexpr (requires { arithmetic_.Instead(formula_, node); }) {
      node = arithmetic_.Instead(formula_, node);
    }
    if (!IsKept(node)) return Evaluate(node);
    const auto found = known_.find(node);
    if (found != known_.end()) return found->second;
    return known_.emplace(node, Evaluate(node)).first->second;
  }

  // Takes the value of a node that was evaluated elsewhere.
  void Keep(Formula::Node node, Value value) { known_.insert_or_assign(node, std::move(value)); }

 private:
  // Values of named nodes, which may be used repeatedly, and of long operations are kept.
  bool IsKept(Formula::Node node) const {
    constexpr size_t kLong = 8;
    return formula_.operands(node).size() >= kLong || formula_.IsShared(node);
  }

  Value Evaluate(Formula::Node node) {
    if (formula_.operation(node) == FormulaOperation::kNumber) {
      return Arithmetic::Number(formula_.number(node), formula_.exact_number(node));
    }
    if (formula_.operation(node) == FormulaOperation::kElement) {
      const ConstTensorView& view = formula_.inputs()[formula_.tensor(node)];
      return Arithmetic::Element(view, formula_.offset(node));
    }
    if (formula_.HasList(node) && formula_.operation(node) <= FormulaOperation::kMinimum) {
      return OfList(node);
    }
    const auto nodes = formula_.operands(node);
    std::array<Value, kFew> few;
    if (nodes.size() <= kFew) {
      std::ranges::transform(nodes, few.begin(), [this](Formula::Node x) { return At(x); });
      return Apply(node, std::span(few).first(nodes.size()));
    }
    std::vector<Value> operands;
    for (const Formula::Node operand : nodes) operands.push_back(At(operand));
    return Apply(node, operands);
  }

  static constexpr size_t kFew = 4;  // operands, as most nodes have

  Value Apply(Formula::Node node, std::span<const Value> operands) const {
    if (formula_.operation(node) == FormulaOperation::kElementWise) {
      return arithmetic_.Function(formula_.function(node), formula_.parameters(node), operands);
    }
    return arithmetic_.Apply(formula_.operation(node), operands);
  }

  // Piece by piece, so that few values of a long list are kept.
  Value OfList(Formula::Node node) {
    constexpr size_t kPiece = 1024;
    const bool is_mean = formula_.operation(node) == FormulaOperation::kMean;
    const auto operation = is_mean ? FormulaOperation::kSum : formula_.operation(node);
    std::vector<Value> piece;
    for (const Formula::Node operand : formula_.operands(node)) {
      piece.push_back(At(operand));
      if (piece.size() == kPiece) piece = {arithmetic_.Apply(operation, piece)};
    }
    const Value all = arithmetic_.Apply(operation, piece);
    if (!is_mean) return all;
    const auto count = static_cast<double>(formula_.operands(node).size());
    const Value quotient[] = {all, Arithmetic::Number(count, Dyadic(count))};
    return arithmetic_.Apply(FormulaOperation::kQuotient, quotient);
  }

  const Formula& formula_;
  Arithmetic arithmetic_;
  std::unordered_map<Formula::Node, Value> known_;
};

}  // namespace dmlop
