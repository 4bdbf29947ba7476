// SPDX-License-Identifier: Apache-2.0
#include "core/compare/value_classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <mutex>

#include "core/base/counted.h"
#include "core/base/parallel.h"
#include "core/compare/value_hypotheses.h"

namespace dmlop {
namespace {

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

template <typename T, typename E>
class Classifier {
 public:
  Classifier(const ElementPairs<T, E>& pairs, const WrongElements& wrong)
      : pairs_(pairs), wrong_(wrong), supposed_(HypothesisSearch<T, E>(pairs, wrong).found()) {}

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
    add("constant-factor", total_.same_factor,
        fmt::format("are {:.6g} times what is expected", factor.value_or(0)));
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

  const ElementPairs<T, E>& pairs_;
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
