// SPDX-License-Identifier: Apache-2.0
#include "core/units/magnitude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <variant>

#include "core/arithmetic/computation.h"
#include "core/base/parallel.h"
#include "core/ops/formula.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"
#include "core/units/formula_character.h"

namespace dmlop {
namespace {

using Node = Formula::Node;
using FloatsOfAnyWidth = Join<TypeList<double>, Floats>;

// --- tensors -------------------------------------------------------------------------------------

// A tensor of floats that are made of those of another one.
struct MadeTensor {
  Buffer buffer;
  ConstTensorView view;
};

Dims WithoutRepetitions(const Layout& layout) {
  Dims sizes = layout.sizes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (layout.strides[d] == 0) sizes[d] = 1;
  }
  return sizes;
}

template <typename To, typename From, typename Function>
void Convert(const ConstTensorView& from, const Dims& sizes, To* to, Function&& function) {
  constexpr int64_t kGrain = 1 << 15;
  ParallelFor(Product(sizes), kGrain, 0, [&](int64_t begin, int64_t end) {
    Dims index = IndexOf(sizes, begin);
    for (int64_t i = begin; i < end; ++i, Advance(sizes, index)) {
      const double x = AsDouble(from.elements<From>()[OffsetOf(from.layout, index)]);
      to[i] = static_cast<To>(function(x));
    }
  });
}

// Dimensions along which elements repeat do so in the result.
template <typename Function>
MadeTensor Made(const ConstTensorView& from, DataType type, Function&& function) {
  const Dims sizes = WithoutRepetitions(from.layout);
  MadeTensor made{Buffer(static_cast<size_t>(Product(sizes)) * ByteWidth(type)), {}};
  VisitDataType(FloatsOfAnyWidth(), from.type, [&]<typename From>() {
    if (type == DataType::kFloat64) {
      Convert<double, From>(from, sizes, reinterpret_cast<double*>(made.buffer.data()), function);
    } else {
      Convert<float, From>(from, sizes, reinterpret_cast<float*>(made.buffer.data()), function);
    }
  });
  made.view = {made.buffer.data(), type, {from.layout.sizes, PackedStrides(sizes)}};
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) made.view.layout.strides[d] = 0;
  }
  return made;
}

DataType Widened(DataType type) {
  return type == DataType::kFloat16 ? DataType::kFloat32 : type;
}

// --- parameters ----------------------------------------------------------------------------------

// Applies a function to the numbers of a field; false if it has none.
template <typename Function>
bool ChangeNumbers(FieldValue& value, Function&& function) {
  if (auto* number = std::get_if<float>(&value)) {
    *number = function(*number);
  } else if (auto* factors = std::get_if<ScaleBias>(&value)) {
    *factors = {function(factors->scale), function(factors->bias)};
  } else {
    return false;
  }
  return true;
}

struct AbridgedFormula {
  Formula formula;
  std::optional<Node> last;

  AbridgedFormula(const OperatorDesc& op, InputViews inputs, size_t output, const Dims& element)
      : formula(inputs, Formula::kAbridged),
        last(FormulaOf(op, {output, element, Dims::Filled(element.size(), 1)}, formula)) {}
};

// Finds out whether two formulas differ in nothing but numbers.
class Likeness {
 public:
  Likeness(const Formula& a, const Formula& b) : a_(a), b_(b) {}

  // Looks at each node once, however many are made of it.
  bool Of(Node a, Node b) {
    const auto known = known_.find(a);
    if (known != known_.end() && known->second == b) return true;
    known_[a] = b;
    return IsLike(a, b);
  }
  bool has_other_number() const { return has_other_number_; }

 private:
  bool IsLike(Node a, Node b) {
    if (a_.operation(a) != b_.operation(b)) return false;
    if (a_.operation(a) == FormulaOperation::kNumber) {
      has_other_number_ |= a_.number(a) != b_.number(b);
      return true;
    }
    if (a_.operation(a) == FormulaOperation::kElement) {
      return a_.tensor(a) == b_.tensor(b) && a_.index(a) == b_.index(b);
    }
    return std::ranges::equal(a_.operands(a), b_.operands(b),
                              [&](Node x, Node y) { return Of(x, y); });
  }

  const Formula& a_;
  const Formula& b_;
  std::unordered_map<Node, Node> known_;
  bool has_other_number_ = false;
};

// Returns whether the numbers of a field are numbers of the formula, rather than of the places of
// elements.
bool IsParameter(const OperatorDesc& op, size_t field, InputViews inputs, size_t output,
                 const Dims& element) {
  OperatorDesc two = op, three = op;
  const auto set = [&](OperatorDesc& changed, float number) {
    return ChangeNumbers(changed.values()[field], [=](float) { return number; });
  };
  if (!set(two, 2) || !set(three, 3)) return false;
  const AbridgedFormula a(two, inputs, output, element), b(three, inputs, output, element);
  if (!a.last || !b.last) return false;
  Likeness likeness(a.formula, b.formula);
  return likeness.Of(*a.last, *b.last) && likeness.has_other_number();
}

std::vector<size_t> ParametersOf(const OperatorDesc& op, InputViews inputs, size_t output,
                                 const Dims& element) {
  std::vector<size_t> parameters;
  for (size_t i = 0; i < op.values().size(); ++i) {
    if (IsParameter(op, i, inputs, output, element)) parameters.push_back(i);
  }
  return parameters;
}

// Marks the inputs whose elements a formula reads.
void MarkInputs(const Formula& formula, Node last, std::vector<bool>& is_read) {
  std::vector<bool> is_part(size_t{last} + 1);
  is_part[last] = true;
  for (Node node = last + 1; node-- > 0;) {
    if (!is_part[node]) continue;
    if (formula.operation(node) == FormulaOperation::kElement) is_read[formula.tensor(node)] = true;
    for (const Node operand : formula.operands(node)) is_part[operand] = true;
  }
}

}  // namespace

MagnitudeRun::MagnitudeRun(const OperatorDesc& op, InputViews inputs, size_t output,
                           std::span<const Dims> elements)
    : op_(op),
      inputs_(inputs),
      output_(output),
      signs_(inputs.size(), 1),
      is_read_(inputs.size()),
      parameters_(ParametersOf(op, inputs, output, elements[0])) {
  // Integers keep their values.
  for (size_t i = 0; i < inputs.size(); ++i) signs_[i] = IsFloat(inputs[i].type) ? 1 : 0;
  for (const size_t parameter : parameters_) {
    ChangeNumbers(op_.values()[parameter], [](float x) { return std::abs(x); });
  }
  for (const Dims& element : elements) {
    const AbridgedFormula built(op_, inputs, output, element);
    if (built.last) MarkInputs(built.formula, *built.last, is_read_);
  }
  is_possible_ = HasSigns(elements);
  for (const MutableTensorSlot& slot : TensorSlots(op_)) {
    slot.desc->data_type = Widened(*slot.desc->data_type);
  }
}

// An input that is subtracted is taken with the other sign.
bool MagnitudeRun::HasSigns(std::span<const Dims> elements) {
  if (IsOfOneSign(elements)) return true;
  for (int& sign : signs_) {
    if (sign == 0) continue;
    sign = -1;
    if (IsOfOneSign(elements)) return true;
    sign = 1;
  }
  return false;
}

bool MagnitudeRun::IsOfOneSign(std::span<const Dims> elements) const {
  return std::ranges::all_of(elements, [&](const Dims& element) {
    const AbridgedFormula built(op_, inputs_, output_, element);
    return built.last && CharacterOf(built.formula, *built.last, signs_).is_of_one_sign;
  });
}

std::vector<double> MagnitudeRun::UnscaledSizes() const {
  OperatorDesc op = op_;
  bool is_scaled = false;
  for (const size_t parameter : parameters_) {
    ChangeNumbers(op.values()[parameter], [&](float x) {
      is_scaled |= x < 1;
      return std::max(x, 1.0f);
    });
  }
  return is_scaled ? SizesOf(op) : std::vector<double>();
}

std::vector<double> MagnitudeRun::SizesOf(const OperatorDesc& op) const {
  std::vector<MadeTensor> made;
  std::vector<ConstTensorView> views(inputs_.begin(), inputs_.end());
  for (size_t i = 0; i < views.size(); ++i) {
    if (!IsFloat(views[i].type)) continue;
    const double sign = signs_[i];
    const bool is_read = is_read_[i];
    made.push_back(Made(views[i], Widened(views[i].type),
                        [=](double x) { return is_read ? sign * std::abs(x) : x; }));
    views[i] = made.back().view;
  }
  return Run(op, views);
}

std::vector<double> MagnitudeRun::Ones(bool factors) const {
  OperatorDesc op = op_;
  for (const size_t parameter : parameters_) {
    if (!factors) ChangeNumbers(op.values()[parameter], [](float) { return 1.0f; });
  }
  std::vector<MadeTensor> made;
  std::vector<ConstTensorView> views(inputs_.begin(), inputs_.end());
  for (size_t i = 0; i < views.size(); ++i) {
    if (!IsFloat(views[i].type)) continue;
    ConstTensorView from = views[i];
    if (is_read_[i]) from.layout.strides = Dims::Filled(from.layout.rank(), 0);
    const double one = signs_[i];
    const bool is_read = is_read_[i];
    made.push_back(Made(from, Widened(from.type), [=](double x) { return is_read ? one : x; }));
    views[i] = made.back().view;
  }
  return Run(op, views);
}

std::vector<double> MagnitudeRun::Run(const OperatorDesc& op, InputViews inputs) const {
  std::vector<Buffer> buffers;
  std::vector<TensorView> views;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    const Dims sizes(slot.desc->sizes->begin(), slot.desc->sizes->end());
    const DataType type = *slot.desc->data_type;
    buffers.emplace_back(static_cast<size_t>(Product(sizes)) * ByteWidth(type));
    views.push_back({buffers.back().data(), type, PackedLayout(sizes)});
  }
  dmlop::Run(op, inputs, views);
  const TensorView& from = views[output_];
  std::vector<double> numbers(static_cast<size_t>(from.layout.element_count()));
  VisitDataType(FloatsOfAnyWidth(), from.type, [&]<typename T>() {
    std::transform(from.elements<T>(), from.elements<T>() + numbers.size(), numbers.begin(),
                   [](T x) { return std::abs(AsDouble(x)); });
  });
  return numbers;
}

// --- products with several scales ----------------------------------------------------------------

namespace {

// Returns whether elements of integers are read, and no others.
bool IsOfIntegers(const Formula& formula, Node node) {
  std::vector<bool> is_read(formula.inputs().size());
  MarkInputs(formula, node, is_read);
  bool is_of_integers = false;
  for (size_t input = 0; input < is_read.size(); ++input) {
    if (!is_read[input]) continue;
    if (IsFloat(formula.inputs()[input].type)) return false;
    is_of_integers = true;
  }
  return is_of_integers;
}

// Returns the inputs of floats of which two or more multiply the same sum of integers.
std::vector<size_t> ScalesOf(const Formula& formula, Node last) {
  for (Node node = 0; node <= last; ++node) {
    if (formula.operation(node) != FormulaOperation::kProduct || formula.HasList(node)) continue;
    std::vector<size_t> scales;
    size_t sums = 0;
    for (const Node factor : formula.operands(node)) {
      const bool is_element = formula.operation(factor) == FormulaOperation::kElement;
      if (is_element && IsFloat(formula.inputs()[formula.tensor(factor)].type)) {
        scales.push_back(formula.tensor(factor));
      } else {
        sums += IsOfIntegers(formula, factor) ? 1 : 0;
      }
    }
    const bool are_all = scales.size() + sums == formula.operands(node).size();
    if (scales.size() >= 2 && sums > 0 && are_all) return scales;
  }
  return {};
}

}  // namespace

// No part of the product is greater than one without the scales below 1.
std::vector<double> SizesBeforeScales(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                                      size_t output) {
  const auto is_integer = [](const ConstTensorView& input) { return !IsFloat(input.type); };
  if (std::ranges::none_of(inputs, is_integer)) return {};
  const AbridgedFormula built(op, inputs, output, Dims::Filled(sizes.size(), 0));
  const std::vector<size_t> scales =
      built.last ? ScalesOf(built.formula, *built.last) : std::vector<size_t>();
  if (scales.empty()) return {};
  std::vector<MadeTensor> made;
  std::vector<ConstTensorView> views(inputs.begin(), inputs.end());
  for (const size_t input : scales) {
    made.push_back(Made(views[input], Widened(views[input].type),
                        [](double x) { return std::max(1.0, std::abs(x)); }));
    views[input] = made.back().view;
  }
  return EvaluateSizes(op, views, sizes, output).sizes;
}

// --- infinite results ----------------------------------------------------------------------------

namespace {

// Returns the numbers of the elements that are infinite, in order.
std::vector<int64_t> InfiniteElements(const ConstTensorView& view) {
  std::vector<int64_t> elements;
  const Dims& sizes = view.layout.sizes;
  VisitDataType(Join<TypeList<double>, Floats>(), view.type, [&]<typename T>() {
    Dims index = Dims::Filled(sizes.size(), 0);
    for (int64_t i = 0; i < Product(sizes); ++i, Advance(sizes, index)) {
      if (std::isinf(AsDouble(view.elements<T>()[OffsetOf(view.layout, index)]))) {
        elements.push_back(i);
      }
    }
  });
  return elements;
}

class InfiniteResults {
 public:
  InfiniteResults(const OperatorDesc& op, InputViews inputs, const ConstTensorView& exact,
                  size_t output)
      : op_(op), inputs_(inputs), sizes_(exact.layout.sizes), output_(output) {
    elements_ = InfiniteElements(exact);
  }

  std::vector<InfiniteResult> Evaluate() {
    if (elements_.empty()) return {};
    const int64_t most = std::max<int64_t>(1, kMostWork / WorkOfElement());
    if (std::ssize(elements_) > most) elements_.resize(static_cast<size_t>(most));
    std::vector<InfiniteResult> results(elements_.size());
    ParallelFor(std::ssize(elements_), 1, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        results[at] = Evaluated(elements_[at]);
      }
    });
    std::erase_if(results, [](const InfiniteResult& one) { return std::isnan(one.value); });
    return results;
  }

 private:
  static constexpr int64_t kMostWork = int64_t{1} << 24;  // nodes

  Region RegionOf(int64_t element) const {
    return {output_, IndexOf(sizes_, element), Dims::Filled(sizes_.size(), 1)};
  }

  // Cumulative sums are longest at one end, and a network runs up to the step before.
  int64_t WorkOfElement() const {
    int64_t nodes = 1;
    for (const int64_t element : {elements_.front(), elements_.back()}) {
      Formula formula(inputs_);
      nodes += FormulaOf(op_, RegionOf(element), formula).value_or(Formula::kMostNodes);
    }
    return nodes + (IsNetwork(op_) ? OperationsOf(op_) : 0);
  }

  // NaN if there is no formula, or none that tells the value.
  InfiniteResult Evaluated(int64_t element) const {
    Formula formula(inputs_);
    const auto last = FormulaOf(op_, RegionOf(element), formula);
    if (!last) return {element, std::numeric_limits<double>::quiet_NaN(), 0};
    const Magnitude found = FormulaEvaluation<MagnitudeArithmetic>(formula).At(*last);
    return {element, found.value, std::isnan(found.size) ? std::abs(found.value) : found.size};
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  const Dims& sizes_;
  const size_t output_;
  std::vector<int64_t> elements_;
};

}  // namespace

std::vector<InfiniteResult> EvaluateInfiniteResults(const OperatorDesc& op, InputViews inputs,
                                                    const ConstTensorView& exact, size_t output) {
  return InfiniteResults(op, inputs, exact, output).Evaluate();
}

}  // namespace dmlop
