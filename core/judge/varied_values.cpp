// SPDX-License-Identifier: Apache-2.0
#include "core/judge/varied_values.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "core/base/parallel.h"
#include "core/judge/chosen_arithmetic.h"
#include "core/judge/computation.h"
#include "core/judge/element_formula.h"
#include "core/judge/stored_element.h"
#include "core/judge/sum_orders.h"
#include "core/judge/varied_tensors.h"
#include "core/ops/fused.h"

namespace dmlop {
namespace {

using Kind = ArithmeticKind;
using Elements = std::vector<ElementBytes>;

// An output of an operator, and some of its elements.
struct Question {
  const OperatorDesc& op;
  InputViews inputs;
  size_t output;
  std::span<const int64_t> elements;

  const TensorDesc& desc() const { return *TensorSlots(op, TensorRole::kOutput)[output].desc; }
  DataType type() const { return *desc().data_type; }
  Dims sizes() const { return {desc().sizes->begin(), desc().sizes->end()}; }
  Computation computation() const { return {op, {inputs.begin(), inputs.end()}}; }
  Region At(size_t i) const {
    const Dims all = sizes();
    return {output, IndexOf(all, elements[i]), Dims::Filled(all.size(), 1)};
  }
};

// --- elements by their formulas ------------------------------------------------------------------

// Some elements side by side.
class Tile {
 public:
  static constexpr size_t kWidth = 8;

  Tile(const Question& question, size_t first) : question_(question), first_(first) {}

  size_t size() const { return formulas_.size(); }
  // Not so many formulas that they take much memory.
  bool IsFull() const { return size() == kWidth || nodes_ > kMostNodes; }
  void AddNext() {
    formulas_.push_back(
        ElementFormula::Of(question_.op, question_.inputs, question_.At(first_ + size())));
    if (formulas_.back()) nodes_ += formulas_.back()->last();
  }

  // Replaces the exact elements of a variation by its own.
  void Compute(const ArithmeticVariation& variation, std::span<ElementBytes> elements) {
    if (variation.kind == Kind::kSums) return ComputeSums(variation, elements);
    for (size_t i = 0; i < size(); ++i) {
      ElementBytes& element = elements[first_ + i];
      const auto changed = formulas_[i] ? Changed(variation, *formulas_[i], element) : std::nullopt;
      if (changed) element = *changed;
    }
  }

 private:
  static constexpr size_t kMostNodes = size_t{1} << 18;
  using Columns = std::vector<SumOrders<kWidth>::Column>;

  std::optional<ElementBytes> Changed(const ArithmeticVariation& variation,
                                      const ElementFormula& formula,
                                      const ElementBytes& exact) const {
    const DataType type = question_.type();
    switch (variation.kind) {
      case Kind::kTowardZero:
        return TowardZero(type, exact, formula.exact());
      case Kind::kThrough:
        return ThroughFloat32(formula.exact());
      case Kind::kSteps:
        return Stored(type, formula.InSteps(variation.format));
      default: {
        const auto rounded = formula.WithRoundedProduct(type);
        return rounded ? std::optional(Stored(type, *rounded)) : std::nullopt;
      }
    }
  }

  bool HasOneSumEach() const {
    return std::ranges::all_of(
        formulas_, [](const auto& formula) { return formula && formula->sums().size() == 1; });
  }

  void MakeColumns() {
    if (orders_) return;
    for (size_t i = 0; i < size(); ++i) {
      const std::vector<double> terms = formulas_[i]->TermsOf(formulas_[i]->sums()[0]);
      if (terms.size() > columns_.size()) columns_.resize(terms.size());
      for (size_t k = 0; k < terms.size(); ++k) columns_[k][i] = terms[k];
    }
    orders_.emplace(columns_);
  }

  void ComputeSums(const ArithmeticVariation& variation, std::span<ElementBytes> elements) {
    if (!HasOneSumEach()) return ComputeSumsAlone(variation, elements);
    MakeColumns();
    const auto sums = orders_->SumOf(variation);
    for (size_t i = 0; i < size(); ++i) {
      const DoubleDouble value = formulas_[i]->WithSums([&](FormulaNode) { return sums[i]; });
      elements[first_ + i] = Stored(question_.type(), value);
    }
  }

  void ComputeSumsAlone(const ArithmeticVariation& variation, std::span<ElementBytes> elements) {
    for (size_t i = 0; i < size(); ++i) {
      if (!formulas_[i] || formulas_[i]->sums().empty()) continue;
      const DoubleDouble value = formulas_[i]->WithSums([&](FormulaNode sum) {
        std::vector<SumOrders<1>::Column> terms;
        for (const double term : formulas_[i]->TermsOf(sum)) terms.push_back({term});
        return SumOrders<1>(terms).SumOf(variation)[0];
      });
      elements[first_ + i] = Stored(question_.type(), value);
    }
  }

  const Question& question_;
  size_t first_;
  std::vector<std::unique_ptr<ElementFormula>> formulas_;
  size_t nodes_ = 0;
  Columns columns_;
  std::optional<SumOrders<kWidth>> orders_;
};

bool NeedsFormula(const ArithmeticVariation& variation, DataType type) {
  switch (variation.kind) {
    case Kind::kSums:
    case Kind::kProductRounded:
    case Kind::kSteps:
    case Kind::kTowardZero:
      return true;
    case Kind::kThrough:
      return variation.format == FloatFormat::kFloat32 && type == DataType::kFloat16;
    default:
      return false;
  }
}

// --- all kinds -----------------------------------------------------------------------------------

class VariedElements {
 public:
  VariedElements(const Question& question, std::span<const ArithmeticVariation> variations)
      : question_(question), variations_(variations) {}

  std::vector<Elements> All() {
    const Elements exact =
        ElementsOf(question_.computation(), question_.output, question_.elements);
    all_.assign(variations_.size(), exact);
    for (size_t v = 0; v < variations_.size(); ++v) ComputeOne(variations_[v], all_[v]);
    const auto needs = [&](const auto& v) { return NeedsFormula(v, question_.type()); };
    if (std::ranges::any_of(variations_, needs)) ComputeFormulas();
    return std::move(all_);
  }

 private:
  void ComputeOne(const ArithmeticVariation& variation, Elements& elements) const {
    if (ChangesInputs(variation)) {
      const Computation changed =
          WithChangedInputs(question_.computation(), variation, question_.output);
      elements = ElementsOf(changed, question_.output, question_.elements);
    }
    if (Chooses(variation.kind)) Choose(variation, elements);
    if (ChangesOutputs(variation)) ChangeOutputs(variation, question_.type(), elements);
  }

  void Choose(const ArithmeticVariation& variation, Elements& elements) const {
    constexpr int64_t kGrain = 256;
    ParallelFor(std::ssize(elements), kGrain, 0, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const auto chosen =
            ChosenElement(variation, question_.op, question_.inputs, question_.At(i));
        if (chosen) elements[i] = *chosen;
      }
    });
  }

  void ComputeFormulas() {
    const auto count = std::ssize(question_.elements);
    ParallelFor(count, Tile::kWidth, 0, [&](int64_t begin, int64_t end) {
      for (auto first = static_cast<size_t>(begin); first < static_cast<size_t>(end);) {
        Tile tile(question_, first);
        while (!tile.IsFull() && first + tile.size() < static_cast<size_t>(end)) tile.AddNext();
        ComputeTile(tile);
        first += tile.size();
      }
    });
  }

  void ComputeTile(Tile& tile) {
    for (size_t v = 0; v < variations_.size(); ++v) {
      if (NeedsFormula(variations_[v], question_.type())) tile.Compute(variations_[v], all_[v]);
    }
  }

  const Question& question_;
  std::span<const ArithmeticVariation> variations_;
  std::vector<Elements> all_;
};

// --- activations ---------------------------------------------------------------------------------

// The elements that an activation makes of the operator's own ones, which are `sizes` in all.
Elements Activated(const OperatorDesc& activation, const Elements& own, const Dims& sizes,
                   const ArithmeticVariation& variation, std::span<const int64_t> elements) {
  const DataType type = *TensorSlots(activation, TensorRole::kOutput)[0].desc->data_type;
  const size_t width = ByteWidth(type);
  Buffer bytes(own.size() * width);
  for (size_t i = 0; i < own.size(); ++i) {
    std::copy_n(own[i].begin(), width, bytes.data() + i * width);
  }
  const ConstTensorView input{bytes.data(), type, PackedLayout(sizes)};
  if (!IsOfOwnResult(variation.kind)) {
    return ComputeVaried(activation, {&input, 1}, variation, 0, elements);
  }
  return ElementsOf({activation, {input}}, 0, elements);
}

std::vector<int64_t> Numbers(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Activations that look at each element by itself do so as of a row of the asked elements; for
// others, all are computed.
std::vector<Elements> ComputeActivated(const Question& question,
                                       std::span<const ArithmeticVariation> variations) {
  OperatorDesc host = question.op;
  const bool is_element_wise = RunsOnAnyPart(*FusedAlone(host));
  std::vector<int64_t> needed(question.elements.begin(), question.elements.end());
  Dims sizes = question.sizes();
  if (is_element_wise) {
    sizes = Dims::Filled(sizes.size(), 1);
    sizes.back() = std::ssize(needed);
    for (const MutableTensorSlot& slot : TensorSlots(host)) {
      if (slot.role() == TensorRole::kOutput) slot.desc->sizes->assign(sizes.begin(), sizes.end());
    }
  } else {
    needed = Numbers(static_cast<size_t>(Product(sizes)));
  }
  const OperatorDesc activation = *FusedAlone(host);
  const std::vector<int64_t> asked =
      is_element_wise ? Numbers(needed.size())
                      : std::vector<int64_t>(question.elements.begin(), question.elements.end());
  std::vector<Elements> all = ComputeVaried(WithoutActivation(question.op), question.inputs,
                                            variations, question.output, needed);
  for (size_t v = 0; v < variations.size(); ++v) {
    all[v] = Activated(activation, all[v], sizes, variations[v], asked);
  }
  return all;
}

}  // namespace

std::vector<std::vector<ElementBytes>> ComputeVaried(
    const OperatorDesc& op, InputViews inputs, std::span<const ArithmeticVariation> variations,
    size_t output, std::span<const int64_t> elements) {
  const Question question{op, inputs, output, elements};
  if (elements.empty()) return std::vector<Elements>(variations.size());
  const bool is_activated = output == 0 && FusedActivationOf(op) != nullptr;
  if (is_activated) return ComputeActivated(question, variations);
  return VariedElements(question, variations).All();
}

std::vector<ElementBytes> ComputeVaried(const OperatorDesc& op, InputViews inputs,
                                        const ArithmeticVariation& variation, size_t output,
                                        std::span<const int64_t> elements) {
  return ComputeVaried(op, inputs, std::span(&variation, 1), output, elements)[0];
}

}  // namespace dmlop
