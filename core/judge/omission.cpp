// SPDX-License-Identifier: Apache-2.0
#include "core/judge/omission.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace dmlop {
namespace {

// `how` says how the terms are left out.
std::string IdOf(const TermAxis& axis, const AxisPart& part, std::string_view how) {
  const bool has_end = part.to != axis.size;
  const char* name = !has_end ? "tail" : part.from == 0 ? "head" : "part";
  std::string id = fmt::format("{}-missing:", name);
  id += axis.is_of_taps ? "taps" : fmt::format("axis={}", axis.axis);
  if (part.from > 0 || !has_end) id += fmt::format(",from={}", part.from);
  if (has_end) id += fmt::format(",to={}", part.to);
  return id + std::string(how);
}

// Another input takes the place of the one: its part is 0, or it is shorter.
class OtherInput : public Omission {
 public:
  // `all` are the axes of inputs that may be shorter together; null for zeros.
  OtherInput(const Evidence& evidence, const TermAxis& axis, const std::vector<TermAxis>* all)
      : Omission(evidence, axis), all_(all) {}

  Hypothesis Omitting(const AxisPart& part) const override {
    const Computation& original = evidence_.computation;
    auto changed = all_ == nullptr ? WithZeros(original, axis_, part)
                                   : dmlop::Without(original, axis_, *all_, part);
    if (!changed) return {};
    return OfComputation(IdOf(axis_, part, all_ == nullptr ? "" : ",shorter"), TextOf(part),
                         *std::move(changed), evidence_.output);
  }

  // The input is copied, and elements are computed with those that come along, or with all.
  int64_t WorkOf(size_t elements) const override {
    constexpr double kCall = 5000;
    constexpr double kFaster = 8;  // than formulas
    const auto& [op, inputs, storage, sources] = evidence_.computation;
    const double whole = static_cast<double>(dmlop::WorkOf(op)) * (HasFunctions() ? 2 : 1);
    const auto together = static_cast<double>(ComputedWith(op, evidence_.At(0)).count());
    const double each = whole * together / static_cast<double>(evidence_.count()) + kCall;
    const auto copied = static_cast<double>(Product(inputs[axis_.input].layout.sizes));
    const double computed = std::min(whole, static_cast<double>(elements) * each);
    return static_cast<int64_t>((copied + computed) / kFaster);
  }

 private:
  bool HasFunctions() const {
    return evidence_.units && evidence_.units->bound == ErrorUnits::Bound::kGenerous;
  }

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

  int64_t WorkOf(size_t elements) const override { return static_cast<int64_t>(elements); }
  std::vector<AxisPart> Known() const override { return sums_->Fitting(); }
  bool IsLookedUp() const override { return true; }

 private:
  std::shared_ptr<const AxisSums> sums_;
};

// The terms of sums that an element's formula has are left out.
class WithoutTerms : public Omission {
 public:
  WithoutTerms(const Evidence& evidence, const TermAxis& axis,
               std::shared_ptr<const OmittedTerms> terms, const OmissionKind& kind,
               std::shared_ptr<const AxisSums> sums)
      : Omission(evidence, axis), terms_(std::move(terms)), kind_(kind), sums_(std::move(sums)) {}

  Hypothesis Omitting(const AxisPart& part) const override {
    const bool is_counted = kind_.is_counted, is_last = kind_.is_last;
    return {
        {IdOf(axis_, part,
              fmt::format(",terms{}{}", is_counted ? ",counted" : "", is_last ? ",last" : ""))},
        TextOf(part) + (is_last ? " of the last sums" : "") + (is_counted ? ", but counted" : ""),
        [terms = terms_, part, kind = kind_](std::span<const int64_t> elements) {
          return terms->Without(part, kind, elements);
        },
        nullptr,
        /*is_slow=*/true};
  }

  int64_t WorkOf(size_t elements) const override {
    return static_cast<int64_t>(elements) * evidence_.formula_work;
  }
  int64_t WorkOfFew(size_t elements) const override {
    return static_cast<int64_t>(elements) * terms_->WorkOfFew();
  }

  std::vector<AxisPart> Known() const override {
    return sums_ ? sums_->Fitting() : std::vector<AxisPart>();
  }

 private:
  std::shared_ptr<const OmittedTerms> terms_;
  OmissionKind kind_;
  std::shared_ptr<const AxisSums> sums_;
};

}  // namespace

std::vector<double> Omission::ValuesWithout(const AxisPart& part,
                                            const std::vector<int64_t>& few) const {
  const Hypothesis without = Without(part);
  std::vector<double> values;
  if (!without.compute) return values;
  for (const VariedElement& varied : without.compute(few)) {
    values.push_back(ValueOf(evidence_.actual.type, varied.bytes.data()));
  }
  return values;
}

std::string Omission::TextOf(const AxisPart& part) const {
  const auto slots = TensorSlots(evidence_.computation.op, TensorRole::kInput);
  const std::string among = axis_.is_of_taps ? "taps" : fmt::format("along axis {}", axis_.axis);
  const std::string which =
      part.count() == axis_.size
          ? fmt::format("all {}", axis_.size)
          : fmt::format("{} to {} of the {}", part.from, part.to - 1, axis_.size);
  return fmt::format("{} {} of {} left out", which, among, DisplayName(slots[axis_.input].path));
}

std::unique_ptr<Omission> OmissionInInput(const Evidence& evidence, const TermAxis& axis,
                                          const std::vector<TermAxis>* all) {
  return std::make_unique<OtherInput>(evidence, axis, all);
}

std::unique_ptr<Omission> OmissionInSums(const Evidence& evidence, const TermAxis& axis,
                                         std::shared_ptr<const AxisSums> sums) {
  return std::make_unique<ZerosInSums>(evidence, axis, std::move(sums));
}

std::unique_ptr<Omission> OmissionOfTerms(const Evidence& evidence, const TermAxis& axis,
                                          std::shared_ptr<const OmittedTerms> terms,
                                          const OmissionKind& kind,
                                          std::shared_ptr<const AxisSums> sums) {
  return std::make_unique<WithoutTerms>(evidence, axis, std::move(terms), kind, std::move(sums));
}

// --- where a search ends -------------------------------------------------------------------------

namespace {

// Finds where a device ends that looks for the greatest or least element along an axis. Each
// element tells whether a shorter input ends too late, as it is beyond what the device has, or too
// early. Of all ends that they agree on, the roundest is the most likely one.
class EndSearch {
 public:
  // `shorter` leaves out coordinates of the input.
  EndSearch(const Evidence& evidence, const Omission& shorter)
      : evidence_(evidence), shorter_(shorter), elements_(SampleOf(evidence, kMost).all()) {}

  std::optional<AxisPart> Find() {
    std::vector<double> expected;
    for (const int64_t element : elements_) expected.push_back(evidence_.expected.Value(element));
    const Sides sides = SidesOf(expected);
    if (sides.is_below == sides.is_above) return std::nullopt;
    const auto is_late = sides.is_above ? &Sides::is_above : &Sides::is_below;
    const auto is_early = sides.is_above ? &Sides::is_below : &Sides::is_above;
    const int64_t first = FirstEnd([&](const Sides& at) { return !(at.*is_early); });
    const int64_t past = FirstEnd([&](const Sides& at) { return at.*is_late; });
    if (first >= past) return std::nullopt;
    return AxisPart{Roundest(first, past - 1), shorter_.size()};
  }

 private:
  static constexpr size_t kMost = 4096;

  // Some values may be below what the device has, and some above.
  struct Sides {
    bool is_below = false;
    bool is_above = false;
  };

  Sides SidesOf(const std::vector<double>& values) const {
    Sides sides;
    for (size_t i = 0; i < values.size(); ++i) {
      const double actual = evidence_.actual.Value(elements_[i]);
      sides.is_below |= values[i] < actual;
      sides.is_above |= values[i] > actual;
    }
    return sides;
  }

  // The first end of which something is true that stays so for those behind it. Before some end, an
  // operator has too few elements to choose from.
  template <typename IsTrue>
  int64_t FirstEnd(const IsTrue& is_true) const {
    int64_t first = 1, past = shorter_.size();
    while (first < past) {
      const int64_t middle = (first + past) / 2;
      const auto values = shorter_.ValuesWithout({middle, shorter_.size()}, elements_);
      if (!values.empty() && is_true(SidesOf(values))) {
        past = middle;
      } else {
        first = middle + 1;
      }
    }
    return first;
  }

  // The number from `first` to `last` that the greatest power of two divides.
  static int64_t Roundest(int64_t first, int64_t last) {
    int64_t step = 1;
    while (last / (2 * step) * (2 * step) >= first) step *= 2;
    return last / step * step;
  }

  const Evidence& evidence_;
  const Omission& shorter_;
  std::vector<int64_t> elements_;
};

}  // namespace

std::optional<AxisPart> PartBehindEnd(const Evidence& evidence, const Omission& shorter) {
  return EndSearch(evidence, shorter).Find();
}

}  // namespace dmlop
