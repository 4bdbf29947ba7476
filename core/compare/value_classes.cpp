// SPDX-License-Identifier: Apache-2.0
#include "core/compare/wrong_elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/compare/elements.h"
#include "core/kernels/reduce/block_errors.h"

namespace dmlop {
namespace {

// A class that an element is in by itself: the first that fits.
enum ValueKind : size_t {
  kFlushed,
  kNanForNumber,
  kNumberForNan,
  kInfinityForNumber,
  kNumberForInfinity,
  kZero,
  kNegated,
  kOther,
  kKinds
};

// The unit roundoff of a float type.
template <typename T>
inline constexpr double kUnitRoundoff = sizeof(T) == 2   ? 0x1p-11
                                        : sizeof(T) == 4 ? 0x1p-24
                                                         : 0x1p-53;

// Returns whether bytes are all the same, as memory is filled before it is used.
template <typename T>
bool IsRepeatedByte(T element) {
  const uint64_t bits = ElementBits(element);
  constexpr uint64_t kEvery = std::numeric_limits<uint64_t>::max() / 255 >> (64 - 8 * sizeof(T));
  return sizeof(T) > 1 && bits == (bits & 255) * kEvery;
}

template <typename T>
ValueKind ValueKindOf(const ValuePair<T>& pair) {
  const double a = pair.a();
  const double e = pair.e();
  if constexpr (kIsFloatElement<T>) {
    if (a == 0 && e != 0 && IsSubnormal(pair.expected)) return kFlushed;
  }
  if (std::isnan(a)) return std::isnan(e) ? kOther : kNanForNumber;
  if (std::isnan(e)) return kNumberForNan;
  if (std::isinf(a)) return std::isinf(e) ? (a == -e ? kNegated : kOther) : kInfinityForNumber;
  if (std::isinf(e)) return kNumberForInfinity;
  if (a == 0) return kZero;
  return a == -e ? kNegated : kOther;
}

// Properties that the elements of no other kind may have in common.
template <typename T>
struct Hypotheses {
  std::optional<T> value;            // actual
  std::optional<double> difference;  // actual - expected
  std::optional<double> factor;      // actual / expected
  double difference_slack = 0;       // rounding of the element that the difference is taken from
  std::optional<Dims> shift;         // from an element to the place whose expected value it has
};

template <typename T>
bool HasDifference(const ValuePair<T>& pair, double difference, double slack) {
  const double error = pair.difference() - difference;
  if constexpr (!kIsFloatElement<T>) return error == 0;
  return std::abs(error) <= slack + kUnitRoundoff<T> * pair.magnitude();
}

template <typename T>
bool HasFactor(const ValuePair<T>& pair, double factor) {
  const double product = factor * pair.e();
  if constexpr (!kIsFloatElement<T>) return std::abs(pair.a() - product) <= 0.5;
  return std::abs(pair.a() - product) <= 4 * kUnitRoundoff<T> * std::abs(product);
}

// Finds what holds for most of a sample of the elements that are of no other kind.
template <typename T>
class HypothesisSearch {
 public:
  HypothesisSearch(const ElementPairs<T>& pairs, const WrongElements& wrong)
      : pairs_(pairs), wrong_(wrong) {
    TakeSample();
    if (!sample_.empty()) Suppose();
  }

  const Hypotheses<T>& found() const { return supposed_; }

 private:
  static constexpr int64_t kSampleSize = 64;

  // An element and the places whose expected value is its actual one.
  struct Sought {
    ValuePair<T> pair;
    std::vector<int64_t> places;
  };

  // Takes finite elements of no kind at unequal distances, as these may have a pattern.
  void TakeSample() {
    const int64_t step = std::max<int64_t>(1, wrong_.count() / kSampleSize);
    std::minstd_rand random;
    int64_t skipped = 0;
    wrong_.ForEach([&](int64_t number) {
      if (skipped-- > 0) return;
      skipped = static_cast<int64_t>(random()) % (2 * step - 1);
      const ValuePair<T> pair = pairs_.PairAt(number);
      if (ValueKindOf(pair) == kOther && pair.is_finite()) sample_.push_back(pair);
    });
    std::ranges::sort(sample_, {}, [](const ValuePair<T>& pair) { return pair.magnitude(); });
  }

  bool IsMost(int64_t count) const { return 2 * count > std::ssize(sample_); }

  template <typename Holds>
  bool HoldsForMost(Holds&& holds) const {
    return IsMost(std::ranges::count_if(sample_, holds));
  }

  void Suppose() {
    SupposeValue();
    if (is_one_value_) return;
    SupposeDifference();
    SupposeFactor();
    if (!supposed_.difference && !supposed_.factor) SupposeShift();
  }

  // The value that most have, or a pattern of bytes that some do.
  void SupposeValue() {
    std::map<uint64_t, int64_t> counts;
    for (const ValuePair<T>& pair : sample_) ++counts[ElementBits(pair.actual)];
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    if (most->second == 1) return;
    const uint64_t bits = most->first;
    const T value = ElementOf<T>(BytesOf(bits));
    if (IsRepeatedByte(value) || IsMost(most->second)) supposed_.value = value;
    is_one_value_ = IsMost(most->second);
  }

  // The smallest elements are rounded least.
  void SupposeDifference() {
    constexpr size_t kTried = 8;
    for (size_t i = 0; i < std::min(kTried, sample_.size()); ++i) {
      const ValuePair<T>& from = sample_[i];
      const double difference = from.difference();
      const double slack = kIsFloatElement<T> ? kUnitRoundoff<T> * from.magnitude() : 0;
      const bool is_common = HoldsForMost([&](const ValuePair<T>& pair) {
        const double rounding = slack + kUnitRoundoff<T> * pair.magnitude();
        const bool is_noise = kIsFloatElement<T> && std::abs(difference) < 8 * rounding;
        return !is_noise && HasDifference(pair, difference, slack);
      });
      if (!is_common) continue;
      supposed_.difference = difference;
      supposed_.difference_slack = slack;
      return;
    }
  }

  // The largest elements are normal numbers.
  void SupposeFactor() {
    constexpr size_t kTried = 8;
    for (size_t i = 0; i < std::min(kTried, sample_.size()); ++i) {
      const ValuePair<T>& from = sample_[sample_.size() - 1 - i];
      const double factor = from.a() / from.e();
      const bool is_noise = kIsFloatElement<T> ? std::abs(factor - 1) < 32 * kUnitRoundoff<T>
                                               : std::abs(from.difference()) <= 1;
      if (from.e() == 0 || is_noise) continue;
      if (!HoldsForMost([&](const ValuePair<T>& pair) { return HasFactor(pair, factor); }))
        continue;
      supposed_.factor = factor;
      return;
    }
  }

  bool IsNoise() const {
    constexpr double kNoise = 32 * kUnitRoundoff<T>;
    return kIsFloatElement<T> && HoldsForMost([](const ValuePair<T>& pair) {
             return std::abs(pair.a() - pair.e()) <= kNoise * pair.magnitude();
           });
  }

  // Finds the places whose expected values some elements have.
  void SupposeShift() {
    constexpr size_t kSought = 8;
    constexpr int64_t kMostPlaces = 4;  // a value at more of them tells little
    if (IsNoise()) return;
    std::vector<Sought> sought;
    const size_t step = (sample_.size() + kSought - 1) / kSought;
    for (size_t i = 0; i < sample_.size(); i += step) sought.push_back({sample_[i], {}});
    FindPlaces(sought, kMostPlaces + 1);
    std::map<std::vector<int64_t>, int64_t> votes;
    for (const auto& [pair, places] : sought) {
      if (std::ssize(places) > kMostPlaces) continue;
      for (const int64_t place : places) {
        const Dims shift = pairs_.Shift(pair.number, place);
        ++votes[{shift.begin(), shift.end()}];
      }
    }
    const auto best =
        std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
    if (best == votes.end()) return;
    const Dims shift(best->first.begin(), best->first.end());
    if (HoldsForMost([&](const ValuePair<T>& pair) { return pairs_.IsShifted(pair, shift); })) {
      supposed_.shift = shift;
    }
  }

  // Finds the first places whose expected values are the actual ones sought.
  void FindPlaces(std::vector<Sought>& sought, size_t most) const {
    for (int64_t i = 0; i < wrong_.element_count(); ++i) {
      const uint64_t bits = ElementBits(pairs_.ExpectedAt(i));
      for (auto& [pair, places] : sought) {
        if (bits == ElementBits(pair.actual) && places.size() < most) places.push_back(i);
      }
    }
  }

  const ElementPairs<T>& pairs_;
  const WrongElements& wrong_;
  std::vector<ValuePair<T>> sample_;  // by magnitude
  Hypotheses<T> supposed_;
  bool is_one_value_ = false;  // of the sample
};

struct KindName {
  const char* id;
  const char* one;
  const char* several;
};

constexpr std::array<KindName, kOther> kKindNames = {{
    {"flush-subnormals", "is 0 for a subnormal number", "are 0 for subnormal numbers"},
    {"nan-for-number", "is NaN for a number", "are NaN for numbers"},
    {"number-for-nan", "is a number for NaN", "are numbers for NaN"},
    {"infinity-for-number", "is infinite for a number", "are infinite for numbers"},
    {"number-for-infinity", "is a number for infinity", "are numbers for infinities"},
    {"zero", "is 0", "are 0"},
    {"negated", "is negated", "are negated"},
}};

// Fewer elements have a difference, or a factor, in common by chance.
constexpr int64_t kLeastElements = 4;

template <typename T>
class Classifier {
 public:
  Classifier(const ElementPairs<T>& pairs, const WrongElements& wrong)
      : pairs_(pairs), wrong_(wrong), supposed_(HypothesisSearch<T>(pairs, wrong).found()) {}

  std::vector<ValueClass> Classes() {
    CountAll();
    AddKinds();
    AddCommon();
    return std::move(classes_);
  }

 private:
  // Elements of one thread, or of all.
  struct Tally {
    std::array<int64_t, kKinds> kinds{};
    int64_t finite = 0;  // of kOther, like the following
    int64_t same_value = 0, same_difference = 0, same_factor = 0, shifted = 0;
    int64_t toward_zero = 0, away_from_zero = 0, too_large = 0, too_small = 0;
  };

  void Count(const ValuePair<T>& pair, Tally& tally) const {
    const ValueKind kind = ValueKindOf(pair);
    ++tally.kinds[kind];
    if (kind != kOther || !pair.is_finite()) return;
    ++tally.finite;
    const double a = pair.a();
    const double e = pair.e();
    const bool is_same_side = e != 0 && (a > 0) == (e > 0);
    tally.toward_zero += is_same_side && std::abs(a) < std::abs(e);
    tally.away_from_zero += (is_same_side || e == 0) && std::abs(a) > std::abs(e);
    tally.too_large += a > e;
    tally.too_small += a < e;
    const auto& [value, difference, factor, slack, shift] = supposed_;
    tally.same_value += value && ElementBits(*value) == ElementBits(pair.actual);
    tally.same_difference += difference && HasDifference(pair, *difference, slack);
    tally.same_factor += factor && HasFactor(pair, *factor);
    tally.shifted += shift && pairs_.IsShifted(pair, *shift);
  }

  void CountAll() {
    constexpr int64_t kGrain = 1 << 14;  // elements
    std::mutex mutex;
    ParallelFor(wrong_.element_count(), kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
      Tally part;
      wrong_.ForEachIn(begin, end, [&](int64_t number) { Count(pairs_.PairAt(number), part); });
      const std::lock_guard lock(mutex);
      Merge(part);
    });
  }

  void Merge(const Tally& part) {
    for (size_t kind = 0; kind < kKinds; ++kind) total_.kinds[kind] += part.kinds[kind];
    for (int64_t Tally::*const count :
         {&Tally::finite, &Tally::same_value, &Tally::same_difference, &Tally::same_factor,
          &Tally::shifted, &Tally::toward_zero, &Tally::away_from_zero, &Tally::too_large,
          &Tally::too_small}) {
      total_.*count += part.*count;
    }
  }

  void Add(const char* id, int64_t count, const std::string& text) {
    classes_.push_back({id, fmt::format("{} {}", count, text), count});
  }

  void AddKinds() {
    for (size_t kind = 0; kind < kOther; ++kind) {
      const int64_t count = total_.kinds[kind];
      const auto& [id, one, several] = kKindNames[kind];
      if (count > 0) Add(id, count, count == 1 ? one : several);
    }
  }

  // Adds what many elements have in common, or else the direction that all errors have.
  void AddCommon() {
    const size_t before = classes_.size();
    if (supposed_.value && total_.same_value >= kLeastElements) {
      Add("pattern", total_.same_value, "are " + TextOf(*supposed_.value));
    }
    const auto add = [&](const char* id, int64_t count, const std::string& text) {
      if (count >= kLeastElements && 2 * count > total_.finite) Add(id, count, text);
    };
    const auto& [value, difference, factor, slack, shift] = supposed_;
    add("constant-difference", total_.same_difference,
        fmt::format("are off by {:.6g}", difference.value_or(0)));
    if (total_.same_factor > total_.same_difference) {
      add("constant-factor", total_.same_factor,
          fmt::format("are {:.6g} times what is expected", factor.value_or(0)));
    }
    add("shifted", total_.shifted,
        fmt::format("are what is expected [{}] further on",
                    fmt::join(shift.value_or(Dims()), ", ")));
    if (classes_.size() == before) AddDirection();
  }

  void AddDirection() {
    const auto add = [&](int64_t count, const char* id, const char* text) {
      const bool is_all = count == total_.finite && count >= kLeastElements;
      if (is_all) Add(id, count, text);
      return is_all;
    };
    add(total_.toward_zero, "toward-zero", "are off toward zero") ||
        add(total_.away_from_zero, "away-from-zero", "are off away from zero") ||
        add(total_.too_large, "too-large", "are too large") ||
        add(total_.too_small, "too-small", "are too small");
  }

  static std::string TextOf(T value) {
    const std::string bits =
        IsRepeatedByte(value) ? fmt::format(" (0x{:0{}X})", ElementBits(value), 2 * sizeof(T)) : "";
    if constexpr (std::is_same_v<T, Half>) {
      return NumberText(ToFloat(value)) + bits;
    } else if constexpr (kIsFloatElement<T>) {
      return NumberText(value) + bits;
    } else {
      return fmt::format("{}{}", +value, bits);
    }
  }

  const ElementPairs<T>& pairs_;
  const WrongElements& wrong_;
  const Hypotheses<T> supposed_;
  Tally total_;
  std::vector<ValueClass> classes_;
};

}  // namespace

std::vector<ValueClass> ClassesOf(const ConstTensorView& actual, const ConstTensorView& expected,
                                  const WrongElements& wrong) {
  std::vector<ValueClass> classes;
  VisitElementPairs(actual, expected,
                    [&](const auto& pairs) { classes = Classifier(pairs, wrong).Classes(); });
  return classes;
}

}  // namespace dmlop
