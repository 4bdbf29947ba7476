// SPDX-License-Identifier: Apache-2.0
#include "core/judge/evidence.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "core/arithmetic/varied_values.h"
#include "core/base/parallel.h"
#include "core/judge/descriptor_change.h"

namespace dmlop {
namespace {

// The kinds of changes, the simplest first.
enum RankKind : int {
  kSpecialArithmetic,
  kUntouched,
  kExchangedOutputs,
  kLeftOut,
  kFromInput,
  kField,
  kFilledTensor,
  kPadding,
  kPlace,
  kArithmetic,
  kNotWritten,  // fields and arithmetics may make a value of many
  kUnusualArithmetic,
  kLayout,
  kInput,
  kFilledOperand,  // which no device leaves out, but its elements may be lost
  kPair,
  kFunctions
};

// Indices that are all 0 are as likely as another field, and more so than a tensor of which the
// first part is read for all.
int KindOfFilled(const OperatorDesc& op, std::string_view path) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  const auto slot = std::ranges::find(slots, path, &TensorSlot::path);
  if (slot->field->optional) return kFilledTensor;
  return op.info().reads_by_index && !IsFloat(*slot->desc->data_type) ? kField : kFilledOperand;
}

bool IsOutput(const OperatorDesc& op, const DescriptorChange& change) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kOutput);
  return std::ranges::any_of(
      slots, [&](const TensorSlot& slot) { return change.pointer == "/desc/" + slot.path; });
}

int KindOfChange(const OperatorDesc& op, const DescriptorChange& change) {
  constexpr std::string_view kBindingsRoot = "/bindings/";
  if (change.pointer.starts_with(kBindingsRoot) && !change.value.starts_with('[')) {
    const std::string_view path = std::string_view(change.pointer).substr(kBindingsRoot.size());
    return KindOfFilled(op, path);
  }
  if (IsOutput(op, change)) return kExchangedOutputs;
  return change.value == "null" ? kLeftOut : kField;
}

int KindOfPlace(const std::string& id) {
  if (id.starts_with("not-written"))
    return id.size() > std::string_view("not-written").size() ? kNotWritten : kUntouched;
  if (id.starts_with("from-input")) return kFromInput;
  return id.starts_with("permuted") || id.starts_with("exchanged") ? kLayout : kPlace;
}

class HypothesisList {
 public:
  HypothesisList(const Evidence& evidence, const SampledElements& few)
      : evidence_(evidence), few_(few), fewest_(SampleOf(evidence, kFewest)) {}

  std::vector<RankedHypothesis> Of(Stage stage) {
    switch (stage) {
      case Stage::kSimple:
        Descriptors(Singles());
        Descriptors(CommonPairsOf(evidence_.computation.op));
        Places();
        for (Hypothesis& found : EdgePaddingsOf(evidence_, few_)) Add(std::move(found), kPadding);
        NewStates();
        Arithmetics();
        break;
      case Stage::kInputs:
        for (auto* find : {MissingPartsOf, LayoutChangesOf, OutputLayoutsOf}) {
          for (Hypothesis& found : find(evidence_, few_)) Add(std::move(found), kInput);
        }
        break;
      case Stage::kPairs:
        Descriptors(Pairs(), PairsOf::kAnyFields);
        break;
      case Stage::kChangeAndArithmetic:
        if (TakesAllPairs()) ArithmeticsOfChanges();
        break;
      case Stage::kTwoArithmetics:
        if (MayHaveTwo()) {
          ArithmeticsOfRoundedInputs();
          ArithmeticsOfRest();
        }
        break;
      case Stage::kLastResort:
        for (Hypothesis& found : FastFunctionsOf(evidence_)) Add(std::move(found), kFunctions);
        break;
      case Stage::kAmongNoise:
        Arithmetics();
    }
    return std::move(list_);
  }

 private:
  static constexpr size_t kFewest = 4;  // of pairs
  using Changes = std::vector<DescriptorChange>;

  void Add(Hypothesis hypothesis, int kind) {
    list_.push_back({std::move(hypothesis), {kind, list_.size()}});
  }

  std::vector<Changes> Singles() const {
    std::vector<Changes> singles;
    for (DescriptorChange& change : SingleChangesOf(evidence_.computation)) {
      singles.push_back({std::move(change)});
    }
    return singles;
  }

  // A network is run as a whole for any of its elements, so that all changes of one that is so many
  // times as long as a short one would take long.
  bool IsLongNetwork(int64_t times) const {
    constexpr int64_t kShort = int64_t{1} << 20;
    const OperatorDesc& op = evidence_.computation.op;
    return IsNetwork(op) && dmlop::WorkOf(op) > times * kShort;
  }

  // Chance would have too many pairs if only equality is right or few elements are wrong, and pairs
  // take long for large outputs.
  bool TakesAllPairs() const {
    constexpr int64_t kLarge = 100'000;
    constexpr size_t kFewestWrong = 7;
    return evidence_.units && evidence_.units->bound != ErrorUnits::Bound::kExact &&
           evidence_.count() < kLarge && evidence_.wrong.size() >= kFewestWrong &&
           !IsLongNetwork(1);
  }

  // Returns pairs of changes of different fields, some of them only those that have numbers.
  std::vector<Changes> Pairs() const {
    const bool takes_all = TakesAllPairs();
    Changes all = SingleChangesOf(evidence_.computation);
    std::erase_if(all, [&](const DescriptorChange& change) {
      const bool is_number = change.value.find_first_of("0123456789") != std::string::npos &&
                             change.value.find('"') == std::string::npos;
      return (!is_number && !takes_all) || !change.pointer.starts_with("/desc/") ||
             change.pointer.ends_with("/Strides");
    });
    std::vector<Changes> pairs;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t k = i + 1; k < all.size(); ++k) {
        if (FieldOf(all[i]) != FieldOf(all[k])) pairs.push_back({all[i], all[k]});
      }
    }
    std::ranges::stable_sort(pairs, {}, [&](const Changes& pair) {
      const OperatorDesc& op = evidence_.computation.op;
      return KindOfChange(op, pair[0]) + KindOfChange(op, pair[1]);
    });
    return pairs;
  }

  static std::string FieldOf(const DescriptorChange& change) {
    return change.pointer.substr(0, change.pointer.find('/', std::string_view("/desc/").size()));
  }

  enum class PairsOf { kOneMeaning, kAnyFields };

  // Pairs of one meaning, such as of a mask and its type, are as simple as the last change.
  void Descriptors(const std::vector<Changes>& all, PairsOf pairs = PairsOf::kOneMeaning) {
    std::vector<std::optional<Hypothesis>> found(all.size());
    ParallelFor(std::ssize(all), 4, /*bytes=*/0, [&](int64_t first, int64_t past) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(past); ++i) {
        found[i] = Promising(all[i]);
      }
    });
    for (size_t i = 0; i < all.size(); ++i) {
      if (!found[i]) continue;
      const DescriptorChange& last = all[i].back();
      const bool is_left_out =
          last.value == "null" && (pairs == PairsOf::kOneMeaning || all[i].front().value == "null");
      const bool is_pair = all[i].size() > 1 && !is_left_out;
      Add(*std::move(found[i]), is_pair ? kPair : KindOfChange(evidence_.computation.op, last));
    }
  }

  std::optional<Hypothesis> Promising(const Changes& changes) const {
    Diagnostics faults;
    auto changed = Changed(evidence_.computation, changes, faults);
    if (!changed) return std::nullopt;
    Hypothesis hypothesis = OfComputation("", "", *std::move(changed), evidence_.output);
    hypothesis.ids.clear();
    for (const DescriptorChange& change : changes) {
      hypothesis.ids.push_back(change.id());
      hypothesis.text += (hypothesis.text.empty() ? "" : " and ") + change.text();
    }
    // Pairs are many, and most of them explain nothing.
    const bool is_pair = changes.size() > 1;
    if (is_pair && !IsPromising(evidence_, hypothesis, fewest_)) return std::nullopt;
    if (!IsPromising(evidence_, hypothesis, few_)) return std::nullopt;
    return hypothesis;
  }

  void Places() {
    std::vector<Hypothesis> places = UnwrittenOf(evidence_);
    std::erase_if(places,
                  [&](const Hypothesis& one) { return !IsPromising(evidence_, one, few_); });
    std::ranges::move(PlaceChangesOf(evidence_, few_), std::back_inserter(places));
    for (Hypothesis& place : places) {
      const int kind = KindOfPlace(place.ids.front());
      Add(std::move(place), kind);
    }
  }

  void Arithmetics() {
    for (const auto& [variation, number] : PromisingArithmeticsOf(evidence_.computation)) {
      list_.push_back({OfArithmetic(evidence_, {nullptr, variation}), {KindOf(variation), number}});
    }
  }

  // A state that is not carried is more likely than weights of 0, which may have the same effect.
  void NewStates() {
    if (!IsNetwork(evidence_.computation.op)) return;
    for (Hypothesis& found : NewBeginningsOf(evidence_, few_)) Add(std::move(found), kInput);
  }

  struct NumberedVariation {
    ArithmeticVariation variation;
    size_t number;
  };

  // Returns for how many elements formulas can be evaluated in a second.
  size_t FewerOfLong() const {
    constexpr int64_t kLeast = 2, kMost = 8, kMostNodes = int64_t{1} << 18;
    return static_cast<size_t>(std::clamp(kMostNodes / evidence_.formula_work, kLeast, kMost));
  }

  static constexpr int64_t kTooLong = int64_t{1} << 17;  // a formula

  std::vector<NumberedVariation> PromisingArithmeticsOf(const Computation& computation) const {
    const OperatorDesc& op = computation.op;
    std::vector<ArithmeticVariation> all =
        ArithmeticVariationsOf(op, computation.inputs, computation.SourceOf(evidence_.output));
    constexpr int64_t kLong = 2000;
    if (evidence_.formula_work > kTooLong) {
      std::erase_if(all, [type = evidence_.actual.type](const ArithmeticVariation& v) {
        return NeedsFormula(v, type);
      });
    }
    // These run a network step by step, with twice the units.
    constexpr int64_t kLongest = 4;
    if (IsLongNetwork(kLongest)) {
      std::erase_if(all, [](const ArithmeticVariation& v) {
        return v.inputs == RoundedInputs::kWithComputed;
      });
    }
    const bool is_long = evidence_.formula_work > kLong;
    return PromisingOf(all, computation, is_long ? SampleOf(evidence_, FewerOfLong()) : few_,
                       evidence_.units.has_value());
  }

  // All are tried on the few elements at once. `are_rounded`: see ArePromising.
  std::vector<NumberedVariation> PromisingOf(const std::vector<ArithmeticVariation>& all,
                                             const Computation& computation,
                                             const SampledElements& few, bool are_rounded) const {
    auto values = ElementsOfArithmetics(evidence_, computation, all, FirstOf(few));
    std::vector<size_t> numbers;
    std::vector<ArithmeticVariation> left;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!MayStillBePromising(evidence_, few, std::move(values[i]), are_rounded)) continue;
      numbers.push_back(i);
      left.push_back(all[i]);
    }
    std::vector<NumberedVariation> promising;
    if (left.empty()) return promising;
    values = ElementsOfArithmetics(evidence_, computation, left, few.all());
    for (size_t i = 0; i < left.size(); ++i) {
      if (ArePromising(evidence_, few, std::move(values[i]), are_rounded)) {
        promising.push_back({left[i], numbers[i]});
      }
    }
    return promising;
  }

  // A change of the descriptor that explains most of what is wrong leaves the rest to another
  // arithmetic.
  void ArithmeticsOfChanges() {
    constexpr int kMostChanges = 4;
    constexpr size_t kMany = 256;  // of which chance does not explain most
    const SampledElements many = SampleOf(evidence_, kMany);
    int tried = 0;
    std::vector<Changes> singles = Singles();
    std::ranges::stable_sort(singles, {}, [&](const Changes& single) {
      return KindOfChange(evidence_.computation.op, single.front());
    });
    for (const Changes& single : singles) {
      if (tried == kMostChanges) return;
      const auto changed = Promising(single);
      if (!changed || !IsPromising(evidence_, *changed, many)) continue;
      ++tried;
      Diagnostics faults;
      const auto computation =
          std::make_shared<const Computation>(*Changed(evidence_.computation, single, faults));
      auto variations = PromisingArithmeticsOf(*computation);
      std::ranges::stable_sort(variations, {},
                               [&](const auto& one) { return KindOf(one.variation); });
      for (const auto& [variation, number] : variations) {
        Add(OfBoth(*changed, computation, variation), kPair);
      }
    }
  }

  // Neither a network, whose elements all take as long as the whole, nor a few elements by chance.
  // Pairs are so many that they take a second of formulas that are not even too long for one.
  bool MayHaveTwo() const {
    constexpr size_t kFewestWrong = 7;
    return evidence_.units && evidence_.wrong.size() >= kFewestWrong &&
           evidence_.formula_work <= kTooLong / 16 && !IsNetwork(evidence_.computation.op);
  }

  // A device that rounds inputs may round what it makes of them, too.
  void ArithmeticsOfRoundedInputs() {
    const auto& [op, inputs, storage, sources] = evidence_.computation;
    const std::vector<bool> factors = FactorsOf(op, inputs, evidence_.output);
    std::vector<ArithmeticVariation> all = ArithmeticVariationsOf(op, inputs, evidence_.output);
    std::vector<ArithmeticVariation> others = all;
    std::erase_if(others, [](const ArithmeticVariation& other) { return !RoundsResults(other); });
    std::erase_if(all, [](const ArithmeticVariation& variation) {
      const bool is_of_all =
          variation.inputs == RoundedInputs::kFactors || variation.inputs == RoundedInputs::kAll;
      return variation.kind != ArithmeticKind::kInputs || !is_of_all;
    });
    std::vector<std::vector<Hypothesis>> found(all.size());
    ParallelFor(std::ssize(all), 1, /*bytes=*/0, [&](int64_t first, int64_t past) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(past); ++i) {
        found[i] = WithRoundedInputs(all[i], others, factors);
      }
    });
    for (size_t i = 0; i < all.size(); ++i) {
      for (Hypothesis& both : found[i]) {
        // Inputs of the format in which the rest is done are more likely than others.
        const bool is_alike = both.arithmetic->variation.format == all[i].format;
        list_.push_back({std::move(both), {kPair, is_alike ? 0 : list_.size() + 1}});
      }
    }
  }

  // So many pairs are told from noise by their bits. They are tried where only those parts of
  // inputs are rounded that the fewest elements need, unless an activation needs others.
  std::vector<Hypothesis> WithRoundedInputs(const ArithmeticVariation& rounding,
                                            const std::vector<ArithmeticVariation>& others,
                                            const std::vector<bool>& factors) const {
    const Computation& original = evidence_.computation;
    const auto whole = [&] { return WithChangedInputs(original, rounding, factors); };
    const Computation parts =
        IsActivated(original.op, evidence_.output)
            ? whole()
            : WithChangedInputs(original, rounding, factors, evidence_.output, fewest_.all());
    const auto promising = PromisingOf(WithBitsOfTwo(others, parts), parts, fewest_, false);
    std::vector<Hypothesis> found;
    if (promising.empty()) return found;
    const auto rounded = std::make_shared<const Computation>(whole());
    const Hypothesis inputs_alone = OfArithmetic(evidence_, {nullptr, rounding});
    for (const auto& [other, number] : promising) {
      found.push_back(OfBoth(inputs_alone, rounded, other));
      found.back().needs_bits = true;
    }
    return found;
  }

  // Returns the variations that have the bits of one of two elements. The others have at most two
  // of four, too few to be promising, and formulas are long.
  std::vector<ArithmeticVariation> WithBitsOfTwo(const std::vector<ArithmeticVariation>& all,
                                                 const Computation& computation) const {
    const std::span<const int64_t> two = std::span(fewest_.wrong).first(2);
    auto values = ElementsOfArithmetics(evidence_, computation, all, two);
    std::vector<ArithmeticVariation> left;
    for (size_t i = 0; i < all.size(); ++i) {
      if (HasAnyBits(evidence_, two, std::move(values[i]))) left.push_back(all[i]);
    }
    return left;
  }

  // Sums in FLOAT32 and the like are those of right devices.
  static bool RoundsResults(const ArithmeticVariation& variation) {
    switch (variation.kind) {
      case ArithmeticKind::kSums:
      case ArithmeticKind::kSteps:
      case ArithmeticKind::kThrough:
        return variation.format != FloatFormat::kFloat32;
      default:
        return variation.kind == ArithmeticKind::kTowardZero ||
               variation.kind == ArithmeticKind::kProductRounded;
    }
  }

  // Elements that are not written leave the others to another arithmetic.
  void ArithmeticsOfRest() {
    constexpr size_t kMostOfOne = 20;  // times fewer elements are not worth another cause
    for (const Hypothesis& place : UnwrittenOf(evidence_)) {
      if (place.ids.front().starts_with("not-written:blocks")) continue;
      const auto rest = std::make_shared<const Evidence>(RestOf(place));
      const size_t explained = evidence_.wrong.size() - rest->wrong.size();
      if (rest->wrong.empty() || kMostOfOne * explained < evidence_.wrong.size()) continue;
      const SampledElements few = SampleOf(*rest, few_.wrong.size());
      for (RankedHypothesis& found : HypothesesOf(*rest, few, Stage::kAmongNoise)) {
        Add(WithRest(place, rest, std::move(found.hypothesis)), kPair);
      }
    }
  }

  Evidence RestOf(const Hypothesis& place) const {
    Evidence rest{evidence_.computation, evidence_.output, Packed(evidence_.actual.view()),
                  Packed(evidence_.expected.view()), evidence_.units};
    rest.in_bfloat16 = evidence_.in_bfloat16;
    rest.formula_work = evidence_.formula_work;
    rest.right = evidence_.right;
    const auto varied = place.compute(evidence_.wrong);
    for (size_t i = 0; i < varied.size(); ++i) {
      const int64_t element = evidence_.wrong[i];
      if (varied[i].bytes != evidence_.actual.Bytes(element)) rest.wrong.push_back(element);
    }
    return rest;
  }

  Hypothesis WithRest(const Hypothesis& place, std::shared_ptr<const Evidence> rest,
                      Hypothesis arithmetic) const {
    Hypothesis both{{place.ids.front(), arithmetic.ids.front()},
                    place.text + " and " + arithmetic.text,
                    nullptr,
                    nullptr,
                    arithmetic.is_slow};
    both.compute = [rest = std::move(rest), of_place = place.compute,
                    of_rest = arithmetic.compute](std::span<const int64_t> elements) {
      std::vector<VariedElement> varied = of_place(elements);
      const std::vector<VariedElement> others = of_rest(elements);
      for (size_t i = 0; i < varied.size(); ++i) {
        if (varied[i].bytes == rest->expected.Bytes(elements[i])) varied[i] = others[i];
      }
      return varied;
    };
    return both;
  }

  Hypothesis OfBoth(const Hypothesis& change, std::shared_ptr<const Computation> computation,
                    const ArithmeticVariation& variation) const {
    Hypothesis both = OfArithmetic(evidence_, {std::move(computation), variation});
    both.ids.insert(both.ids.begin(), change.ids.front());
    both.text = change.text + " and " + both.text;
    both.units = change.units;
    return both;
  }

  // Arithmetics that choose other results leave marks of their own, such as NaN. TF32 is a format
  // of units for products; elsewhere FLOAT16 is the most likely one.
  int KindOf(const ArithmeticVariation& variation) const {
    switch (variation.kind) {
      case ArithmeticKind::kNanPasses:
      case ArithmeticKind::kStartsAtZero:
      case ArithmeticKind::kSaturated:
      case ArithmeticKind::kWrapped:
        return kSpecialArithmetic;
      default:
        break;
    }
    const bool is_likely = variation.kind != ArithmeticKind::kInputs ||
                           variation.format == FloatFormat::kFloat16 ||
                           OperationsOf(evidence_.computation.op) > 0;
    return is_likely ? kArithmetic : kUnusualArithmetic;
  }

  const Evidence& evidence_;
  const SampledElements& few_;
  SampledElements fewest_;
  std::vector<RankedHypothesis> list_;
};

}  // namespace

std::vector<RankedHypothesis> HypothesesOf(const Evidence& evidence, const SampledElements& few,
                                           Stage stage) {
  return HypothesisList(evidence, few).Of(stage);
}

}  // namespace dmlop
