// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/sum_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace dmlop {
namespace {

template <typename Column>
Column Added(const FloatRounding& rounding, const Column& a, const Column& b) {
  Column sum;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = rounding(a[i] + b[i]);
  return sum;
}

// Adds terms that are not rounded before.
template <typename Column>
Column AddedWhole(const FloatRounding& rounding, const Column& a, const Column& b) {
  Column sum;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = rounding(SumRoundedToOdd(a[i], b[i]));
  return sum;
}

// The terms of each block, or of each of as many parts.
size_t BlockSize(const ArithmeticVariation& sums, size_t terms) {
  const auto count = static_cast<size_t>(sums.count);
  return sums.order == SumOrder::kParts ? (terms + count - 1) / count : count;
}

template <typename Column>
class OneOrder {
 public:
  OneOrder(const ArithmeticVariation& sums, std::span<const Column> terms)
      : sums_(sums), terms_(terms), rounding_(sums.format) {}

  Column Sum() const {
    switch (sums_.order) {
      case SumOrder::kPairwise:
        return Pairwise({terms_.begin(), terms_.end()});
      case SumOrder::kBlocks:
      case SumOrder::kParts:
        return OfBlocks();
      case SumOrder::kLanes:
        return Halved(Lanes());
      case SumOrder::kLanesOfNeighbours:
        return Pairwise(Lanes());
      default:
        return Chain(0, terms_.size(), 1);
    }
  }

 private:
  // Each `step`-th term from `begin` on.
  Column Chain(size_t begin, size_t end, size_t step) const {
    Column sum{};
    if (sums_.is_fused) {
      for (size_t k = begin; k < end; k += step) sum = AddedWhole(rounding_, sum, terms_[k]);
    } else {
      for (size_t k = begin; k < end; k += step) sum = Added(rounding_, sum, terms_[k]);
    }
    return sum;
  }

  Column OfBlocks() const {
    const FloatRounding total(sums_.adds_blocks_in_float32 ? FloatFormat::kFloat32 : sums_.format);
    const size_t size = BlockSize(sums_, terms_.size());
    Column sum{};
    for (size_t begin = 0; begin < terms_.size(); begin += size) {
      sum = Added(total, sum, Chain(begin, std::min(begin + size, terms_.size()), 1));
    }
    return sum;
  }

  std::vector<Column> Lanes() const {
    const auto count = static_cast<size_t>(sums_.count);
    std::vector<Column> lanes;
    for (size_t lane = 0; lane < count; ++lane) lanes.push_back(Chain(lane, terms_.size(), count));
    return lanes;
  }

  // Neighbours are added until one is left; the last one of an odd number waits.
  Column Pairwise(std::vector<Column> sums) const {
    if (sums.empty()) return {};
    while (sums.size() > 1) {
      const size_t pairs = sums.size() / 2;
      for (size_t k = 0; k < pairs; ++k) {
        sums[k] = Added(rounding_, sums[2 * k], sums[2 * k + 1]);
      }
      if (sums.size() % 2 != 0) sums[pairs] = sums.back();
      sums.resize((sums.size() + 1) / 2);
    }
    return sums[0];
  }

  // The second half is added to the first one until one is left, as threads of a group do it.
  Column Halved(std::vector<Column> sums) const {
    for (size_t half = sums.size() / 2; half > 0; half /= 2) {
      for (size_t k = 0; k < half; ++k) sums[k] = Added(rounding_, sums[k], sums[k + half]);
    }
    return sums[0];
  }

  const ArithmeticVariation& sums_;
  std::span<const Column> terms_;
  FloatRounding rounding_;
};

}  // namespace

template <size_t kWidth>
auto SumOrders<kWidth>::RoundedTo(FloatFormat format) -> std::span<const Column> {
  std::vector<Column>& rounded = rounded_[format];
  if (!rounded.empty()) return rounded;
  const FloatRounding rounding(format);
  rounded.assign(terms_.begin(), terms_.end());
  for (Column& column : rounded) {
    for (double& term : column) term = rounding(term);
  }
  return rounded;
}

template <size_t kWidth>
auto SumOrders<kWidth>::SumOf(const ArithmeticVariation& sums) -> Column {
  return OneOrder<Column>(sums, sums.is_fused ? terms_ : RoundedTo(sums.format)).Sum();
}

template class SumOrders<1>;
template class SumOrders<8>;

namespace {

// A sum of a few terms, such as one so far and the next.
double SumOf(const ArithmeticVariation& sums, std::span<const double> terms) {
  std::vector<SumOrders<1>::Column> columns;
  for (const double term : terms) columns.push_back({term});
  return SumOrders<1>(columns).SumOf(sums)[0];
}

class PartialSums {
 public:
  PartialSums(const ArithmeticVariation& sums, std::span<const double> terms)
      : sums_(sums), in_order_(sums), terms_(terms.begin(), terms.end()) {
    in_order_.order = SumOrder::kInOrder;
    in_order_.adds_blocks_in_float32 = false;
  }

  std::vector<PartialSum> All() {
    switch (sums_.order) {
      case SumOrder::kBlocks:
      case SumOrder::kParts:
        AddBlocks();
        break;
      case SumOrder::kLanes:
      case SumOrder::kLanesOfNeighbours:
        AddLanes();
        AddLevels(sums_.order == SumOrder::kLanesOfNeighbours);
        break;
      case SumOrder::kPairwise:
        AddLevels(true);
        break;
      default:
        AddPrefixes();
    }
    return std::move(partial_);
  }

 private:
  void AddPrefixes() {
    double sum = 0;
    for (size_t k = 0; k < terms_.size(); ++k) {
      const double next[] = {sum, terms_[k]};
      sum = SumOf(in_order_, next);
      partial_.push_back({fmt::format("up to term {}", k), sum});
    }
  }

  void AddBlocks() {
    ArithmeticVariation of_blocks = in_order_;
    if (sums_.adds_blocks_in_float32) of_blocks.format = FloatFormat::kFloat32;
    const size_t size = BlockSize(sums_, terms_.size());
    double sum = 0;
    for (size_t begin = 0; begin < terms_.size(); begin += size) {
      const size_t count = std::min(size, terms_.size() - begin);
      const double block = SumOf(in_order_, std::span(terms_).subspan(begin, count));
      const double next[] = {sum, block};
      sum = SumOf(of_blocks, next);
      partial_.push_back({fmt::format("terms {}..{}", begin, begin + count - 1), block});
      partial_.push_back({fmt::format("up to term {}", begin + count - 1), sum});
    }
  }

  // Replaces the terms by the sums of the lanes.
  void AddLanes() {
    const auto count = static_cast<size_t>(sums_.count);
    std::vector<double> lanes;
    for (size_t lane = 0; lane < count; ++lane) {
      std::vector<double> own;
      for (size_t k = lane; k < terms_.size(); k += count) own.push_back(terms_[k]);
      lanes.push_back(SumOf(in_order_, own));
      partial_.push_back({fmt::format("lane {}", lane), lanes.back()});
    }
    terms_ = std::move(lanes);
  }

  // Adds neighbours, or the second half to the first one, until one is left.
  void AddLevels(bool are_neighbours) {
    for (int level = 1; terms_.size() > 1; ++level) {
      const size_t pairs = terms_.size() / 2;
      std::vector<double> next;
      for (size_t k = 0; k < pairs; ++k) {
        const double pair[] = {terms_[are_neighbours ? 2 * k : k],
                               terms_[are_neighbours ? 2 * k + 1 : k + pairs]};
        next.push_back(SumOf(sums_.order == SumOrder::kPairwise ? sums_ : in_order_, pair));
        partial_.push_back({fmt::format("level {}, sum {}", level, k), next.back()});
      }
      if (terms_.size() % 2 != 0) next.push_back(terms_.back());
      terms_ = std::move(next);
    }
  }

  const ArithmeticVariation& sums_;
  ArithmeticVariation in_order_;  // of the terms of a block or a lane
  std::vector<double> terms_;
  std::vector<PartialSum> partial_;
};

}  // namespace

std::vector<PartialSum> PartialSumsOf(const ArithmeticVariation& sums,
                                      std::span<const double> terms) {
  return PartialSums(sums, terms).All();
}

// --- terms in a device's order -------------------------------------------------------------------

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
  if (order == TermOrder::kOfFormula || order == TermOrder::kBackwards) return true;
  return FilterOf(op) && (order == TermOrder::kByChannel || HasPadding(op));
}

std::vector<double> OrderedTerms(const OperatorDesc& op, const ElementFormula& formula,
                                 FormulaNode sum, const ArithmeticVariation& sums) {
  std::vector<double> terms = formula.TermsOf(sum);
  if (sums.terms == TermOrder::kBackwards) std::ranges::reverse(terms);
  const bool is_in_places =
      sums.terms == TermOrder::kWithPadding || sums.terms == TermOrder::kByChannel;
  const auto filter = is_in_places ? FilterOf(op) : std::nullopt;
  if (filter) {
    terms = InPlaces(FilterPlaces(formula.formula(), *filter), sums.terms,
                     formula.formula().operands(sum), std::move(terms));
  }
  const auto addend = sums.addend == AddendOrder::kFirst ? formula.AddendOf(sum) : std::nullopt;
  if (addend) terms.insert(terms.begin(), *addend);
  return terms;
}

}  // namespace dmlop
