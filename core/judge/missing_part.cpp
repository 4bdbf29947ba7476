// SPDX-License-Identifier: Apache-2.0
// Terms that are left out along an axis of an input. Where a part is missing, each element is off
// by the sum of its terms, so that the squares of what remains fall toward the right ends of the
// part from either side, and these are found by search. In sums of products, they are looked up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/judge/axis_sums.h"
#include "core/judge/evidence.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {
namespace {

// `how` says how the terms are left out.
std::string IdOf(const TermAxis& axis, const AxisPart& part, std::string_view how) {
  const bool has_end = part.to != axis.size;
  const char* name = !has_end ? "tail" : part.from == 0 ? "head" : "part";
  std::string id = fmt::format("{}-missing:axis={}", name, axis.axis);
  if (part.from > 0) id += fmt::format(",from={}", part.from);
  if (has_end) id += fmt::format(",to={}", part.to);
  return id + std::string(how);
}

// A computation without a part of an input's axis.
class Omission {
 public:
  Omission(const Evidence& evidence, const TermAxis& axis) : evidence_(evidence), axis_(axis) {}
  virtual ~Omission() = default;

  // Computes nothing if there is no such computation.
  virtual Hypothesis Without(const AxisPart& part) const = 0;

  // The few elements, by which parts are found; empty if there is no such computation.
  virtual std::vector<double> ValuesWithout(const AxisPart& part,
                                            const std::vector<int64_t>& few) const {
    const Hypothesis without = Without(part);
    std::vector<double> values;
    if (!without.compute) return values;
    for (const VariedElement& varied : without.compute(few)) {
      values.push_back(ValueOf(evidence_.actual.type, varied.bytes.data()));
    }
    return values;
  }

  // Parts that need not be searched for.
  virtual std::vector<AxisPart> Known() const { return {}; }
  virtual bool IsLookedUp() const { return false; }

  int64_t size() const { return axis_.size; }

 protected:
  std::string TextOf(const AxisPart& part) const {
    const auto slots = TensorSlots(evidence_.computation.op, TensorRole::kInput);
    return fmt::format("{} to {} of the {} along axis {} of {} left out", part.from, part.to - 1,
                       axis_.size, axis_.axis, DisplayName(slots[axis_.input].path));
  }

  const Evidence& evidence_;
  TermAxis axis_;
};

// Another input takes the place of the one: its part is 0, or it is shorter.
class OtherInput : public Omission {
 public:
  // `all` are the axes of inputs that may be shorter together; null for zeros.
  OtherInput(const Evidence& evidence, const TermAxis& axis, const std::vector<TermAxis>* all)
      : Omission(evidence, axis), all_(all) {}

  Hypothesis Without(const AxisPart& part) const override {
    const Computation& original = evidence_.computation;
    auto changed = all_ == nullptr ? WithZeros(original, axis_, part)
                                   : dmlop::Without(original, axis_, *all_, part);
    if (!changed) return {};
    return OfComputation(IdOf(axis_, part, all_ == nullptr ? "" : ",shorter"), TextOf(part),
                         *std::move(changed), evidence_.output);
  }

 private:
  const std::vector<TermAxis>* all_;
};

// Zeros in sums of products.
class ZerosInSums : public OtherInput {
 public:
  ZerosInSums(const Evidence& evidence, const TermAxis& axis, std::shared_ptr<const AxisSums> sums)
      : OtherInput(evidence, axis, nullptr), sums_(std::move(sums)) {}

  std::vector<double> ValuesWithout(const AxisPart& part,
                                    const std::vector<int64_t>&) const override {
    return sums_->Without(part);
  }

  std::vector<AxisPart> Known() const override { return sums_->Fitting(); }
  bool IsLookedUp() const override { return true; }

 private:
  std::shared_ptr<const AxisSums> sums_;
};

// The terms of sums that an element's formula has are left out.
class WithoutTerms : public Omission {
 public:
  WithoutTerms(const Evidence& evidence, const TermAxis& axis,
               std::shared_ptr<const OmittedTerms> terms, bool divides_by_all)
      : Omission(evidence, axis), terms_(std::move(terms)), divides_by_all_(divides_by_all) {}

  Hypothesis Without(const AxisPart& part) const override {
    const std::string counted = divides_by_all_ ? ", but counted" : "";
    return {{IdOf(axis_, part, divides_by_all_ ? ",terms,counted" : ",terms")},
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
  std::vector<AxisPart> Best() {
    std::vector<AxisPart> parts = {Tail(), Head()};
    if (!IsAnyRight(parts)) {
      for (const AxisPart& part : omission_.Known()) parts.push_back(part);
    }
    if (!IsAnyRight(parts)) parts.push_back(Middle());
    const double least =
        Rest(std::ranges::min(parts, {}, [&](const AxisPart& p) { return Rest(p); }));
    std::erase_if(parts, [&](const AxisPart& part) {
      return Rest(part) > 4 * least || Rest(part) > Rest({0, 0}) / 4;
    });
    return parts;
  }

  bool IsRight(const AxisPart& part) { return Rest(part) <= Rest({0, 0}) / 1000; }

 private:
  static constexpr int64_t kPoints = 16;

  bool IsAnyRight(const std::vector<AxisPart>& parts) {
    return std::ranges::any_of(parts, [&](const AxisPart& part) { return IsRight(part); });
  }

  AxisPart Tail() {
    return Best([&](int64_t from) { return AxisPart{from, size_}; }, 1, size_ - 1);
  }
  AxisPart Head() {
    return Best([&](int64_t to) { return AxisPart{0, to}; }, 1, size_ - 1);
  }

  // Begins at the best row of blocks, and moves it and its ends in turn.
  AxisPart Middle() {
    constexpr int kRounds = 3;
    AxisPart part = BestRow();
    for (int round = 0; round < kRounds && !IsRight(part); ++round) {
      const AxisPart before = part;
      part = Best([&](int64_t to) { return AxisPart{part.from, to}; }, part.from + 1, size_);
      part = Best([&](int64_t from) { return AxisPart{from, part.to}; }, 0, part.to - 1);
      const int64_t length = part.to - part.from;
      part = Best([&](int64_t from) { return AxisPart{from, from + length}; }, 0, size_ - length);
      if (part == before) break;
    }
    return part;
  }

  // If all terms have one sign, parts as long as the right one fit anywhere; so all rows are tried.
  AxisPart BestRow() {
    constexpr int64_t kBlocks = 20;
    const int64_t blocks = std::min<int64_t>(size_, kBlocks);
    AxisPart best{0, size_ / blocks};
    for (int64_t first = 0; first < blocks; ++first) {
      for (int64_t past = first + 1; past <= blocks; ++past) {
        const AxisPart row{first * size_ / blocks, past * size_ / blocks};
        if (IsBetter(row, best)) best = row;
      }
    }
    return best;
  }

  // Of parts with the same rest, the shortest is taken: elements that maxima and minima do not
  // depend on could belong to a part or not.
  bool IsBetter(const AxisPart& a, const AxisPart& b) {
    return std::tuple(Rest(a), a.to - a.from) < std::tuple(Rest(b), b.to - b.from);
  }

  // The sum of squares that is left without a part.
  double Rest(const AxisPart& part) {
    const auto known = rests_.find(part);
    if (known != rests_.end()) return known->second;
    return rests_[part] = Computed(part);
  }

  double Computed(const AxisPart& part) const {
    if (part.from == part.to) {
      return RestOf([&](size_t i) { return evidence_.expected.Value(few_[i]); });
    }
    const std::vector<double> values = omission_.ValuesWithout(part, few_);
    return values.empty() ? INFINITY : RestOf([&](size_t i) { return values[i]; });
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
  AxisPart Best(const PartOf& part_of, int64_t first, int64_t last) {
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
  std::map<AxisPart, double> rests_;
};

// Tries omissions until one is right.
class OmissionList {
 public:
  OmissionList(const Evidence& evidence, const SampledElements& few, std::vector<Hypothesis>& found)
      : evidence_(evidence),
        few_(few),
        some_(SampleOf(evidence, kSearched).all()),
        axes_(ReducedAxesOf(evidence.computation, evidence.output, few.wrong)),
        found_(found) {}

  void Find() { FindAlongAxes() || FindInFormulas(); }

 private:
  static constexpr size_t kSearched = 12;

  bool FindAlongAxes() {
    const LinearElements linear(evidence_, IsLinear() ? some_ : std::vector<int64_t>());
    for (const TermAxis& axis : axes_) {
      const auto sums = linear.Along(axis);
      if (sums ? Search(ZerosInSums(evidence_, axis, sums))
               : Search(OtherInput(evidence_, axis, nullptr))) {
        return true;
      }
      const bool may_be_shorter = !sums || linear.HasMeans();
      if (may_be_shorter && Search(OtherInput(evidence_, axis, &axes_))) return true;
    }
    return false;
  }

  bool IsLinear() const {
    return evidence_.units && evidence_.units->bound == ErrorUnits::Bound::kProved;
  }

  // In sums of products of inputs, a part of zeros has the same effect as a missing one.
  bool FindInFormulas() {
    for (const TermAxis& axis : TermAxes()) {
      if (IsLinear() && std::ranges::find(axes_, axis) != axes_.end()) continue;
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
    if (!omission.IsLookedUp() && IsRefuted(omission)) return false;
    PartSearch search(evidence_, omission, some_);
    bool is_right = false;
    for (const AxisPart& part : search.Best()) {
      Hypothesis hypothesis = omission.Without(part);
      if (!hypothesis.compute || !IsPromising(evidence_, hypothesis, few_)) continue;
      is_right |= search.IsRight(part);
      found_.push_back(std::move(hypothesis));
    }
    return is_right;
  }

  // If each of some coordinates matters to right elements, so most probably does any part. What is
  // looked up needs no such guess.
  bool IsRefuted(const Omission& omission) const {
    constexpr int64_t kTried = 16;
    const std::vector<int64_t> right = SampleOf(evidence_, kSearched).right;
    const int64_t tried = std::min(omission.size(), kTried);
    for (int64_t i = 0; i < tried; ++i) {
      const int64_t at = i * (omission.size() - 1) / (tried - 1);
      if (!Breaks(omission.Without({at, at + 1}), right)) return false;
    }
    return true;
  }

  // Whether as many right elements would be wrong as are so.
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
  std::vector<Hypothesis>& found_;
};

// --- running sums, and states of networks, that begin anew in the middle -------------------------

// Returns the axes of a scan, whose tensors are all as large, or of a sequence of states.
std::vector<size_t> AxesOf(const Evidence& evidence) {
  const Computation& computation = evidence.computation;
  const Dims& sizes = evidence.expected.sizes;
  const bool is_network = IsNetwork(computation.op);
  const bool is_scan = !computation.inputs.empty() &&
                       std::ranges::all_of(computation.inputs,
                                           [&](const auto& x) { return x.layout.sizes == sizes; });
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool runs =
        is_network ? axis == 0 && sizes[0] == computation.inputs.front().layout.sizes[1] : is_scan;
    if (runs && sizes[axis] > 1) axes.push_back(axis);
  }
  return axes;
}

std::vector<VariedElement> Varied(std::span<const int64_t> elements,
                                  const std::vector<ElementBytes>& values) {
  std::vector<VariedElement> varied(elements.size());
  for (size_t i = 0; i < values.size(); ++i) varied[i] = {values[i], elements[i]};
  return varied;
}

// A result that begins anew is right up to the first such place, or from the last one on.
std::vector<int64_t> LengthsOfPieces(const Evidence& evidence, size_t axis) {
  constexpr size_t kMost = 16;
  int64_t first = evidence.expected.sizes[axis];
  int64_t last = 0;
  for (const int64_t element : evidence.wrong) {
    const int64_t coordinate = IndexOf(evidence.expected.sizes, element)[axis];
    first = std::min(first, coordinate);
    last = std::max(last, coordinate);
  }
  std::vector<int64_t> lengths;
  if (first > 0) lengths.push_back(first);
  for (int64_t length = last + 1; length > 0 && lengths.size() < kMost; --length) {
    if ((last + 1) % length == 0 && length < evidence.expected.sizes[axis]) {
      lengths.push_back(length);
    }
  }
  return lengths;
}

// Finds promising hypotheses that sums or states begin anew, the simplest first.
std::vector<Hypothesis> NewBeginningsOf(const Evidence& evidence, const SampledElements& few) {
  std::vector<Hypothesis> found;
  for (const size_t axis : AxesOf(evidence)) {
    for (const int64_t length : LengthsOfPieces(evidence, axis)) {
      Hypothesis hypothesis{{fmt::format("head-missing:axis={},every={}", axis, length)},
                            fmt::format("begun anew at every {} along axis {}", length, axis),
                            nullptr,
                            nullptr};
      hypothesis.compute = [&evidence, axis, length](std::span<const int64_t> elements) {
        const auto& [computation, output] = std::tie(evidence.computation, evidence.output);
        return Varied(elements, BegunAnew(computation, output, axis, length, elements, ElementsOf));
      };
      if (IsPromising(evidence, hypothesis, few)) found.push_back(std::move(hypothesis));
    }
  }
  return found;
}

}  // namespace

std::vector<Hypothesis> MissingPartsOf(const Evidence& evidence, const SampledElements& few) {
  std::vector<Hypothesis> found = NewBeginningsOf(evidence, few);
  OmissionList(evidence, few, found).Find();
  return found;
}

}  // namespace dmlop
