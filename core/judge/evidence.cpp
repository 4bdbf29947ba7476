// SPDX-License-Identifier: Apache-2.0
#include "core/judge/evidence.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/compare/alignment.h"
#include "core/engine/copy/copy_views.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// A promising hypothesis explains this share of a few wrong elements, roughly.
constexpr double kPromising = 0.6;

std::vector<int64_t> Spread(const std::vector<int64_t>& all, size_t most) {
  if (all.size() <= most) return all;
  // Elements at equal distances may all lie in one column; those at distances that grow by the same
  // amount each time lie in a few.
  constexpr double kGoldenRatio = 0.6180339887498949;
  const double distance = static_cast<double>(all.size()) / static_cast<double>(most);
  std::vector<int64_t> some;
  for (size_t i = 0; i < most; ++i) {
    const auto k = static_cast<double>(i);
    const double within = k * k * kGoldenRatio - std::floor(k * k * kGoldenRatio);
    some.push_back(all[static_cast<size_t>((k + within) * distance)]);
  }
  return some;
}

bool AreEqual(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// A right output that is only moved has no units, but what a device computes in its place may have
// units of its own.
bool HasOwnUnits(const Evidence& evidence, const Hypothesis& hypothesis) {
  return hypothesis.units && IsFloat(evidence.actual.type);
}

// Returns the error of a device; all that it has, where no number or an infinite one is right.
double ErrorOf(const Evidence& evidence, int64_t element) {
  const double actual = evidence.actual.Value(element);
  const double error = std::abs(actual - evidence.expected.Value(element));
  return std::isfinite(error) ? error : std::abs(actual);
}

// Returns whether a varied value is so much nearer to the actual one than the right value is that
// rounding may account for the rest.
bool IsNearer(const Evidence& evidence, int64_t element, double varied, bool is_rounded) {
  const double actual = evidence.actual.Value(element);
  if (AreEqual(actual, varied)) return true;
  const bool needs_bits = !is_rounded || evidence.criterion == Criterion::kBits;
  if (needs_bits || !std::isfinite(varied)) return false;
  return std::abs(actual - varied) <= ErrorOf(evidence, element) / 4;
}

// Returns whether a right element would be wrong, however its units change.
bool IsChanged(const Evidence& evidence, int64_t element, double varied) {
  const double actual = evidence.actual.Value(element);
  const double error = std::abs(actual - evidence.expected.Value(element));
  if (AreEqual(actual, varied) || std::abs(actual - varied) <= 2 * error) return false;
  const bool needs_bits = !evidence.units || evidence.criterion != Criterion::kRounding;
  return !IsNoise(evidence, needs_bits ? nullptr : &*evidence.units, element, actual, varied);
}

// Returns how many wrong elements of the sample a right one counts for.
double WeightOfRight(const Evidence& evidence, const SampledElements& sample) {
  const auto ratio = [](const std::vector<int64_t>& all, const std::vector<int64_t>& some) {
    return static_cast<double>(all.size()) / static_cast<double>(std::max<size_t>(some.size(), 1));
  };
  return ratio(evidence.right, sample.right) / ratio(evidence.wrong, sample.wrong);
}

uint64_t Mixed(uint64_t hash, const ElementBytes& bytes) {
  const auto text = std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return hash * 0x9E3779B97F4A7C15 + std::hash<std::string_view>()(text);
}

// Elements as the device's file has them.
std::vector<VariedElement> AsInFile(const Evidence& evidence, std::vector<VariedElement> varied) {
  if (!evidence.in_bfloat16) return varied;
  const DataType type = evidence.actual.type;
  for (VariedElement& element : varied) {
    const auto rounded = RoundedToBfloat16({element.bytes.data(), type, {{1}, {1}}});
    element.bytes = ConvertElement(ElementOf<float>(rounded->data()), type);
  }
  return varied;
}

// Counts one hypothesis on a sample.
class Scoring {
 public:
  Scoring(const Evidence& evidence, const Hypothesis& hypothesis)
      : evidence_(evidence),
        hypothesis_(hypothesis),
        units_(evidence.units ? &*evidence.units : nullptr) {}

  Score Of(const SampledElements& sample, ScoreAccuracy accuracy,
           std::vector<VariedElement> computed) {
    const auto varied = AsInFile(evidence_, std::move(computed));
    const bool is_quick =
        accuracy == ScoreAccuracy::kQuick && (evidence_.units || evidence_.count() > kManyElements);
    if (!HasOwnUnits(evidence_, hypothesis_) || is_quick) return Count(sample, varied);
    if (evidence_.count() > kManyElements) {
      const Score score = Count(sample, varied);
      const bool is_complete = score.explained == score.of && score.broken == 0;
      if (is_complete || score.share() < kLittle) return score;
    }
    own_units_ = hypothesis_.units();
    if (own_units_) {
      own_units_->in_bfloat16 = evidence_.in_bfloat16;
      units_ = &*own_units_;
    }
    return Count(sample, varied);
  }

 private:
  // If its own units take long, the right ones are tried first, and these suffice if a hypothesis
  // explains next to nothing by them.
  static constexpr int64_t kManyElements = 100'000;
  static constexpr double kLittle = 0.1;

  Score Count(const SampledElements& sample, const std::vector<VariedElement>& varied) {
    score_ = {};
    const size_t wrong = sample.wrong.size();
    for (size_t i = 0; i < wrong; ++i) CountWrong(sample.wrong[i], varied[i]);
    int64_t broken = 0;
    for (size_t i = 0; i < sample.right.size(); ++i) {
      broken += !IsKept(sample.right[i], varied[wrong + i]);
    }
    score_.broken = static_cast<double>(broken) * WeightOfRight(evidence_, sample);
    score_.rest /= static_cast<double>(std::max<int64_t>(score_.explained, 1));
    return score_;
  }

  bool Reproduces(int64_t element, const VariedElement& varied) const {
    const PackedOutput& actual = evidence_.actual;
    if (varied.bytes == actual.Bytes(element)) return true;
    const double value = ValueOf(actual.type, varied.bytes.data());
    switch (evidence_.criterion) {
      case Criterion::kRounding:
        return IsNoise(evidence_, units_, varied.place, actual.Value(element), value);
      case Criterion::kNearer:
        return IsWithoutUnits(element, varied) ||
               IsNearer(evidence_, element, value, evidence_.units.has_value());
      case Criterion::kBits:
        break;
    }
    return IsFloat(actual.type) && AreEqual(actual.Value(element), value);
  }

  // Returns whether no unit is left of some. Where the right value has none either, only bits tell.
  bool IsWithoutUnits(int64_t element, const VariedElement& varied) const {
    const VariedElement right{evidence_.expected.Bytes(element), element};
    return UnitsOf(element, varied) == 0 && UnitsOf(element, right) > 0;
  }

  void CountWrong(int64_t element, const VariedElement& varied) {
    score_.hash = Mixed(score_.hash, varied.bytes);
    ++(varied.is_known() ? score_.of : score_.unknown);
    if (!varied.is_known()) {
      score_.zeros += evidence_.actual.Bytes(element) == ElementBytes{};
      return;
    }
    const bool is_exact = hypothesis_.has_bits && varied.bytes == evidence_.actual.Bytes(element);
    score_.exact += is_exact;
    if (hypothesis_.needs_bits ? !is_exact : !Reproduces(element, varied)) return;
    ++score_.explained;
    const double units = UnitsOf(element, varied);
    score_.rest += units * units;
  }

  double UnitsOf(int64_t element, const VariedElement& varied) const {
    const PackedOutput& actual = evidence_.actual;
    return units_ == nullptr || evidence_.criterion == Criterion::kBits
               ? 0
               : units_->UnitsOf(varied.place, actual.Value(element),
                                 ValueOf(actual.type, varied.bytes.data()), actual.type);
  }

  bool IsKept(int64_t element, const VariedElement& varied) {
    score_.hash = Mixed(score_.hash, varied.bytes);
    return !varied.is_known() || Reproduces(element, varied);
  }

  const Evidence& evidence_;
  const Hypothesis& hypothesis_;
  std::optional<ErrorUnits> own_units_;
  const ErrorUnits* units_;
  Score score_;
};

}  // namespace

double PartOfNumbersNearOne(const ErrorUnits& units, int64_t element) {
  const double size = units.scale[static_cast<size_t>(element)];
  const bool is_absolute = units.has_logarithm || (units.is_beside_one && size >= units.least);
  return is_absolute && units.bound == ErrorUnits::Bound::kOneValue && std::isfinite(size)
             ? 1 + 1 / (size + units.least)
             : 1;
}

ElementBytes PackedOutput::Bytes(int64_t element) const {
  ElementBytes bytes{};
  std::memcpy(bytes.data(), at(element), ByteWidth(type));
  return bytes;
}

PackedOutput Packed(const ConstTensorView& view) {
  PackedOutput packed{Buffer(static_cast<size_t>(view.element_bytes())), view.type,
                      view.layout.sizes};
  const Move move{view, {packed.buffer.data(), view.type, PackedLayout(packed.sizes)}};
  CopyAll({&move, 1});
  return packed;
}

bool IsNoise(const Evidence& evidence, const ErrorUnits* units, int64_t element, double actual,
             double value) {
  const DataType type = evidence.actual.type;
  const bool is_rounded = !IsFloat(type) && ByteWidth(type) == 8;  // then equal bits are needed
  if (AreEqual(actual, value) && !is_rounded) return true;
  if (units == nullptr) {
    const bool may_step = evidence.is_quantized && evidence.criterion != Criterion::kBits;
    return may_step && std::abs(actual - value) <= 1;
  }
  return units->UnitsOf(element, actual, value, type) <= NoiseOf(evidence, *units, element);
}

// A device with results in bfloat16 keeps sums in FLOAT32, too, unless that is what is wrong.
double NoiseOf(const Evidence& evidence, const ErrorUnits& units, int64_t element) {
  const double allowed = units.AllowedSums(element);
  return (evidence.in_bfloat16 ? allowed / kFloatStepsOfBfloat16 : allowed) *
         PartOfNumbersNearOne(units, element);
}

double ShareOfValue(const Evidence& evidence, const ElementBytes& value) {
  constexpr int kSteps = 16;
  int64_t equal = 0, close = 0;
  VisitDataType(AllTypes(), evidence.actual.type, [&]<typename T>() {
    const T one = ElementOf<T>(value.data());
    for (int64_t i = 0; i < evidence.count(); ++i) {
      const auto steps = UlpDistance(one, ElementOf<T>(evidence.expected.at(i)));
      equal += steps == 0;
      close += steps <= kSteps;
    }
  });
  const auto others = [](int64_t count) {
    return static_cast<double>(std::max<int64_t>(count - 1, 0));
  };
  return std::max(others(equal), others(close) / (2 * kSteps + 1)) /
         static_cast<double>(evidence.count());
}

Hypothesis OfComputation(std::string id, std::string text, Computation changed, size_t output) {
  const auto shared = std::make_shared<Computation>(std::move(changed));
  Hypothesis hypothesis{{std::move(id)}, std::move(text), nullptr, nullptr};
  hypothesis.compute = [shared, output](std::span<const int64_t> elements) {
    const std::vector<ElementBytes> values = ElementsOf(*shared, output, elements);
    std::vector<VariedElement> varied;
    for (size_t i = 0; i < values.size(); ++i) varied.push_back({values[i], elements[i]});
    return varied;
  };
  hypothesis.units = [shared, output]() -> std::optional<ErrorUnits> {
    if (WorkOf(shared->op) > kMostWorkForUnits) return std::nullopt;
    const Buffer whole = WholeOutput(*shared, output);
    const TensorDesc& desc = *TensorSlots(shared->op, TensorRole::kOutput)[output].desc;
    return ErrorUnitsOf(
        shared->op, shared->inputs,
        {whole.data(), StoredAs(*desc.data_type), PackedLayout(LayoutOf(desc).sizes)},
        shared->SourceOf(output));
  };
  return hypothesis;
}

SampledElements SampleOf(const Evidence& evidence, size_t most) {
  return {Spread(evidence.wrong, most), Spread(evidence.right, most)};
}

std::vector<int64_t> SampledElements::all() const {
  std::vector<int64_t> elements = wrong;
  elements.insert(elements.end(), right.begin(), right.end());
  return elements;
}

// Returns whether enough of the wrong elements are known. Of a far shift many come from beyond an
// edge; a third is enough if those have one value.
bool KnowsEnough(const Evidence& evidence, const SampledElements& few,
                 std::span<const VariedElement> varied) {
  const auto wrong = static_cast<int64_t>(few.wrong.size());
  std::optional<double> rest;
  int64_t known = 0;
  bool is_one_value = true;
  for (size_t i = 0; i < few.wrong.size(); ++i) {
    known += varied[i].is_known();
    if (varied[i].is_known()) continue;
    const double value = evidence.actual.Value(few.wrong[i]);
    is_one_value = is_one_value && AreEqual(rest.value_or(value), value);
    rest = value;
  }
  return 8 * known >= 3 * wrong || (3 * known >= wrong && is_one_value);
}

std::span<const int64_t> FirstOf(const SampledElements& few) {
  return std::span(few.wrong).first((few.wrong.size() + 1) / 2);
}

bool MayStillBePromising(const Evidence& evidence, const SampledElements& few,
                         std::vector<VariedElement> computed, bool are_rounded) {
  const std::vector<VariedElement> varied = AsInFile(evidence, std::move(computed));
  const auto unseen = static_cast<double>(few.wrong.size() - varied.size());
  double known = unseen, nearer = unseen;
  for (size_t i = 0; i < varied.size(); ++i) {
    if (!varied[i].is_known()) continue;
    const double value = ValueOf(evidence.actual.type, varied[i].bytes.data());
    ++known;
    nearer += IsNearer(evidence, few.wrong[i], value, are_rounded);
  }
  return nearer >= kPromising * known;
}

bool IsPromising(const Evidence& evidence, const Hypothesis& hypothesis,
                 const SampledElements& few) {
  const bool are_rounded = evidence.units || HasOwnUnits(evidence, hypothesis);
  std::vector<VariedElement> computed = hypothesis.compute(FirstOf(few));
  if (!MayStillBePromising(evidence, few, computed, are_rounded)) return false;
  const std::vector<int64_t> all = few.all();
  std::ranges::move(hypothesis.compute(std::span(all).subspan(FirstOf(few).size())),
                    std::back_inserter(computed));
  return ArePromising(evidence, few, std::move(computed), are_rounded);
}

bool ArePromising(const Evidence& evidence, const SampledElements& few,
                  std::vector<VariedElement> computed, bool are_rounded) {
  const std::vector<VariedElement> varied = AsInFile(evidence, std::move(computed));
  int64_t known = 0, nearer = 0, changed = 0;
  const auto value = [&](size_t i) {
    return ValueOf(evidence.actual.type, varied[i].bytes.data());
  };
  for (size_t i = 0; i < few.wrong.size(); ++i) {
    known += varied[i].is_known();
    nearer += varied[i].is_known() && IsNearer(evidence, few.wrong[i], value(i), are_rounded);
  }
  for (size_t i = few.wrong.size(); i < varied.size(); ++i) {
    const int64_t element = few.right[i - few.wrong.size()];
    changed += varied[i].is_known() && IsChanged(evidence, element, value(i));
  }
  const double share =
      static_cast<double>(nearer) - static_cast<double>(changed) * WeightOfRight(evidence, few) / 2;
  return KnowsEnough(evidence, few, varied) && nearer > 0 &&
         share >= kPromising * static_cast<double>(known);
}

bool HasAnyBits(const Evidence& evidence, std::span<const int64_t> elements,
                std::vector<VariedElement> computed) {
  const std::vector<VariedElement> varied = AsInFile(evidence, std::move(computed));
  for (size_t i = 0; i < elements.size(); ++i) {
    const double value = ValueOf(evidence.actual.type, varied[i].bytes.data());
    if (IsNearer(evidence, elements[i], value, /*is_rounded=*/false)) return true;
  }
  return false;
}

bool MayBePromising(const Evidence& evidence, std::span<const int64_t> few,
                    const std::function<std::optional<double>(int64_t element)>& value_of) {
  double unseen = static_cast<double>(few.size());
  double nearer = 0, farther = 0;
  for (const int64_t element : few) {
    --unseen;
    const auto value = value_of(element);
    if (!value) continue;
    ++(IsNearer(evidence, element, *value, evidence.units.has_value()) ? nearer : farther);
    if (nearer + unseen < kPromising * (nearer + farther + unseen)) return false;
  }
  return nearer > 0;
}

Score ScoreOf(const Evidence& evidence, const Hypothesis& hypothesis, const SampledElements& sample,
              ScoreAccuracy accuracy, std::optional<std::vector<VariedElement>> computed) {
  if (!computed) computed = hypothesis.compute(sample.all());
  return Scoring(evidence, hypothesis).Of(sample, accuracy, *std::move(computed));
}

}  // namespace dmlop
