// SPDX-License-Identifier: Apache-2.0
// Terms that are left out along an axis of an input. Where a part is missing, each element is off
// by the sum of its terms, so that the squares of what remains fall toward the right ends of the
// part from either side, and these are found by search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/engine/copy/copy_views.h"
#include "core/judge/input_change.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {
namespace {

// The coordinates of an axis that are left out.
struct Part {
  int64_t from;
  int64_t to;
  auto operator<=>(const Part&) const = default;
};

// The least region that has both.
Region Hull(const Region& a, const Region& b) {
  Region hull = a;
  for (size_t d = 0; d < a.begin.size(); ++d) {
    hull.begin[d] = std::min(a.begin[d], b.begin[d]);
    hull.sizes[d] = std::max(a.begin[d] + a.sizes[d], b.begin[d] + b.sizes[d]) - hull.begin[d];
  }
  return hull;
}

// The parts of inputs that an element of the output needs, by input.
std::map<size_t, Region> NeededBy(const Evidence& evidence, const std::vector<SourceMap>& sources,
                                  int64_t element) {
  std::map<size_t, Region> needed;
  for (const SourceMap& source : sources) {
    const auto part = source(evidence.At(element));
    if (!part) continue;
    const auto [place, is_new] = needed.emplace(part->tensor, *part);
    if (!is_new) place->second = Hull(place->second, *part);
  }
  return needed;
}

// The axes of inputs along which one of the elements needs all coordinates.
std::vector<TermAxis> ReducedAxesOf(const Evidence& evidence, const std::vector<int64_t>& some) {
  const std::vector<SourceMap> sources = SourcesOf(evidence.computation.op);
  std::set<TermAxis> axes;
  for (const int64_t element : some) {
    for (const auto& [input, region] : NeededBy(evidence, sources, element)) {
      const Dims& sizes = evidence.computation.inputs[input].layout.sizes;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] > 1 && region.sizes[d] == sizes[d]) axes.insert({input, d, sizes[d]});
      }
    }
  }
  return {axes.begin(), axes.end()};
}

std::string IdOf(const TermAxis& axis, const Part& part) {
  if (part.to == axis.size)
    return fmt::format("tail-missing:axis={},from={}", axis.axis, part.from);
  if (part.from == 0) return fmt::format("head-missing:axis={},to={}", axis.axis, part.to);
  return fmt::format("part-missing:axis={},from={},to={}", axis.axis, part.from, part.to);
}

// A computation without a part of an input's axis.
class Omission {
 public:
  Omission(const Evidence& evidence, const TermAxis& axis) : evidence_(evidence), axis_(axis) {}
  virtual ~Omission() = default;

  // Computes nothing if there is no such computation.
  virtual Hypothesis Without(const Part& part) const = 0;

  int64_t size() const { return axis_.size; }

 protected:
  std::string TextOf(const Part& part) const {
    const auto slots = TensorSlots(evidence_.computation.op, TensorRole::kInput);
    return fmt::format("{} to {} of the {} along axis {} of {} left out", part.from, part.to - 1,
                       axis_.size, axis_.axis, DisplayName(slots[axis_.input].path));
  }

  const Evidence& evidence_;
  TermAxis axis_;
};

// Another input takes the place of the one.
class OtherInput : public Omission {
 public:
  using Omission::Omission;

  Hypothesis Without(const Part& part) const override {
    auto changed = Changed(part);
    if (!changed) return {};
    return OfComputation(IdOf(axis_, part), TextOf(part), *std::move(changed), evidence_.output);
  }

 protected:
  virtual std::optional<Computation> Changed(const Part& part) const = 0;

  const Computation& original() const { return evidence_.computation; }
  const ConstTensorView& input() const { return original().inputs[axis_.input]; }
};

// The part is 0, as for sums whose terms were never added.
class Zeros : public OtherInput {
 public:
  using OtherInput::OtherInput;

 private:
  std::optional<Computation> Changed(const Part& part) const override {
    Computation changed = original();
    const TensorView copy = PackedCopy(input(), changed);
    const TensorView zeroed = copy.Slice(axis_.axis, part.from, part.to - part.from);
    static constexpr ElementBytes kZero{};
    const Move move{
        {kZero.data(), copy.type, {zeroed.layout.sizes, Dims::Filled(zeroed.layout.rank(), 0)}},
        zeroed};
    CopyAll({&move, 1});
    changed.inputs[axis_.input] = AsConst(copy);
    return changed;
  }
};

// The input is shorter, as for a mean of fewer terms or a maximum, with all inputs that have as
// many coordinates along such an axis, if it cannot be so alone.
class Shortened : public OtherInput {
 public:
  Shortened(const Evidence& evidence, const TermAxis& axis, std::vector<TermAxis> together)
      : OtherInput(evidence, axis), together_(std::move(together)) {}

 private:
  std::optional<Computation> Changed(const Part& part) const override {
    if (part.to - part.from == axis_.size) return std::nullopt;
    if (auto alone = Shorter(part, {&axis_, 1})) return alone;
    return together_.size() > 1 ? Shorter(part, together_) : std::nullopt;
  }

  std::optional<Computation> Shorter(const Part& part, std::span<const TermAxis> axes) const {
    Computation changed = original();
    const int64_t kept = axis_.size - (part.to - part.from);
    std::vector<TensorDesc*> inputs;
    for (const MutableTensorSlot& slot : TensorSlots(changed.op)) {
      if (slot.role() == TensorRole::kInput) inputs.push_back(slot.desc);
    }
    for (const auto& [input, axis, size] : axes) {
      (*inputs[input]->sizes)[axis] = static_cast<uint32_t>(kept);
      inputs[input]->strides.reset();
      inputs[input]->total_tensor_size_in_bytes = 0;
    }
    Diagnostics faults;
    Check(changed.op, kHighestFeatureLevel, faults);
    if (faults.has_errors()) return std::nullopt;
    for (const TermAxis& axis : axes) {
      changed.inputs[axis.input] = Joined(original().inputs[axis.input], axis, part, changed);
    }
    return changed;
  }

  static ConstTensorView Joined(const ConstTensorView& input, const TermAxis& axis,
                                const Part& part, Computation& owner) {
    const size_t d = axis.axis;
    const ConstTensorView second = input.Slice(d, part.to, axis.size - part.to);
    if (part.from == 0) return second;
    if (part.to == axis.size) return input.Slice(d, 0, part.from);
    const TensorView joined =
        PackedCopy(input.Slice(d, 0, axis.size - (part.to - part.from)), owner);
    const Move move{second, joined.Slice(d, part.from, second.layout.sizes[d])};
    CopyAll({&move, 1});
    return AsConst(joined);
  }

  std::vector<TermAxis> together_;
};

// The terms of sums that an element's formula has are left out.
class WithoutTerms : public Omission {
 public:
  WithoutTerms(const Evidence& evidence, const TermAxis& axis,
               std::shared_ptr<const OmittedTerms> terms, bool divides_by_all)
      : Omission(evidence, axis), terms_(std::move(terms)), divides_by_all_(divides_by_all) {}

  Hypothesis Without(const Part& part) const override {
    const std::string counted = divides_by_all_ ? ", but counted" : "";
    return {{IdOf(axis_, part)},
            TextOf(part) + counted,
            [terms = terms_, part, all = divides_by_all_](std::span<const int64_t> elements) {
              return terms->Without(part.from, part.to, all, elements);
            },
            nullptr,
            /*is_slow=*/true};
  }

 private:
  std::shared_ptr<const OmittedTerms> terms_;
  bool divides_by_all_;
};

// Finds the parts whose omission leaves least on a few elements.
class PartSearch {
 public:
  PartSearch(const Evidence& evidence, const Omission& omission, const std::vector<int64_t>& few)
      : evidence_(evidence), omission_(omission), few_(few), size_(omission.size()) {}

  // Returns the best ones, one of which leaves much less than the right computation does.
  std::vector<Part> Best() {
    std::vector<Part> parts = {Tail(), Head()};
    if (std::ranges::none_of(parts, [&](const Part& part) { return IsRight(part); })) {
      parts.push_back(Middle());
    }
    const double least = Rest(std::ranges::min(parts, {}, [&](const Part& p) { return Rest(p); }));
    std::erase_if(parts, [&](const Part& part) {
      return Rest(part) > 4 * least || Rest(part) > Rest({0, 0}) / 4;
    });
    return parts;
  }

  bool IsRight(const Part& part) { return Rest(part) <= Rest({0, 0}) / 1000; }

 private:
  static constexpr int64_t kPoints = 16;

  Part Tail() {
    return Best([&](int64_t from) { return Part{from, size_}; }, 1, size_ - 1);
  }
  Part Head() {
    return Best([&](int64_t to) { return Part{0, to}; }, 1, size_ - 1);
  }

  // Begins at the best row of blocks, and moves it and its ends in turn.
  Part Middle() {
    constexpr int kRounds = 3;
    Part part = BestRow();
    for (int round = 0; round < kRounds && !IsRight(part); ++round) {
      const Part before = part;
      part = Best([&](int64_t to) { return Part{part.from, to}; }, part.from + 1, size_);
      part = Best([&](int64_t from) { return Part{from, part.to}; }, 0, part.to - 1);
      const int64_t length = part.to - part.from;
      part = Best([&](int64_t from) { return Part{from, from + length}; }, 0, size_ - length);
      if (part == before) break;
    }
    return part;
  }

  // Where all terms have one sign, parts as long as the right one are good anywhere; so all rows
  // are looked at.
  Part BestRow() {
    constexpr int64_t kBlocks = 20;
    const int64_t blocks = std::min<int64_t>(size_, kBlocks);
    Part best{0, size_ / blocks};
    for (int64_t first = 0; first < blocks; ++first) {
      for (int64_t past = first + 1; past <= blocks; ++past) {
        const Part row{first * size_ / blocks, past * size_ / blocks};
        if (IsBetter(row, best)) best = row;
      }
    }
    return best;
  }

  // What maxima and minima do not depend on could belong to a part or not.
  bool IsBetter(const Part& a, const Part& b) {
    return std::tuple(Rest(a), a.to - a.from) < std::tuple(Rest(b), b.to - b.from);
  }

  // The sum of squares that is left without a part.
  double Rest(const Part& part) {
    const auto known = rests_.find(part);
    if (known != rests_.end()) return known->second;
    return rests_[part] = Computed(part);
  }

  double Computed(const Part& part) const {
    if (part.from == part.to) {
      return RestOf([&](size_t i) { return evidence_.expected.Value(few_[i]); });
    }
    const Hypothesis without = omission_.Without(part);
    if (!without.compute) return INFINITY;
    const std::vector<VariedElement> varied = without.compute(few_);
    return RestOf([&](size_t i) { return ValueOf(evidence_.actual.type, varied[i].bytes.data()); });
  }

  template <typename ValueAt>
  double RestOf(const ValueAt& value_at) const {
    double rest = 0;
    for (size_t i = 0; i < few_.size(); ++i) {
      const double error = evidence_.actual.Value(few_[i]) - value_at(i);
      rest += std::isfinite(error) ? error * error : 1e300;
    }
    return rest;
  }

  // Looks at points between the ends, then nearer to the best one.
  template <typename PartOf>
  Part Best(const PartOf& part_of, int64_t first, int64_t last) {
    int64_t best = first;
    while (true) {
      const int64_t step = std::max<int64_t>((last - first) / kPoints, 1);
      for (int64_t end = first; end <= last; end += step) {
        if (IsBetter(part_of(end), part_of(best))) best = end;
      }
      if (step == 1) return part_of(best);
      first = std::max(first, best - step);
      last = std::min(last, best + step);
    }
  }

  const Evidence& evidence_;
  const Omission& omission_;
  const std::vector<int64_t>& few_;
  int64_t size_;
  std::map<Part, double> rests_;
};

// Tries omissions until one is right.
class OmissionList {
 public:
  OmissionList(const Evidence& evidence, const Sample& few, std::vector<Hypothesis>& found)
      : evidence_(evidence),
        few_(few),
        some_(SampleOf(evidence, kSearched).all()),
        axes_(ReducedAxesOf(evidence, few.wrong)),
        found_(found) {}

  void Find() { FindAlongAxes() || FindInFormulas(); }

 private:
  static constexpr size_t kSearched = 12;

  bool FindAlongAxes() {
    for (const TermAxis& axis : axes_) {
      std::vector<TermAxis> together = axes_;
      std::erase_if(together, [&](const TermAxis& other) { return other.size != axis.size; });
      if (Search(Zeros(evidence_, axis)) || Search(Shortened(evidence_, axis, together))) {
        return true;
      }
    }
    return false;
  }

  // Where sums are of products of inputs, zeros do the same.
  bool FindInFormulas() {
    const bool is_linear = evidence_.units && evidence_.units->bound == ErrorUnits::Bound::kProved;
    for (const TermAxis& axis : TermAxes()) {
      if (is_linear && std::ranges::find(axes_, axis) != axes_.end()) continue;
      const auto terms = std::make_shared<const OmittedTerms>(evidence_, axis, some_);
      for (const bool divides_by_all : {false, true}) {
        if (Search(WithoutTerms(evidence_, axis, terms, divides_by_all))) return true;
      }
    }
    return false;
  }

  std::set<TermAxis> TermAxes() const {
    std::set<TermAxis> all;
    for (const int64_t element : SampleOf(evidence_, 4).wrong) {
      const auto axes = TermAxesOf(evidence_.computation, evidence_.At(element));
      all.insert(axes.begin(), axes.end());
    }
    return all;
  }

  bool Search(const Omission& omission) {
    if (omission.size() < 2 || !omission.Without({0, 1}).compute) return false;
    PartSearch search(evidence_, omission, some_);
    bool is_right = false;
    for (const Part& part : search.Best()) {
      Hypothesis hypothesis = omission.Without(part);
      if (!hypothesis.compute || !IsPromising(evidence_, hypothesis, few_)) continue;
      is_right |= search.IsRight(part);
      found_.push_back(std::move(hypothesis));
    }
    return is_right;
  }

  const Evidence& evidence_;
  const Sample& few_;
  std::vector<int64_t> some_;
  std::vector<TermAxis> axes_;
  std::vector<Hypothesis>& found_;
};

}  // namespace

std::vector<Hypothesis> MissingPartsOf(const Evidence& evidence, const Sample& few) {
  std::vector<Hypothesis> found = NewBeginningsOf(evidence, few);
  OmissionList(evidence, few, found).Find();
  return found;
}

}  // namespace dmlop
