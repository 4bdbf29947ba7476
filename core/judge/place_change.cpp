// SPDX-License-Identifier: Apache-2.0
#include "core/judge/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/parallel.h"
#include "core/judge/place_variation.h"

namespace dmlop {
namespace {

// Longer shifts than this along an axis are not looked for.
constexpr int64_t kMostShift = 65536;
// A periodic output has many equal shifts.
constexpr size_t kMostOfAKind = 4;

// The element of the right output that stands for another; -1 if there is none beyond an edge.
using SourceOf = std::function<int64_t(const Dims& index)>;

class PlaceSearch : public std::enable_shared_from_this<PlaceSearch> {
 public:
  PlaceSearch(const Evidence& evidence, const SampledElements& few)
      : evidence_(evidence),
        few_(few),
        sizes_(evidence.expected.sizes),
        strides_(PackedStrides(sizes_)),
        box_(StretchesOf(sizes_, evidence.wrong)) {
    for (Stretch& stretch : box_) stretch.step = 1;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] > 1) axes_.push_back(d);
    }
  }

  std::vector<Hypothesis> All() {
    Inputs();
    Reversals();
    Shifts();
    for (const AxisOrder& order : Orders()) Try(Permuted(order));
    Exchanges();
    ExchangedPairs();
    return std::move(found_);
  }

  std::vector<Hypothesis> Layouts() {
    for (const AxisOrder& order : Orders()) {
      if (!KeepsSizes(order)) Try(ReadPermuted(order));
    }
    return std::move(found_);
  }

 private:
  int64_t NumberOf(const Dims& index) const { return OffsetOf({sizes_, strides_}, index); }

  SourceOf Places(PlaceVariation variation) const {
    return [sizes = sizes_, variation = std::move(variation)](const Dims& index) {
      return variation.SourceAt(sizes, index);
    };
  }

  Hypothesis From(std::string id, std::string text, SourceOf source) const {
    Hypothesis hypothesis{{std::move(id)}, std::move(text), nullptr, nullptr};
    hypothesis.compute = [self = shared_from_this(),
                          source = std::move(source)](std::span<const int64_t> elements) {
      std::vector<VariedElement> varied;
      for (const int64_t element : elements) {
        const int64_t from = source(IndexOf(self->sizes_, element));
        varied.push_back(from < 0 ? VariedElement()
                                  : VariedElement{self->evidence_.expected.Bytes(from), from});
      }
      return varied;
    };
    return hypothesis;
  }

  // Returns whether it has been added.
  bool Try(Hypothesis hypothesis) {
    if (!IsPromising(evidence_, hypothesis, few_)) return false;
    found_.push_back(std::move(hypothesis));
    return true;
  }

  // Likewise, if it is one of so many that chance may make one of them promising.
  bool TryOneOf(double changes, Hypothesis hypothesis) {
    if (!Try(std::move(hypothesis))) return false;
    const bool is_by_chance = IsByChance(found_.back(), changes);
    if (is_by_chance) found_.pop_back();
    return !is_by_chance;
  }

  // A device that forgets the operation writes an input's elements: in the same places or order,
  // or those that a larger input begins with.
  void Inputs() {
    const std::vector<TensorSlot> slots = TensorSlots(evidence_.computation.op, TensorRole::kInput);
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto view = AsOutput(evidence_.computation.inputs[i], evidence_.actual.type, sizes_);
      if (view) Try(FromInput(slots[i].path, *view));
    }
  }

  Hypothesis FromInput(const std::string& path, const ConstTensorView& view) const {
    Hypothesis hypothesis{
        {"from-input:" + path}, "elements of " + DisplayName(path), nullptr, nullptr};
    hypothesis.compute = [view, type = evidence_.actual.type](std::span<const int64_t> elements) {
      std::vector<VariedElement> varied;
      for (const int64_t element : elements) {
        varied.push_back({ElementAs(view, element, type), element});
      }
      return varied;
    };
    return hypothesis;
  }

  void Reversals() {
    for (size_t set = 1; set < size_t{1} << axes_.size(); ++set) {
      std::vector<size_t> reversed;
      for (size_t i = 0; i < axes_.size(); ++i) {
        if (set >> i & 1) reversed.push_back(axes_[i]);
      }
      const auto source = Places({PlaceKind::kReversed, {reversed.begin(), reversed.end()}});
      const std::string axes = fmt::format("{}", fmt::join(reversed, ","));
      const bool is_one = reversed.size() == 1;
      Try(From(is_one ? "reversed:axis=" + axes : "reversed:axes=[" + axes + "]",
               fmt::format("reversed along {} {}", is_one ? "axis" : "axes", axes), source));
    }
  }

  // Returns whether chance alone gives the few elements such values for one of so many changes.
  bool IsByChance(const Hypothesis& hypothesis, double changes) {
    const auto varied = hypothesis.compute(few_.wrong);
    double chance = changes;
    for (size_t i = 0; i < varied.size() && chance >= kByChance; ++i) {
      const int64_t element = few_.wrong[i];
      if (!varied[i].is_known() || !IsValueOf(element, varied[i].place)) continue;
      chance *= ShareOf(evidence_.actual.Bytes(element));
    }
    return chance >= kByChance;
  }

  // All elements are looked at once for each value of the few.
  double ShareOf(const ElementBytes& value) {
    const auto [share, is_new] = shares_.try_emplace(value, 0);
    if (is_new) share->second = ShareOfValue(evidence_, value);
    return share->second;
  }

  // Return the numbers of shifts that are tried, and of all.
  double CountOfTriedShifts() const {
    double count = std::pow(3, axes_.size());
    for (const size_t d : axes_) count += 2 * static_cast<double>(std::min(sizes_[d], kMostShift));
    return count;
  }
  double CountOfShifts() const {
    double count = 1;
    for (const size_t d : axes_) count *= 2 * static_cast<double>(sizes_[d]) - 1;
    return count;
  }

  void Shifts() {
    if (evidence_.wrong.size() == 1) return;  // one element has many others to be equal to
    size_t count = 0;
    double all = CountOfTriedShifts();
    const auto attempt = [&](const Dims& shift) {
      if (count == kMostOfAKind || !TryOneOf(all, Shifted(shift))) return;
      if (!HoldsElsewhere(shift)) {
        NameBlock(found_.back());
        shifts_of_blocks_.push_back(shift);
      }
      ++count;
    };
    for (const size_t d : axes_) {
      for (const int64_t distance : DistancesAlong(d)) attempt(Along(d, distance));
    }
    Diagonals(attempt);
    all = CountOfShifts();
    for (const Dims& shift : VotedShifts()) attempt(shift);
  }

  // The distances along an axis that may be promising, the shortest first.
  std::vector<int64_t> DistancesAlong(size_t axis) const {
    constexpr int64_t kGrain = 256;
    const int64_t count = 2 * (std::min(sizes_[axis], kMostShift) - 1);
    const auto distance = [](int64_t i) { return i % 2 == 0 ? -1 - i / 2 : 1 + i / 2; };
    std::vector<char> may_be(static_cast<size_t>(count));
    ParallelFor(count, kGrain, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        may_be[static_cast<size_t>(i)] = MayBeShifted(axis, distance(i));
      }
    });
    std::vector<int64_t> distances;
    for (int64_t i = 0; i < count; ++i) {
      if (may_be[static_cast<size_t>(i)]) distances.push_back(distance(i));
    }
    return distances;
  }

  bool MayBeShifted(size_t axis, int64_t distance) const {
    return MayBePromising(evidence_, few_.wrong, [&](int64_t element) -> std::optional<double> {
      const int64_t moved = element / strides_[axis] % sizes_[axis] + distance;
      if (moved < 0 || moved >= sizes_[axis]) return std::nullopt;
      return evidence_.expected.Value(element + distance * strides_[axis]);
    });
  }

  Dims Along(size_t axis, int64_t distance) const {
    Dims shift = Dims::Filled(sizes_.size(), 0);
    shift[axis] = distance;
    return shift;
  }

  // Shifts by one along several axes.
  template <typename Attempt>
  void Diagonals(const Attempt& attempt) const {
    const auto count = static_cast<int64_t>(std::pow(3, axes_.size()));
    for (int64_t code = 0; code < count; ++code) {
      Dims shift = Dims::Filled(sizes_.size(), 0);
      int64_t rest = code;
      int moved = 0;
      for (const size_t d : axes_) {
        shift[d] = rest % 3 - 1;
        rest /= 3;
        moved += shift[d] != 0;
      }
      if (moved > 1) attempt(shift);
    }
  }

  // Far shifts along several axes are too many to try them all. Those that are tried are the most
  // frequent distances of values from their places.
  std::vector<Dims> VotedShifts() {
    constexpr int kFewestVotes = 3;
    std::vector<std::pair<int, Dims>> voted;
    for (const auto& [distance, votes] : DistancesOfValues()) {
      for (size_t is_forward = 0; is_forward < 2; ++is_forward) {
        Dims shift(distance.begin(), distance.end());
        for (int64_t& along : shift) along = is_forward != 0 ? along : -along;
        const bool is_new = votes[is_forward] >= kFewestVotes && IsFarDiagonal(shift);
        if (is_new) voted.emplace_back(-votes[is_forward], shift);
      }
    }
    std::ranges::stable_sort(voted, {}, &std::pair<int, Dims>::first);
    if (voted.size() > kMostOfAKind) voted.resize(kMostOfAKind);
    std::vector<Dims> shifts;
    for (const auto& [votes, shift] : voted) shifts.push_back(shift);
    return shifts;
  }

  static bool IsFarDiagonal(const Dims& shift) {
    const auto moves = std::ranges::count_if(shift, [](int64_t along) { return along != 0; });
    return moves > 1 && std::ranges::any_of(shift, [](int64_t along) { return along * along > 1; });
  }

  // Elements outside of the box of wrong ones stay where they are. Those that are shifted in at an
  // edge are unknown.
  Hypothesis Shifted(const Dims& shift) const {
    const auto shifted = Places({PlaceKind::kShifted, {shift.begin(), shift.end()}});
    const auto source = [this, shifted](const Dims& index) {
      return IsIn(box_, index) ? shifted(index) : NumberOf(index);
    };
    const std::string text = fmt::format("[{}]", fmt::join(shift, ","));
    return From("shifted:" + text, "shifted by " + text, source);
  }

  // Returns whether right elements outside of the box are shifted, too.
  bool HoldsElsewhere(const Dims& shift) const {
    const auto shifted = Places({PlaceKind::kShifted, {shift.begin(), shift.end()}});
    return AreAll(evidence_.right, [&](int64_t element) {
      const Dims index = IndexOf(sizes_, element);
      const int64_t from = IsIn(box_, index) ? -1 : shifted(index);
      return from < 0 || IsValueOf(element, from);
    });
  }

  void NameBlock(Hypothesis& shift) const {
    const std::string block = BoxText(sizes_, box_);
    shift.ids.front() += ",block=" + block;
    shift.text += " in " + block;
  }

  std::vector<AxisOrder> Orders() const {
    constexpr size_t kMostAxes = 6;
    std::vector<AxisOrder> orders;
    for (std::vector<size_t>& order : OrdersOf(sizes_, kMostAxes)) {
      orders.push_back({std::move(order)});
    }
    std::ranges::move(SplitOrdersOf(evidence_.computation.op, sizes_), std::back_inserter(orders));
    return orders;
  }

  // If the sizes stay the same, it is written with other axes.
  bool KeepsSizes(const AxisOrder& order) const {
    const Dims sizes = order.split.Of(sizes_);
    return std::ranges::equal(order.axes, sizes, {}, [&](size_t d) { return sizes[d]; });
  }

  SourceOf PlacesIn(PlaceKind kind, const AxisOrder& order) const {
    return Places(
        {.kind = kind, .numbers = {order.axes.begin(), order.axes.end()}, .split = order.split});
  }

  // The k-th element in memory is the k-th of the output with its axes in this order.
  Hypothesis Permuted(const AxisOrder& order) const {
    return From("permuted:" + order.text(), "written with the axes in the order " + order.text(),
                PlacesIn(PlaceKind::kPermuted, order));
  }

  // The output is right, but read as if its axes were in this order in memory.
  Hypothesis ReadPermuted(const AxisOrder& order) const {
    const std::string name =
        TensorSlots(evidence_.computation.op, TensorRole::kOutput)[evidence_.output].path;
    return From(
        fmt::format("other-layout:{}={}", name, order.text()),
        fmt::format("{} read with its axes in the order {}", DisplayName(name), order.text()),
        PlacesIn(PlaceKind::kOtherLayout, order));
  }

  // The most frequent distance of values from their places is that of two blocks. Where values
  // repeat, this may be another one, but one of the blocks is shifted.
  void Exchanges() {
    std::set<std::vector<int64_t>> distances;
    const auto add = [&](const Dims& distance) {
      distances.emplace(distance.begin(), distance.end());
    };
    if (const auto most = MostFrequentDistance()) add(*most);
    for (const Dims& shift : shifts_of_blocks_) add(Forward(shift));
    const auto count = static_cast<double>(evidence_.wrong.size());
    for (const auto& numbers : distances) {
      const Dims distance(numbers.begin(), numbers.end());
      if (!TryOneOf(count * count, Exchanged(distance))) continue;
      const std::vector<int64_t> first = FirstBlock(distance);
      if (first.empty()) {
        found_.pop_back();
      } else {
        found_.back().ids.front() += ",block=" + BoxText(sizes_, StretchesOf(sizes_, first));
      }
    }
  }

  Hypothesis Exchanged(const Dims& distance) const {
    const std::string text = fmt::format("[{}]", fmt::join(distance, ","));
    const auto source = [this, distance](const Dims& index) { return PartnerOf(index, distance); };
    Hypothesis exchange =
        From("exchanged:" + text, "two blocks exchanged, " + text + " apart", source);
    exchange.enough = kEnoughOfSearched;
    return exchange;
  }

  // Among a few values, such as those of booleans, all distances are frequent, but there are few at
  // which all wrong elements are pairs. A block need not have a wrong element at its edge.
  void ExchangedPairs() {
    const auto are_exchanged = [this](int64_t element, int64_t other) {
      return IsValueOf(element, other) && IsValueOf(other, element);
    };
    for (const auto& [distance, first] : PairingsOf(sizes_, evidence_.wrong, are_exchanged)) {
      if (IsPairedByChance(first)) continue;
      PlaceVariation exchanged{PlaceKind::kExchanged, {distance.begin(), distance.end()}};
      exchanged.box = StretchesOf(sizes_, first);
      const std::string text = fmt::format("[{}]", fmt::join(distance, ","));
      Hypothesis exchange =
          From(fmt::format("exchanged:{},block={}", text, BoxText(sizes_, exchanged.box)),
               "two blocks exchanged, " + text + " apart", Places(exchanged));
      const bool is_new = std::ranges::find(found_, exchange.ids, &Hypothesis::ids) == found_.end();
      if (is_new) Try(std::move(exchange));
    }
  }

  // Each of the pairs but that which has the distance has it by this chance.
  bool IsPairedByChance(std::span<const int64_t> first) {
    double chance = static_cast<double>(evidence_.wrong.size());
    for (size_t i = 1; i < first.size() && chance >= kByChance; ++i) {
      chance *= ShareOf(evidence_.actual.Bytes(first[i]));
    }
    return chance >= kByChance;
  }

  // The first number that is not 0 is positive.
  static Dims Forward(Dims distance) {
    const auto* const first = std::ranges::find_if(distance, [](int64_t x) { return x != 0; });
    if (*first > 0) return distance;
    for (int64_t& along : distance) along = -along;
    return distance;
  }

  // The elements whose partners are behind them.
  std::vector<int64_t> FirstBlock(const Dims& distance) const {
    return Those(evidence_.wrong, [&](int64_t element) {
      const int64_t partner = AtDistance(IndexOf(sizes_, element), distance, 1);
      return partner >= 0 && IsValueOf(element, partner);
    });
  }

  // The element at the distance whose value is there; the element itself if it is right.
  int64_t PartnerOf(const Dims& index, const Dims& distance) const {
    const int64_t element = NumberOf(index);
    if (!IsWrong(element)) return element;
    for (const int64_t sign : {1, -1}) {
      const int64_t partner = AtDistance(index, distance, sign);
      if (partner >= 0 && IsValueOf(element, partner)) return partner;
    }
    return element;
  }

  // One that is wrong, too, or has the value of this one by rounding.
  int64_t AtDistance(Dims index, const Dims& distance, int64_t sign) const {
    const int64_t element = NumberOf(index);
    for (size_t d = 0; d < index.size(); ++d) {
      index[d] += sign * distance[d];
      if (index[d] < 0 || index[d] >= sizes_[d]) return -1;
    }
    const int64_t partner = NumberOf(index);
    return IsWrong(partner) || IsValueOf(partner, element) ? partner : -1;
  }

  bool IsWrong(int64_t element) const {
    return std::ranges::binary_search(evidence_.wrong, element);
  }

  bool IsValueOf(int64_t element, int64_t partner) const {
    return evidence_.actual.Bytes(element) == evidence_.expected.Bytes(partner) ||
           IsNoise(evidence_, evidence_.units ? &*evidence_.units : nullptr, partner,
                   evidence_.actual.Value(element), evidence_.expected.Value(partner));
  }

  // Both signs count, or it would be a shift.
  std::optional<Dims> MostFrequentDistance() {
    const auto least = [](const auto& vote) { return std::min(vote.second[0], vote.second[1]); };
    const auto& votes = DistancesOfValues();
    const auto most = std::ranges::max_element(votes, {}, least);
    if (most == votes.end() || least(*most) == 0) return std::nullopt;
    return Dims(most->first.begin(), most->first.end());
  }

  // Counts those of the few that have their value at a distance, before them and behind them. The
  // first number that is not 0 is positive.
  using Distances = std::map<std::vector<int64_t>, std::array<int, 2>>;
  const Distances& DistancesOfValues() {
    if (distances_) return *distances_;
    distances_.emplace();
    const std::vector<Valued> by_value = NearValues();
    for (const int64_t element : few_.wrong) {
      for (const auto& [value, partner] : NearIn(by_value, evidence_.actual.Value(element))) {
        if (partner == element || !IsValueOf(element, partner)) continue;
        const auto [distance, is_forward] = DistanceOf(element, partner);
        ++(*distances_)[distance][is_forward];
      }
    }
    return *distances_;
  }

  // A right value, and its element.
  using Valued = std::pair<double, int64_t>;
  static constexpr std::ptrdiff_t kNear = 64;  // values on either side of another

  // The wrong elements by their right values, without those that are far from what the few have.
  std::vector<Valued> NearValues() const {
    const std::vector<Stretched> near = Near();
    const std::vector<int64_t> elements = Those(evidence_.wrong, [&](int64_t element) {
      const double value = evidence_.expected.Value(element);
      const auto next = std::ranges::upper_bound(near, value, {}, &Stretched::first);
      return std::isfinite(value) && next != near.begin() && value <= std::prev(next)->second;
    });
    std::vector<Valued> all;
    for (const int64_t element : elements) {
      all.emplace_back(evidence_.expected.Value(element), element);
    }
    std::ranges::sort(all);
    return all;
  }

  // A stretch of values, up to the last one.
  using Stretched = std::pair<double, double>;

  // Tries values around what the few have, apart from one another. There are about as many as are
  // looked at later: a sample tells how far these lie.
  std::vector<Stretched> Near() const {
    constexpr size_t kLooked = 1 << 16;
    std::vector<double> some;
    for (const int64_t element : SampleOf(evidence_, kLooked).wrong) {
      some.push_back(evidence_.expected.Value(element));
    }
    std::erase_if(some, [](double value) { return !std::isfinite(value); });
    std::ranges::sort(some);
    std::vector<Stretched> all;
    for (const int64_t element : few_.wrong) {
      const double value = evidence_.actual.Value(element);
      if (std::isnan(value)) continue;
      const auto middle = std::ranges::lower_bound(some, value);
      all.emplace_back(middle - some.begin() < kNear ? -INFINITY : middle[-kNear],
                       some.end() - middle <= kNear ? INFINITY : middle[kNear]);
    }
    std::ranges::sort(all);
    std::vector<Stretched> apart;
    for (const Stretched& one : all) {
      if (apart.empty() || apart.back().second < one.first) {
        apart.push_back(one);
      } else {
        apart.back().second = std::max(apart.back().second, one.second);
      }
    }
    return apart;
  }

  static std::span<const Valued> NearIn(const std::vector<Valued>& by_value, double value) {
    const auto middle = std::ranges::lower_bound(by_value, value, {}, &Valued::first);
    const auto before = std::min(kNear, middle - by_value.begin());
    const auto behind = std::min(kNear, by_value.end() - middle);
    return {middle - before, middle + behind};
  }

  std::pair<std::vector<int64_t>, bool> DistanceOf(int64_t from, int64_t to) const {
    const Dims begin = IndexOf(sizes_, from);
    const Dims end = IndexOf(sizes_, to);
    Dims distance = end;
    for (size_t d = 0; d < begin.size(); ++d) distance[d] -= begin[d];
    const Dims forward = Forward(distance);
    return {{forward.begin(), forward.end()}, forward == distance};
  }

  const Evidence& evidence_;
  const SampledElements& few_;
  Dims sizes_;
  Dims strides_;
  std::vector<Stretch> box_;  // of the wrong elements
  std::vector<size_t> axes_;  // those with more than one coordinate
  std::vector<Hypothesis> found_;
  std::optional<Distances> distances_;
  std::vector<Dims> shifts_of_blocks_;     // that do not hold elsewhere
  std::map<ElementBytes, double> shares_;  // of all elements that have, or nearly have, a value
};

}  // namespace

std::vector<Hypothesis> PlaceChangesOf(const Evidence& evidence, const SampledElements& few) {
  return std::make_shared<PlaceSearch>(evidence, few)->All();
}

std::vector<Hypothesis> OutputLayoutsOf(const Evidence& evidence, const SampledElements& few) {
  return std::make_shared<PlaceSearch>(evidence, few)->Layouts();
}

}  // namespace dmlop
