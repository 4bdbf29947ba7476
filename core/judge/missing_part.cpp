// SPDX-License-Identifier: Apache-2.0
// Terms that are left out along an axis of an input. Where a part is missing, each element is off
// by the sum of its terms, so that the squares of what remains fall toward the right ends of the
// part from either side, and these are found by search. In sums of products, they are looked up.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/arithmetic/element_formula.h"
#include "core/base/parallel.h"
#include "core/judge/axis_sums.h"
#include "core/judge/evidence.h"
#include "core/judge/omission.h"
#include "core/judge/omitted_terms.h"
#include "core/judge/place_variation.h"
#include "core/ops/fused.h"

namespace dmlop {
namespace {

// Finds the parts whose omission leaves least on a few elements. Where each takes much work, only
// some of each kind are tried.
class PartSearch {
 public:
  PartSearch(const Evidence& evidence, const Omission& omission, const std::vector<int64_t>& few)
      : evidence_(evidence),
        omission_(omission),
        few_(few),
        size_(omission.size()),
        work_(std::max<int64_t>(omission.WorkOfFew(few.size()), 1)),
        tries_(kMostTried / work_) {}

  bool HasTries() const { return tries_ >= kFewestTries; }

  // Returns the best ones, one of which leaves much less than the right computation does. Those in
  // the middle take longer.
  enum class Reach { kEnds, kAnywhere };
  std::vector<AxisPart> Best(Reach reach) {
    std::vector<AxisPart> parts = {Tail(), Head()};
    if (!IsAnyRight(parts)) {
      tries_left_ = tries_;
      for (const AxisPart& part : omission_.Known()) parts.push_back(part);
    }
    const bool is_anywhere = reach == Reach::kAnywhere;
    if (is_anywhere && !IsAnyRight(parts) && !omission_.IsLookedUp()) parts.push_back(OneAlone());
    if (is_anywhere && !IsAnyRight(parts)) parts.push_back(Middle());
    const double least =
        Rest(std::ranges::min(parts, {}, [&](const AxisPart& p) { return Rest(p); }));
    std::erase_if(parts, [&](const AxisPart& part) {
      return Rest(part) > 4 * least || Rest(part) > Rest({0, 0}) / 4;
    });
    return parts;
  }

  bool IsRight(const AxisPart& part) { return Rest(part) <= Rest({0, 0}) / 1000; }

  // The work of all parts that were tried.
  int64_t Work() const { return std::ssize(rests_) * work_ + other_work_; }

 private:
  static constexpr int64_t kPoints = 16;
  static constexpr int64_t kMostTried = 6'000'000;
  static constexpr int64_t kFewestTries = 2 * kPoints;  // that end anywhere
  static constexpr int64_t kFewTries = 512;

  bool IsAnyRight(const std::vector<AxisPart>& parts) {
    return std::ranges::any_of(parts, [&](const AxisPart& part) { return IsRight(part); });
  }

  // Returns whether there are too few tries to go on where the first ones do not come nearer: of
  // parts that overlap with the right one, one at least leaves much less than it does.
  bool IsHopeless(const AxisPart& best) {
    constexpr double kNearer = 0.99;
    return tries_ < kFewTries && Rest(best) > kNearer * Rest({0, 0});
  }

  AxisPart Tail() {
    tries_left_ = tries_;
    return Best([&](int64_t from) { return AxisPart{from, size_}; }, 1, size_ - 1);
  }
  AxisPart Head() {
    tries_left_ = tries_;
    return Best([&](int64_t to) { return AxisPart{0, to}; }, 1, size_ - 1);
  }

  // The coordinate without which least is left. A few elements tell which are looked at closely.
  AxisPart OneAlone() {
    constexpr size_t kFewest = 2, kClosely = 4;
    std::vector<int64_t> fewest = few_;
    fewest.resize(std::min(fewest.size(), kFewest));
    tries_left_ = tries_;
    const int64_t each = std::max<int64_t>(omission_.WorkOfFew(fewest.size()), 1);
    std::vector<std::pair<double, AxisPart>> rests;
    for (int64_t at = 0; at < size_; ++at) rests.push_back({INFINITY, {at, at + 1}});
    if (each * size_ > kMostTried) return rests[0].second;
    other_work_ += each * size_;
    ParallelFor(size_, 1, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        auto& [rest, part] = rests[static_cast<size_t>(i)];
        rest = RestOf(fewest, omission_.ValuesWithout(part, fewest));
      }
    });
    std::ranges::sort(rests);
    rests.resize(std::min(rests.size(), kClosely));
    return std::ranges::min(rests, {}, [&](const auto& one) { return Rest(one.second); }).second;
  }

  // Begins at the best row of blocks, and moves it and its ends in turn.
  AxisPart Middle() {
    constexpr int kRounds = 3;
    tries_left_ = tries_;
    AxisPart part = BestRow();
    if (IsHopeless(part)) return part;
    for (int round = 0; round < kRounds && !IsRight(part) && tries_left_ > 0; ++round) {
      const AxisPart before = part;
      part = Best([&](int64_t to) { return AxisPart{part.from, to}; }, part.from + 1, size_);
      part = Best([&](int64_t from) { return AxisPart{from, part.to}; }, 0, part.to - 1);
      const int64_t length = part.to - part.from;
      part = Best([&](int64_t from) { return AxisPart{from, from + length}; }, 0, size_ - length);
      if (part == before) break;
    }
    return part;
  }

  // If all terms have one sign, parts as long as the right one fit anywhere; so all rows are tried,
  // of as many blocks as leave half of the tries for the ends.
  AxisPart BestRow() {
    constexpr int64_t kMostBlocks = 20;
    int64_t blocks = std::min<int64_t>(size_, kMostBlocks);
    while (blocks > 2 && blocks * (blocks + 1) > tries_left_) --blocks;
    AxisPart best{0, size_ / blocks};
    for (int64_t length = 1; length <= blocks; ++length) {
      std::vector<AxisPart> rows;
      for (int64_t first = 0; first + length <= blocks; ++first) {
        rows.push_back({first * size_ / blocks, (first + length) * size_ / blocks});
      }
      Try(rows);
      for (const AxisPart& row : rows) {
        if (IsBetter(row, best)) best = row;
      }
      if (IsHopeless(best)) break;
    }
    return best;
  }

  // The shortest of parts with the same rest is taken: elements that maxima and minima do not
  // depend on could belong to a part or not.
  bool IsBetter(const AxisPart& a, const AxisPart& b) {
    return std::tuple(Rest(a), a.to - a.from) < std::tuple(Rest(b), b.to - b.from);
  }

  // The sum of squares that is left without a part.
  double Rest(const AxisPart& part) {
    Try({&part, 1});
    return rests_.at(part);
  }

  // Computes the rests of those parts that have none yet, side by side, as far as tries are left.
  void Try(std::span<const AxisPart> parts) {
    std::vector<AxisPart> tried;
    for (const AxisPart& part : parts) {
      const bool is_new = rests_.emplace(part, INFINITY).second;
      if (!is_new || (part.from != part.to && tries_left_ <= 0)) continue;
      --tries_left_;
      tried.push_back(part);
    }
    std::vector<double> rests(tried.size());
    ParallelFor(std::ssize(tried), 1, 0, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        rests[i] = Computed(tried[i]);
      }
    });
    for (size_t i = 0; i < tried.size(); ++i) rests_[tried[i]] = rests[i];
  }

  double Computed(const AxisPart& part) const {
    if (part.from != part.to) return RestOf(few_, omission_.ValuesWithout(part, few_));
    std::vector<double> expected;
    for (const int64_t element : few_) expected.push_back(evidence_.expected.Value(element));
    return RestOf(few_, expected);
  }

  double RestOf(const std::vector<int64_t>& elements, const std::vector<double>& values) const {
    if (values.empty()) return INFINITY;
    double rest = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      const double error = evidence_.actual.Value(elements[i]) - values[i];
      rest += std::isfinite(error) ? error * error : 1e300;
    }
    return rest;
  }

  // Looks at points between the ends, then nearer to the best one.
  template <typename PartOf>
  AxisPart Best(const PartOf& part_of, int64_t first, int64_t last) {
    int64_t best = first;
    while (true) {
      const int64_t step = std::max<int64_t>((last - first) / kPoints, 1);
      std::vector<int64_t> ends = {last};
      for (int64_t end = first; end < last; end += step) ends.push_back(end);
      std::vector<AxisPart> points;
      for (const int64_t end : ends) points.push_back(part_of(end));
      Try(points);
      for (const int64_t end : ends) {
        if (IsBetter(part_of(end), part_of(best))) best = end;
      }
      if (step == 1 || IsHopeless(part_of(best))) return part_of(best);
      first = std::max(first, best - step);
      last = std::min(last, best + step);
    }
  }

  const Evidence& evidence_;
  const Omission& omission_;
  const std::vector<int64_t>& few_;
  int64_t size_;
  int64_t work_;   // of a try
  int64_t tries_;  // for each kind of part
  int64_t tries_left_ = 0;
  int64_t other_work_ = 0;
  std::map<AxisPart, double> rests_;
};

// Tries omissions until one is right.
class OmissionList {
 public:
  OmissionList(const Evidence& evidence, const SampledElements& few, std::vector<Hypothesis>& found)
      : evidence_(evidence),
        few_(few),
        some_(SampleOf(evidence, MostSearched(evidence)).all()),
        axes_(ReducedAxesOf(evidence.computation, evidence.output, few.wrong)),
        activation_(evidence.output == 0 ? FusedAlone(evidence.computation.op) : std::nullopt),
        found_(found) {}

  void Find() {
    if (HasTerms()) FindEnds() || FindAlongAxes() || FindInFormulas();
  }

 private:
  static constexpr size_t kSearched = 12;
  // Parts that take much work are searched for along few axes, in inputs and in formulas.
  static constexpr int64_t kMostWork = 12'000'000;

  // Fewer of long formulas, which tell parts apart better.
  static size_t MostSearched(const Evidence& evidence) {
    constexpr int64_t kFormulas = int64_t{1} << 14;
    constexpr int64_t kFewest = 2;
    return static_cast<size_t>(std::clamp(kFormulas / std::max<int64_t>(evidence.formula_work, 1),
                                          kFewest, int64_t{kSearched}));
  }

  // An element that indices choose, which are another input, is made of no terms, unless its
  // formula has some: a shorter input would be read at other places.
  bool HasTerms() const {
    const auto& [op, inputs, storage, sources] = evidence_.computation;
    if (!op.info().reads_by_index || inputs.size() == 1 || few_.wrong.empty()) return true;
    const Region element = evidence_.At(few_.wrong.front());
    const auto formula = ElementFormula::Of(op, inputs, element, Formula::kAbridged);
    return formula != nullptr && !formula->lists().empty();
  }

  // Elements that have no units are chosen, not computed.
  bool FindEnds() {
    constexpr int64_t kLong = int64_t{1} << 23;
    const bool is_chosen = !evidence_.units || evidence_.units->bound == ErrorUnits::Bound::kExact;
    if (!is_chosen || WorkOf(evidence_.computation.op) > kLong) return false;
    for (const TermAxis& axis : axes_) {
      const auto shorter = OmissionInInput(evidence_, axis, &axes_);
      if (axis.size < 2 || !shorter->Without({axis.size - 1, axis.size}).compute) continue;
      const auto part = PartBehindEnd(evidence_, *shorter);
      if (!part) continue;
      Hypothesis hypothesis = shorter->Without(*part);
      if (!IsPromising(evidence_, hypothesis, few_)) continue;
      Add(std::move(hypothesis), axis.input);
      return true;
    }
    return false;
  }

  // The id names the input where it would mean another one.
  void Add(Hypothesis hypothesis, size_t input) {
    const Computation& computation = evidence_.computation;
    std::string& id = hypothesis.ids.front();
    if (ParsePlace(id)->InputOf(computation, evidence_.output) != input) {
      id += ",of=" + TensorSlots(computation.op, TensorRole::kInput)[input].path;
    }
    const auto is_same = [&](const Hypothesis& one) { return one.ids == hypothesis.ids; };
    if (std::ranges::none_of(found_, is_same)) found_.push_back(std::move(hypothesis));
  }

  bool FindAlongAxes() {
    const std::vector<int64_t> passed =
        IsLinear() || activation_ ? PassedByActivation() : std::vector<int64_t>();
    const LinearElements linear(evidence_, passed);
    are_means_ = linear.HasMeans();
    for (const TermAxis& axis : axes_) {
      if (HasOwnElement(axis.input)) continue;  // which would be another one, too
      const auto sums = linear.Along(axis);
      if (sums ? Search(*OmissionInSums(evidence_, axis, sums), passed)
               : Search(*OmissionInInput(evidence_, axis, nullptr), some_)) {
        return true;
      }
      const bool may_be_shorter = !sums || are_means_;
      if (may_be_shorter && Search(*OmissionInInput(evidence_, axis, &axes_), some_)) return true;
    }
    return false;
  }

  bool IsLinear() const {
    return evidence_.units && evidence_.units->bound == ErrorUnits::Bound::kProved;
  }

  // The elements by which parts are looked up: of what is activated, wrong ones that are as they
  // were before, such as those above 0 of a RELU. Others do not tell what the sum was.
  std::vector<int64_t> PassedByActivation() const {
    constexpr size_t kTried = 64;
    if (!activation_) return some_;
    const PackedOutput& actual = evidence_.actual;
    std::vector<int64_t> passed;
    for (const int64_t element : SampleOf(evidence_, kTried).wrong) {
      ElementBytes after{};
      const Layout one = PackedLayout({1, 1, 1, 1});
      RunActivation(*activation_, {actual.at(element), actual.type, one},
                    {after.data(), actual.type, one});
      const bool is_passed = after == actual.Bytes(element) && actual.Value(element) != 0;
      if (is_passed && passed.size() < kSearched) passed.push_back(element);
    }
    return passed;
  }

  // In sums of products of inputs, a part of zeros has the same effect as a missing one, unless
  // they are divided or the like by an element of the same input.
  // Ends are looked for along all axes before parts in the middle are, one of which fits a few
  // elements by chance where only the last sums lack it.
  bool FindInFormulas() {
    work_ = 0;
    const std::vector<int64_t> passed = PassedByActivation();
    constexpr size_t kFewestOfLast = 3;
    std::vector<TermSearch> left;
    for (const TermAxis& axis : TermAxes()) {
      if (IsTried(axis) && !HasOwnElement(axis.input)) continue;
      const auto terms = std::make_shared<const OmittedTerms>(evidence_, axis, some_);
      const auto sums = SumsOfDevice(evidence_, axis, passed);
      const std::vector<OmissionKind> kinds = terms->Kinds();
      const bool has_means = std::ranges::any_of(kinds, &OmissionKind::is_counted);
      for (const OmissionKind& kind : kinds) {
        if (kind.is_last && evidence_.wrong.size() < kFewestOfLast) continue;
        auto without = OmissionOfTerms(evidence_, axis, terms, kind,
                                       kind.is_counted || !has_means ? sums : nullptr);
        PartSearch search(evidence_, *without, some_);
        if (!IsSearchable(*without, search)) continue;
        if (FindPart(*without, search, PartSearch::Reach::kEnds)) return true;
        if (!kind.is_last) left.push_back({std::move(without), std::move(search)});
      }
    }
    return std::ranges::any_of(left, [&](TermSearch& one) {
      return FindPart(*one.omission, one.search, PartSearch::Reach::kAnywhere);
    });
  }

  struct TermSearch {
    std::unique_ptr<Omission> omission;
    PartSearch search;
  };

  // A mean of fewer terms is that of a shorter input, unless other tensors are as long as it is.
  bool IsTried(const TermAxis& axis) const {
    if (!IsLinear() || std::ranges::find(axes_, axis) == axes_.end()) return false;
    return !are_means_ || OmissionInInput(evidence_, axis, &axes_)->Without({0, 1}).compute;
  }

  // Returns whether an element is made of one sum and of an element of an input besides its terms.
  bool HasOwnElement(size_t input) const {
    const auto& [op, inputs, storage, sources] = evidence_.computation;
    const auto element =
        ElementFormula::Of(op, inputs, evidence_.At(few_.wrong.front()), Formula::kAbridged);
    if (!element) return false;
    const Formula& formula = element->formula();
    const std::vector<FormulaNode> lists = element->lists();
    if (lists.size() != 1) return false;
    const auto is_own = [&](FormulaNode node) {
      return formula.operation(node) == FormulaOperation::kElement && formula.tensor(node) == input;
    };
    const std::vector<FormulaNode> depending = element->DependingOn(lists);
    return std::ranges::any_of(depending, [&](FormulaNode node) {
      return std::ranges::find(lists, node) == lists.end() &&
             std::ranges::any_of(formula.operands(node), is_own);
    });
  }

  // None where most formulas are too long, even if those of some elements are not.
  std::set<TermAxis> TermAxes() const {
    constexpr int64_t kTooLong = int64_t{1} << 16;
    std::set<TermAxis> all;
    if (evidence_.formula_work > kTooLong) return all;
    for (const int64_t element : SampleOf(evidence_, 4).wrong) {
      const auto axes = TermAxesOf(evidence_.computation, evidence_.At(element));
      all.insert(axes.begin(), axes.end());
    }
    return all;
  }

  bool Search(const Omission& omission, const std::vector<int64_t>& elements) {
    PartSearch search(evidence_, omission, elements);
    return IsSearchable(omission, search) &&
           FindPart(omission, search, PartSearch::Reach::kAnywhere);
  }

  bool IsSearchable(const Omission& omission, const PartSearch& search) const {
    if (work_ > kMostWork || omission.size() < 2 || !search.HasTries()) return false;
    if (!omission.Without({0, 1}).compute) return false;
    return omission.IsLookedUp() || !IsRefuted(omission);
  }

  bool FindPart(const Omission& omission, PartSearch& search, PartSearch::Reach reach) {
    if (work_ > kMostWork) return false;
    work_ -= search.Work();
    bool is_right = false;
    for (const AxisPart& part : search.Best(reach)) {
      Hypothesis hypothesis = omission.Without(part);
      if (!hypothesis.compute || !IsPromising(evidence_, hypothesis, few_)) continue;
      is_right |= search.IsRight(part) && ExplainsMany(hypothesis);
      Add(std::move(hypothesis), omission.input());
    }
    work_ += search.Work();
    return is_right;
  }

  // A hypothesis that leaves little need not be right: a mean near 0 is so without some terms, too.
  // If only equality is right, the elements that a part was searched by may be so by chance.
  bool ExplainsMany(const Hypothesis& hypothesis) const {
    constexpr size_t kMany = 256;
    const SampledElements many = evidence_.units ? few_ : SampleOf(evidence_, kMany);
    return ScoreOf(evidence_, hypothesis, many, ScoreAccuracy::kQuick).share() >= hypothesis.enough;
  }

  // If each of some coordinates matters to right elements, so most probably does any part. What is
  // looked up needs no such guess. Fewer right elements than wrong ones refute nothing.
  bool IsRefuted(const Omission& omission) const {
    constexpr int64_t kFewest = 3, kMost = 16, kMostTried = 500'000;
    if (evidence_.right.size() < evidence_.wrong.size()) return false;
    const std::vector<int64_t> right = SampleOf(evidence_, kSearched).right;
    const int64_t work = std::max<int64_t>(omission.WorkOf(right.size()), 1);
    const int64_t tried = std::min(omission.size(), std::clamp(kMostTried / work, kFewest, kMost));
    for (int64_t i = 0; i < tried; ++i) {
      const int64_t at = i * (omission.size() - 1) / (tried - 1);
      if (!Breaks(omission.Without({at, at + 1}), right)) return false;
    }
    return true;
  }

  // Returns whether as many right elements would be wrong as are so.
  bool Breaks(const Hypothesis& hypothesis, const std::vector<int64_t>& right) const {
    if (!hypothesis.compute || right.empty()) return false;
    const ErrorUnits* const units = evidence_.units ? &*evidence_.units : nullptr;
    const std::vector<VariedElement> varied = hypothesis.compute(right);
    int64_t broken = 0;
    for (size_t i = 0; i < right.size(); ++i) {
      broken += !IsNoise(evidence_, units, right[i], evidence_.actual.Value(right[i]),
                         ValueOf(evidence_.actual.type, varied[i].bytes.data()));
    }
    return broken * std::ssize(evidence_.right) >= std::ssize(right) * std::ssize(evidence_.wrong);
  }

  const Evidence& evidence_;
  const SampledElements& few_;
  std::vector<int64_t> some_;
  std::vector<TermAxis> axes_;
  std::optional<OperatorDesc> activation_;
  std::vector<Hypothesis>& found_;
  int64_t work_ = 0;  // of the searches in inputs, or in formulas, so far
  bool are_means_ = false;
};

}  // namespace

std::vector<Hypothesis> MissingPartsOf(const Evidence& evidence, const SampledElements& few) {
  std::vector<Hypothesis> found;
  if (!IsNetwork(evidence.computation.op)) found = NewBeginningsOf(evidence, few);
  const bool is_right = std::ranges::any_of(found, [&](const Hypothesis& one) {
    const Score score = ScoreOf(evidence, one, few);
    return score.explained == score.of && score.broken == 0;
  });
  if (!is_right) OmissionList(evidence, few, found).Find();
  return found;
}

}  // namespace dmlop
