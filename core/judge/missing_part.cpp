// SPDX-License-Identifier: Apache-2.0
// Terms that are left out along an axis of an input. Where a part is missing, each element is off
// by the sum of its terms, so that the squares of what remains fall toward the right ends of the
// part from either side, and these are found by search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "core/engine/copy/copy_views.h"
#include "core/judge/input_change.h"

namespace dmlop {
namespace {

// The coordinates of an axis that are left out.
struct Part {
  int64_t from;
  int64_t to;

  auto operator<=>(const Part&) const = default;
};

struct ReducedAxis {
  size_t input;
  size_t axis;
  int64_t size;
};

// The axes of inputs along which an element needs all coordinates.
std::vector<ReducedAxis> ReducedAxesOf(const Evidence& evidence, int64_t element) {
  const Computation& computation = evidence.computation;
  const Region one{evidence.output, IndexOf(evidence.expected.sizes, element),
                   Dims::Filled(evidence.expected.sizes.size(), 1)};
  std::vector<ReducedAxis> axes;
  for (const SourceMap& map : SourcesOf(computation.op)) {
    const std::optional<Region> region = map(one);
    if (!region) continue;
    const Dims& sizes = computation.inputs[region->tensor].layout.sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] > 1 && region->sizes[d] == sizes[d]) {
        axes.push_back({region->tensor, d, sizes[d]});
      }
    }
  }
  return axes;
}

// A computation without a part of an input's axis.
class Omission {
 public:
  Omission(const Evidence& evidence, const ReducedAxis& axis) : evidence_(evidence), axis_(axis) {}
  virtual ~Omission() = default;
  virtual std::optional<Computation> Without(const Part& part) const = 0;

  const ReducedAxis& axis() const { return axis_; }

 protected:
  const Computation& original() const { return evidence_.computation; }
  const ConstTensorView& input() const { return original().inputs[axis_.input]; }

  const Evidence& evidence_;
  ReducedAxis axis_;
};

// The part is 0, as for sums whose terms were never added.
class Zeros : public Omission {
 public:
  using Omission::Omission;

  std::optional<Computation> Without(const Part& part) const override {
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
class Shortened : public Omission {
 public:
  Shortened(const Evidence& evidence, const ReducedAxis& axis, std::vector<ReducedAxis> together)
      : Omission(evidence, axis), together_(std::move(together)) {}

  std::optional<Computation> Without(const Part& part) const override {
    if (part.to - part.from == axis_.size) return std::nullopt;
    if (auto alone = Without(part, {&axis_, 1})) return alone;
    return together_.size() > 1 ? Without(part, together_) : std::nullopt;
  }

 private:
  std::optional<Computation> Without(const Part& part, std::span<const ReducedAxis> axes) const {
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
    for (const ReducedAxis& axis : axes) {
      changed.inputs[axis.input] = Joined(original().inputs[axis.input], axis, part, changed);
    }
    return changed;
  }

  static ConstTensorView Joined(const ConstTensorView& input, const ReducedAxis& axis,
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

  std::vector<ReducedAxis> together_;
};

// Finds the part whose omission leaves least on a few elements.
class PartSearch {
 public:
  PartSearch(const Evidence& evidence, const Omission& omission, const std::vector<int64_t>& few)
      : evidence_(evidence), omission_(omission), few_(few), size_(omission.axis().size) {}

  Part Tail() {
    return Best([&](int64_t from) { return Part{from, size_}; }, 1, size_ - 1);
  }
  Part Head() {
    return Best([&](int64_t to) { return Part{0, to}; }, 1, size_ - 1);
  }

  // Begins at the best of a few blocks and moves its ends in turn.
  Part Middle() {
    constexpr int kRounds = 4;
    const int64_t blocks = std::min<int64_t>(size_, kPoints);
    Part part{0, 0};
    for (int64_t k = 0; k < blocks; ++k) {
      const Part block{k * size_ / blocks, (k + 1) * size_ / blocks};
      if (part.to == 0 || Rest(block) < Rest(part)) part = block;
    }
    for (int round = 0; round < kRounds; ++round) {
      const Part before = part;
      part = Best([&](int64_t to) { return Part{part.from, to}; }, part.from + 1, size_);
      part = Best([&](int64_t from) { return Part{from, part.to}; }, 0, part.to - 1);
      if (part == before) break;
    }
    return part;
  }

  // The sum of squares that is left without a part.
  double Rest(const Part& part) {
    const auto known = rests_.find(part);
    if (known != rests_.end()) return known->second;
    return rests_[part] = Computed(part);
  }

 private:
  static constexpr int64_t kPoints = 16;

  double Computed(const Part& part) const {
    const auto changed = omission_.Without(part);
    if (!changed) return INFINITY;
    const std::vector<ElementBytes> values = ElementsOf(*changed, evidence_.output, few_);
    double rest = 0;
    for (size_t i = 0; i < few_.size(); ++i) {
      const double error =
          evidence_.actual.Value(few_[i]) - ValueOf(evidence_.actual.type, values[i].data());
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
        if (Rest(part_of(end)) < Rest(part_of(best))) best = end;
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

std::string IdOf(const ReducedAxis& axis, const Part& part) {
  if (part.to == axis.size)
    return fmt::format("tail-missing:axis={},from={}", axis.axis, part.from);
  if (part.from == 0) return fmt::format("head-missing:axis={},to={}", axis.axis, part.to);
  return fmt::format("part-missing:axis={},from={},to={}", axis.axis, part.from, part.to);
}

std::string TextOf(const Evidence& evidence, const ReducedAxis& axis, const Part& part) {
  const auto slots = TensorSlots(evidence.computation.op, TensorRole::kInput);
  return fmt::format("{} to {} of the {} along axis {} of {} left out", part.from, part.to - 1,
                     axis.size, axis.axis, DisplayName(slots[axis.input].path));
}

// --- sums that begin anew ------------------------------------------------------------------------

// Cuts the tensors of a scan along an axis and computes each piece by itself.
class Pieces {
 public:
  Pieces(const Evidence& evidence, size_t axis, int64_t length)
      : evidence_(evidence), axis_(axis), length_(length) {}

  std::vector<VariedElement> operator()(std::span<const int64_t> elements) const {
    std::map<int64_t, std::vector<size_t>> by_piece;
    for (size_t i = 0; i < elements.size(); ++i) {
      by_piece[IndexOf(sizes(), elements[i])[axis_] / length_].push_back(i);
    }
    std::vector<VariedElement> varied(elements.size());
    for (const auto& [piece, members] : by_piece) Compute(piece, members, elements, varied);
    return varied;
  }

 private:
  const Dims& sizes() const { return evidence_.expected.sizes; }

  void Compute(int64_t piece, const std::vector<size_t>& members, std::span<const int64_t> elements,
               std::vector<VariedElement>& varied) const {
    const int64_t begin = piece * length_;
    const auto computation = Cut(begin, std::min(length_, sizes()[axis_] - begin));
    if (!computation) return;
    const Dims cut =
        LayoutOf(*TensorSlots(computation->op, TensorRole::kOutput).front().desc).sizes;
    std::vector<int64_t> numbers;
    for (const size_t i : members) {
      Dims index = IndexOf(sizes(), elements[i]);
      index[axis_] -= begin;
      numbers.push_back(OffsetOf(PackedLayout(cut), index));
    }
    const std::vector<ElementBytes> values = ElementsOf(*computation, evidence_.output, numbers);
    for (size_t k = 0; k < members.size(); ++k) {
      varied[members[k]] = {values[k], elements[members[k]]};
    }
  }

  std::optional<Computation> Cut(int64_t begin, int64_t size) const {
    Computation cut = evidence_.computation;
    for (const MutableTensorSlot& slot : TensorSlots(cut.op)) {
      if (Dims(slot.desc->sizes->begin(), slot.desc->sizes->end()) != sizes()) return std::nullopt;
      (*slot.desc->sizes)[axis_] = static_cast<uint32_t>(size);
      slot.desc->strides.reset();
      slot.desc->total_tensor_size_in_bytes = 0;
    }
    for (ConstTensorView& view : cut.inputs) view = view.Slice(axis_, begin, size);
    Diagnostics faults;
    Check(cut.op, kHighestFeatureLevel, faults);
    return faults.has_errors() ? std::nullopt : std::optional(std::move(cut));
  }

  const Evidence& evidence_;
  size_t axis_;
  int64_t length_;
};

// Sums that begin anew are right up to the first such place, or from the last one on.
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

std::vector<Hypothesis> NewBeginnings(const Evidence& evidence, const Sample& few) {
  std::vector<Hypothesis> found;
  for (size_t axis = 0; axis < evidence.expected.sizes.size(); ++axis) {
    if (evidence.expected.sizes[axis] == 1) continue;
    for (const int64_t length : LengthsOfPieces(evidence, axis)) {
      Hypothesis hypothesis{{fmt::format("head-missing:axis={},every={}", axis, length)},
                            fmt::format("begun anew at every {} along axis {}", length, axis),
                            Pieces(evidence, axis, length),
                            nullptr};
      if (IsPromising(evidence, hypothesis, few)) found.push_back(std::move(hypothesis));
    }
  }
  return found;
}

}  // namespace

std::vector<Hypothesis> MissingPartsOf(const Evidence& evidence, const Sample& few) {
  std::vector<Hypothesis> found = NewBeginnings(evidence, few);
  const auto attempt = [&](const Omission& omission, const Part& part) {
    auto changed = omission.Without(part);
    if (!changed) return false;
    Hypothesis hypothesis =
        OfComputation(IdOf(omission.axis(), part), TextOf(evidence, omission.axis(), part),
                      *std::move(changed), evidence.output);
    if (!IsPromising(evidence, hypothesis, few)) return false;
    found.push_back(std::move(hypothesis));
    return true;
  };
  const auto search = [&](const Omission& omission) {
    PartSearch parts(evidence, omission, few.wrong);
    return attempt(omission, parts.Tail()) || attempt(omission, parts.Head()) ||
           attempt(omission, parts.Middle());
  };
  const std::vector<ReducedAxis> axes = ReducedAxesOf(evidence, evidence.wrong.front());
  for (const ReducedAxis& axis : axes) {
    std::vector<ReducedAxis> together = axes;
    std::erase_if(together, [&](const ReducedAxis& other) { return other.size != axis.size; });
    if (search(Zeros(evidence, axis)) || search(Shortened(evidence, axis, together))) break;
  }
  return found;
}

}  // namespace dmlop
