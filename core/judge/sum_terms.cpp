// SPDX-License-Identifier: Apache-2.0
#include "core/judge/sum_terms.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace dmlop {
namespace {

template <typename T>
const T* FindField(const OperatorDesc& op, std::string_view name) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (op.fields()[i]->name == name) return std::get_if<T>(&op.values()[i]);
  }
  return nullptr;
}

bool HasPadding(const OperatorDesc& op) {
  const auto is_any = [&](std::string_view name) {
    const auto* padding = FindField<std::vector<uint32_t>>(op, name);
    return padding != nullptr && std::ranges::any_of(*padding, [](uint32_t n) { return n != 0; });
  };
  return is_any("StartPadding") || is_any("EndPadding");
}

// The number of the input that is a filter of an output's windows: its channels and then its taps
// are added up.
std::optional<size_t> FilterOf(const OperatorDesc& op) {
  constexpr uint32_t kForward = 0;
  const auto* direction = FindField<uint32_t>(op, "Direction");
  if (direction == nullptr || *direction != kForward) return std::nullopt;
  const auto slots = TensorSlots(op, TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].path == "FilterTensor") return i;
  }
  return std::nullopt;
}

// Places of terms among all that a filter has.
class FilterPlaces {
 public:
  FilterPlaces(const Formula& formula, size_t filter)
      : formula_(formula), filter_(filter), sizes_(formula.inputs()[filter].layout.sizes) {
    for (size_t d = 2; d < sizes_.size(); ++d) taps_ *= sizes_[d];
  }

  size_t count() const { return static_cast<size_t>(taps_ * sizes_[1]); }

  // None for a term that is not a product with an element of the filter.
  std::optional<size_t> Of(FormulaNode term, TermOrder order) const {
    for (const FormulaNode factor : formula_.operands(term)) {
      const bool is_of_filter = formula_.operation(factor) == FormulaOperation::kElement &&
                                formula_.tensor(factor) == filter_;
      if (is_of_filter) return PlaceAt(formula_.index(factor), order);
    }
    return std::nullopt;
  }

 private:
  size_t PlaceAt(const Dims& index, TermOrder order) const {
    int64_t tap = 0;
    for (size_t d = 2; d < sizes_.size(); ++d) tap = tap * sizes_[d] + index[d];
    const int64_t channel = index[1];
    return static_cast<size_t>(order == TermOrder::kByChannel ? channel * taps_ + tap
                                                              : tap * sizes_[1] + channel);
  }

  const Formula& formula_;
  size_t filter_;
  const Dims& sizes_;
  int64_t taps_ = 1;
};

// Puts terms where their factors are in the filter, and 0 where it has none. Terms stay as they are
// if one has no place.
std::vector<double> InPlaces(const FilterPlaces& places, TermOrder order,
                             std::span<const FormulaNode> nodes, std::vector<double> terms) {
  std::vector<double> ordered(places.count());
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto place = places.Of(nodes[i], order);
    if (!place) return terms;
    ordered[*place] = terms[i];
  }
  return ordered;
}

}  // namespace

bool HasTermOrder(const OperatorDesc& op, TermOrder order) {
  if (order == TermOrder::kOfFormula) return true;
  return FilterOf(op) && (order == TermOrder::kByChannel || HasPadding(op));
}

std::vector<double> OrderedTerms(const OperatorDesc& op, const ElementFormula& formula,
                                 FormulaNode sum, const ArithmeticVariation& sums) {
  std::vector<double> terms = formula.TermsOf(sum);
  const auto filter = FilterOf(op);
  if (sums.terms != TermOrder::kOfFormula && filter) {
    terms = InPlaces(FilterPlaces(formula.formula(), *filter), sums.terms,
                     formula.formula().operands(sum), std::move(terms));
  }
  const auto addend = sums.addend == AddendOrder::kFirst ? formula.AddendOf(sum) : std::nullopt;
  if (addend) terms.insert(terms.begin(), *addend);
  return terms;
}

}  // namespace dmlop
