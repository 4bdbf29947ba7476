// SPDX-License-Identifier: Apache-2.0
#include "core/judge/diagnosis.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "core/arithmetic/varied_values.h"
#include "core/base/parallel.h"
#include "core/compare/alignment.h"
#include "core/compare/comparison.h"
#include "core/compare/error_measure.h"
#include "core/judge/evidence.h"
#include "core/judge/varied_run.h"
#include "core/tensor/visit_data_type.h"
#include "core/units/units.h"

namespace dmlop {
namespace {

// The share of elements that are to be nearer only.
constexpr double kNearerShare = 0.5;
// A sample has elements of so many products on either side.
constexpr int64_t kMostProducts = 10'000'000;
constexpr int64_t kMostFormulaWork = 250'000;
constexpr int64_t kMostElements = 200'000;
constexpr int64_t kFewestElements = 64;
// Fewer of formulas that are so long that these would take more than that.
constexpr int64_t kMostLongWork = 1'000'000;
constexpr int64_t kFewestOfLong = 8;
// The elements of either side that each hypothesis is tried on, and each promising one then.
constexpr size_t kFew = 24;
constexpr size_t kSome = 100;
constexpr size_t kMostCounted = 12;
constexpr int64_t kDifferentGrain = 4096;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double UlpOf(const Evidence& evidence, int64_t element) {
  const PackedOutput& actual = evidence.actual;
  const PackedOutput& expected = evidence.expected;
  if (evidence.in_bfloat16) {
    const auto as_float = [&](const PackedOutput& output) {
      return static_cast<float>(output.Value(element));
    };
    return static_cast<double>(UlpDistance(as_float(actual), as_float(expected))) /
           kFloatStepsOfBfloat16;
  }
  double ulp = 0;
  VisitDataType(AllTypes(), actual.type, [&]<typename T>() {
    ulp = static_cast<double>(
        UlpDistance(ElementOf<T>(actual.at(element)), ElementOf<T>(expected.at(element))));
  });
  return ulp;
}

// A hypothesis that has been counted.
struct Counted {
  Hypothesis hypothesis;
  Score score;
  Rank rank;
  const SampledElements* sample = nullptr;  // that it has been counted on

  bool is_cause() const { return score.share() >= hypothesis.enough; }
  // Returns whether little is left that comes in at an edge, of which a shift says nothing.
  bool explains_enough() const { return score.share_of_all() >= hypothesis.enough; }
  bool is_complete() const { return score.explained == score.of && score.broken == 0; }

  // Shares that are nearly equal are taken for equal, so that rounding does not decide, but what
  // explains all that it knows goes before what does not. Within a kind, what is left tells apart
  // roundings that differ in few inputs, unless it is nearly equal, too.
  auto order() const {
    const double rest = std::log2(1 + score.rest);
    return std::tuple(!is_cause(), -std::lround(score.share_of_all() * 50), !is_complete(),
                      -std::lround(score.exact_share() * 10), std::lround(rest), rank.kind,
                      std::lround(rest * 64), rank.number);
  }
};

class Diagnostician : public std::enable_shared_from_this<Diagnostician> {
 public:
  Diagnostician(const Computation& computation, size_t output, const ConstTensorView& actual,
                const ConstTensorView& expected, const DiagnosisOptions& options, bool in_bfloat16)
      : options_(options),
        computation_(computation),
        evidence_{computation_, output, Packed(actual), Packed(expected), std::nullopt},
        different_(evidence_.count()) {
    evidence_.in_bfloat16 = in_bfloat16;
  }

  Diagnosis Execute() {
    FindDifferent();
    evidence_.is_quantized = IsQuantized();
    result_.elements = evidence_.count();
    result_.different = different_.count();
    if (result_.different == 0) return std::move(result_);
    if (!evidence_.units) TakeUnits();
    std::vector<int64_t> different;
    different.reserve(static_cast<size_t>(result_.different));
    different_.ForEach([&](int64_t element) { different.push_back(element); });
    DivideElements(different, MeasureErrors(different));
    Locate();
    const auto& [op, inputs, storage, sources] = evidence_.computation;
    sample_ = SampleOf(evidence_,
                       SampleSize(kMostProducts, WorkOf(op) / evidence_.count(), kFewestElements));
    evidence_.formula_work = FormulaWork(op, inputs, evidence_.output);
    const int64_t fewest =
        std::clamp(kMostLongWork / evidence_.formula_work, kFewestOfLong, kFewestElements);
    small_sample_ =
        SampleOf(evidence_, SampleSize(kMostFormulaWork, evidence_.formula_work, fewest));
    few_ = SampleOf(evidence_, kFew);
    result_.beyond_noise > 0 ? FindCauses() : FindArithmetic();
    if (result_.verdict != DiagnosisVerdict::kNoise) {
      result_.find_same = [self = shared_from_this()](const Cause& other) {
        return self->SameCause(other);
      };
    }
    return std::move(result_);
  }

 private:
  // A count is not computed twice.
  std::optional<Cause> SameCause(const Cause& other) const {
    const auto known = std::ranges::find_if(
        counted_, [&](const Counted& one) { return one.hypothesis.ids == other.ids; });
    if (known != counted_.end()) {
      return known->is_cause() ? std::optional(CauseOf(*known)) : std::nullopt;
    }
    std::optional<Hypothesis> varied = OfVariedRun(evidence_, other.ids, other.text);
    if (!varied || !IsPromising(evidence_, *varied, few_)) return std::nullopt;
    std::vector<Counted> found;
    found.push_back({*std::move(varied), {}, {}, nullptr});
    Score(found, sample_, small_sample_, ScoreAccuracy::kFull);
    return found.front().is_cause() ? std::optional(CauseOf(found.front())) : std::nullopt;
  }

  void TakeUnits() {
    evidence_.units = ErrorUnitsOf(evidence_.computation.op, evidence_.computation.inputs,
                                   evidence_.expected.view(), evidence_.output);
    if (evidence_.units) evidence_.units->in_bfloat16 = evidence_.in_bfloat16;
  }

  void FindDifferent() {
    const AlignedTensors aligned = Aligned();
    const ConstTensorView& actual = aligned.actual.view;
    const ConstTensorView& expected = aligned.expected.view;
    std::optional<UnitErrors> errors;
    if (options_.units.allows_any()) TakeUnits();
    if (evidence_.units) {
      errors = dmlop::MeasureErrors(*evidence_.units, actual, expected, options_.units);
    }
    Compare(aligned, options_.tolerance,
            {.wrong = &different_, .units = errors ? &*errors : nullptr});
  }

  AlignedTensors Aligned() const {
    AlignedTensors aligned{{evidence_.actual.view(), ""}, {evidence_.expected.view(), ""}, {}, {}};
    if (!evidence_.in_bfloat16) return aligned;
    for (ComparedTensor* tensor : {&aligned.actual, &aligned.expected}) {
      const auto rounded = RoundedToBfloat16(tensor->view);
      tensor->view = {rounded->data(), DataType::kFloat32, tensor->view.layout};
      aligned.storage.push_back(rounded);
    }
    aligned.in_bfloat16 = true;
    return aligned;
  }

  // Returns whether the output has integers that stand for others, with a scale, and may be off by
  // a step each.
  bool IsQuantized() const {
    const auto slots = TensorSlots(evidence_.computation.op, TensorRole::kInput);
    return !IsFloat(evidence_.actual.type) &&
           std::ranges::any_of(slots,
                               [](const TensorSlot& slot) {
                                 return slot.path.find("ScaleTensor") != std::string::npos;
                               }) &&
           !AreMostOffByOne();
  }

  // Rounding moves few quotients across a tie.
  bool AreMostOffByOne() const {
    int64_t count = 0;
    different_.ForEach([&](int64_t element) {
      count += std::abs(evidence_.actual.Value(element) - evidence_.expected.Value(element)) == 1;
    });
    constexpr int64_t kFewestTold = 8;
    return evidence_.count() >= kFewestTold && 4 * count > 3 * evidence_.count();
  }

  // Returns for each element whether it differs by noise.
  std::vector<uint8_t> MeasureErrors(const std::vector<int64_t>& different) {
    std::vector<uint8_t> are_noise(different.size());
    const bool has_units = evidence_.units.has_value();
    std::vector<double> ulps(different.size()), units(has_units ? different.size() : 0);
    std::atomic<int64_t> toward_zero = 0;
    ParallelFor(std::ssize(different), kDifferentGrain, /*bytes=*/0,
                [&](int64_t begin, int64_t end) {
                  int64_t nearer = 0;
                  for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
                    const int64_t element = different[i];
                    const double actual = evidence_.actual.Value(element);
                    const double expected = evidence_.expected.Value(element);
                    const bool is_finite = std::isfinite(actual) && std::isfinite(expected);
                    nearer += std::abs(actual) < std::abs(expected);
                    ulps[i] = is_finite ? UlpOf(evidence_, element) : kNone;
                    if (!has_units) {
                      are_noise[i] = IsNoise(evidence_, nullptr, element, actual, expected);
                      continue;
                    }
                    const double error =
                        evidence_.units->UnitsOf(element, actual, expected, evidence_.actual.type);
                    units[i] = is_finite ? error : kNone;
                    are_noise[i] = error <= NoiseOf(evidence_, *evidence_.units, element);
                  }
                  toward_zero += nearer;
                });
    const std::array<std::vector<double>*, 2> errors = {&ulps, &units};
    const std::array<std::optional<ErrorFigures>*, 2> figures = {&result_.ulp, &result_.units};
    ParallelFor(2, 1, /*bytes=*/0, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        std::erase_if(*errors[i], [](double error) { return std::isnan(error); });
        if (!errors[i]->empty()) *figures[i] = FiguresOf(std::move(*errors[i]));
      }
    });
    if (has_units) result_.terms = std::ranges::max(evidence_.units->terms);
    if (IsFloat(evidence_.actual.type)) {
      result_.toward_zero =
          static_cast<double>(toward_zero) / static_cast<double>(result_.different);
    }
    return are_noise;
  }

  bool MayBeAnything(int64_t element) const {
    return evidence_.units && evidence_.units->MayBeAnything(element);
  }

  // If nothing is beyond noise, all that differs is to be explained, unless it may be anything.
  void DivideElements(const std::vector<int64_t>& different,
                      const std::vector<uint8_t>& are_noise) {
    for (size_t i = 0; i < different.size(); ++i) {
      if (are_noise[i] == 0) evidence_.wrong.push_back(different[i]);
    }
    result_.beyond_noise = std::ssize(evidence_.wrong);
    if (evidence_.wrong.empty()) {
      evidence_.wrong = Those(different, [&](int64_t element) { return !MayBeAnything(element); });
    }
    if (evidence_.wrong.empty()) evidence_.wrong = different;
    evidence_.right.reserve(static_cast<size_t>(evidence_.count()) - evidence_.wrong.size());
    auto next = evidence_.wrong.begin();
    for (int64_t element = 0; element < evidence_.count(); ++element) {
      if (next != evidence_.wrong.end() && *next == element) {
        ++next;
      } else {
        evidence_.right.push_back(element);
      }
    }
  }

  void Locate() {
    WrongElements wrong(evidence_.count());
    for (const int64_t element : evidence_.wrong) wrong.Add(element);
    result_.where = WhereOf(evidence_.expected.sizes, wrong);
    result_.classes = ClassesOf(evidence_.actual.view(), evidence_.expected.view(), wrong);
  }

  // The elements of either side that take so much work in all, if each one takes `each`.
  size_t SampleSize(int64_t most, int64_t each, int64_t fewest) const {
    if (options_.is_thorough) return static_cast<size_t>(evidence_.count());
    return static_cast<size_t>(
        std::clamp(most / (2 * std::max<int64_t>(each, 1)), fewest, kMostElements));
  }

  void FindCauses() {
    result_.verdict = DiagnosisVerdict::kUnknown;
    for (const Stage stage :
         {Stage::kSimple, Stage::kInputs, Stage::kPairs, Stage::kChangeAndArithmetic,
          Stage::kTwoArithmetics, Stage::kLastResort}) {
      Count(HypothesesOf(evidence_, few_, stage));
      if (counted_.empty() || !counted_.front().is_cause()) continue;
      if (stage < Stage::kPairs && !counted_.front().explains_enough()) continue;
      if (stage == Stage::kSimple && IsByChance(counted_.front())) {
        Count(HypothesesOf(evidence_, few_, Stage::kInputs));
      }
      result_.verdict = DiagnosisVerdict::kCause;
      return TellCauses();
    }
  }

  // An arithmetic that is as far off as the device, but has none of its bits and not all that is
  // wrong, may be so by chance.
  static bool IsByChance(const Counted& one) {
    return one.hypothesis.arithmetic && one.score.exact == 0 && !one.is_complete();
  }

  // Among noise, another arithmetic must have the bits of what differs, or be much nearer to it.
  // Sums of FLOAT32 in some order are what a right device has, and so are other steps in FLOAT32,
  // and results of these that are rounded once more to FLOAT16.
  void FindArithmetic() {
    result_.verdict = DiagnosisVerdict::kNoise;
    // So few may all be rounded one way by chance, and so few that differ may be by many
    // arithmetics.
    constexpr int64_t kFewestTold = 7;
    constexpr size_t kFewestDifferent = 2;
    if (evidence_.count() < kFewestTold || evidence_.wrong.size() < kFewestDifferent) return;
    if (MayBeAnything(evidence_.wrong.front())) return;
    evidence_.criterion = Criterion::kNearer;  // as what has the bits is, too
    const auto nearer = HypothesesOf(evidence_, few_, Stage::kAmongNoise);
    if (FindAmong(nearer, Criterion::kBits, std::nullopt)) return;
    // If most are as near as roundings can be, nothing is nearer but by chance.
    if (result_.units && result_.units->median > 0)
      FindAmong(nearer, Criterion::kNearer, kNearerShare);
  }

  bool FindAmong(std::vector<RankedHypothesis> hypotheses, Criterion criterion,
                 std::optional<double> least) {
    evidence_.criterion = criterion;
    counted_.clear();
    Count(std::move(hypotheses));
    std::erase_if(counted_, [&](const Counted& one) {
      return one.score.share() < least.value_or(one.hypothesis.enough);
    });
    const bool is_healthy =
        std::ranges::any_of(counted_, [&](const Counted& one) { return IsHealthy(one); });
    if (is_healthy) {
      NameOrder();
      return true;
    }
    if (counted_.empty()) return false;
    result_.verdict = DiagnosisVerdict::kCause;
    TellCauses();
    return true;
  }

  // The order of its sums is no cause of a right device's differences.
  void NameOrder() {
    const auto order = std::ranges::find_if(counted_, IsOrderOfSums);
    if (order == counted_.end()) return;
    result_.order_id = order->hypothesis.ids.front();
    result_.order_text = order->hypothesis.text;
  }

  static bool IsOrderOfSums(const Counted& one) {
    return one.hypothesis.ids.front().starts_with("sums-float32");
  }

  bool IsHealthy(const Counted& one) const {
    const auto& [op, inputs, storage, sources] = evidence_.computation;
    if (one.hypothesis.ids.front() == "through-float32") {
      return evidence_.units.has_value() && !OnlyConverts(op);
    }
    return IsOrderOfSums(one) || (one.hypothesis.ids.front() == "float32-steps" &&
                                  !IsChainOfExactSteps(op, inputs, evidence_.output));
  }

  // Counts many on some elements first, and only the best on all.
  void Count(std::vector<RankedHypothesis> hypotheses) {
    std::vector<Counted> found;
    for (auto& [hypothesis, rank] : hypotheses)
      found.push_back({std::move(hypothesis), {}, rank, nullptr});
    if (found.size() > kMostCounted) {
      const SampledElements some = SampleOf(evidence_, kSome);
      Score(found, some, small_sample_.wrong.size() < kSome ? small_sample_ : some,
            ScoreAccuracy::kQuick);
      found.resize(kMostCounted);
    }
    Score(found, sample_, small_sample_, ScoreAccuracy::kFull);
    for (Counted& one : found) counted_.push_back(std::move(one));
    std::ranges::stable_sort(counted_, {}, [](const Counted& one) { return one.order(); });
  }

  void Score(std::vector<Counted>& found, const SampledElements& sample,
             const SampledElements& of_slow, ScoreAccuracy accuracy) const {
    std::vector<const Hypothesis*> hypotheses;
    for (const Counted& one : found) hypotheses.push_back(&one.hypothesis);
    auto computed = ComputedTogether(evidence_, hypotheses, of_slow.all());
    ParallelFor(std::ssize(found), 1, /*bytes=*/0, [&](int64_t first, int64_t past) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(past); ++i) {
        const Hypothesis& hypothesis = found[i].hypothesis;
        found[i].sample = hypothesis.is_slow ? &of_slow : &sample;
        found[i].score =
            ScoreOf(evidence_, hypothesis, *found[i].sample, accuracy, std::move(computed[i]));
      }
    });
    std::ranges::stable_sort(found, {}, [](const Counted& one) { return one.order(); });
  }

  // Others with the same values are told with a cause. They are causes of their own, too, unless
  // they are of the same kind.
  void TellCauses() {
    constexpr double kLeast = 0.1;
    std::vector<const Counted*> told;
    for (const Counted& one : counted_) {
      if (one.score.share() < kLeast || told.size() == Diagnosis::kMostCauses) break;
      const bool is_known =
          std::ranges::any_of(told, [&](const Counted* earlier) { return IsLike(*earlier, one); });
      if (!is_known) told.push_back(&one);
    }
    for (const Counted* one : told) result_.causes.push_back(CauseOf(*one));
  }

  static bool IsLike(const Counted& a, const Counted& b) {
    const auto kind = [](const Counted& one) {
      return one.hypothesis.ids.front().substr(0, one.hypothesis.ids.front().find_first_of(":=<"));
    };
    return a.score.hash == b.score.hash && a.sample == b.sample && kind(a) == kind(b);
  }

  std::vector<std::string> SameAs(const Counted& one) const {
    std::vector<std::string> same;
    bool has_unwritten = IsUnwritten(one);
    for (const Counted& other : counted_) {
      const bool is_same = &other != &one && other.score.hash == one.score.hash &&
                           other.sample == one.sample && other.hypothesis.ids.size() == 1;
      if (!is_same || (has_unwritten && IsUnwritten(other))) continue;
      has_unwritten |= IsUnwritten(other);
      same.push_back(other.hypothesis.ids.front());
    }
    return same;
  }

  // The ids of elements that are not written, such as of a box and of a run, are several spellings
  // of one cause where these are the same.
  static bool IsUnwritten(const Counted& one) {
    return one.hypothesis.ids.front().starts_with("not-written");
  }

  Cause CauseOf(const Counted& one) const {
    const bool is_sampled = one.sample->wrong.size() < evidence_.wrong.size() ||
                            one.sample->right.size() < evidence_.right.size();
    const auto& score = one.score;
    return {.ids = one.hypothesis.ids,
            .text = one.hypothesis.text,
            .explains = score.explained + score.zeros,
            .of = score.of + score.unknown,
            .exact = score.exact + score.zeros,
            .at_edge = score.unknown - score.zeros,
            .has_values = one.hypothesis.has_bits,
            .sampled = is_sampled,
            .same = SameAs(one)};
  }

  const DiagnosisOptions options_;
  const Computation computation_;
  Evidence evidence_;
  WrongElements different_;
  SampledElements sample_;
  SampledElements small_sample_;  // for slow hypotheses
  SampledElements few_;
  std::vector<Counted> counted_;
  Diagnosis result_;
};

}  // namespace

std::string_view Name(DiagnosisVerdict verdict) {
  constexpr std::string_view kNames[] = {"equal", "noise", "cause", "unknown"};
  return kNames[static_cast<size_t>(verdict)];
}

Diagnosis Diagnose(const Computation& computation, size_t output, const ConstTensorView& actual,
                   const ConstTensorView& expected, const DiagnosisOptions& options,
                   bool in_bfloat16) {
  return std::make_shared<Diagnostician>(computation, output, actual, expected, options,
                                         in_bfloat16)
      ->Execute();
}

}  // namespace dmlop
