// SPDX-License-Identifier: Apache-2.0
// Computes one element of an output as the weighted sum of the elements at its taps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/engine/weighted/weighted_sum.h"
#include "core/exact/double_double.h"
#include "core/exact/dyadic.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// The number of taps of an index that are stored at a time.
inline constexpr int64_t kTapsAtHand = 1 << 13;

// A bound of the relative error of an inexact weight, or of a product of inexact weights.
inline constexpr double kWeightError = 0x1p-98;

// A sum of weighted numbers with about 106 bits and a bound of its error, 0 if no bit was lost.
class BoundedTotal {
 public:
  void Add(const Tap& tap, double value) {
    if (specials_.Take(value)) return;
    DoubleDouble term = tap.weight * value;
    if (tap.weight.tail == 0 && tap.is_exact) {
      term = TwoProduct(tap.weight.head, value);
      if (std::fabs(term.head) < kTinyTerm) bound_ += kTinyTerm;
    } else {
      bound_ += std::fabs(term.head) * kWeightError + kTinyTerm;
    }
    const HeadTail heads = TwoSum(sum_.head, term.head);
    const HeadTail tails = TwoSum(sum_.tail, term.tail);
    const HeadTail tail = TwoSum(tails.head, heads.tail);
    bound_ += std::fabs(tails.tail) + std::fabs(tail.tail);
    sum_ = TwoSum(heads.head, tail.head);
  }

  const SpecialTerms& specials() const { return specials_; }
  const DoubleDouble& sum() const { return sum_; }
  double bound() const { return bound_ * (1 + 0x1p-20); }
  DoubleDouble Least() const { return sum_ + -bound(); }
  DoubleDouble Greatest() const { return sum_ + bound(); }

 private:
  DoubleDouble sum_{0, 0};
  double bound_ = 0;
  SpecialTerms specials_;
};

inline double WholePart(const DoubleDouble& x) {
  const double head = std::trunc(x.head);
  if (head != x.head || x.tail == 0 || (x.head > 0) == (x.tail > 0)) return head;
  return x.head > 0 ? head - 1 : head + 1;
}

// Returns numbers of the taps of an output's index, as many as are stored at a time.
inline Range TapsAtHand(const WeightedSource& source, const Dims& index, size_t d, int64_t first) {
  return {first, std::min(source.axes[d]->Count(index[d]), first + kTapsAtHand)};
}

// Sums exactly, which is rarely needed: one form for all types.
class ExactTapSum {
 public:
  template <typename T>
  ExactTapSum(const WeightedSource& source, const T* from)
      : source_(source), from_(from), read_([](const void* elements, int64_t offset) {
          return AsDouble(static_cast<const T*>(elements)[offset]);
        }) {}

  // Returns the sum as a quotient.
  std::pair<Dyadic, Dyadic> At(const Dims& index) const {
    std::vector<AxisTaps> first_taps;
    Dyadic denominator(1);
    for (size_t d = 0; d < index.size(); ++d) {
      first_taps.push_back(TapsFrom(index, d, 0));
      denominator = denominator * first_taps.back().whole;
    }
    return {Numerator(index, first_taps, 0, 0), denominator};
  }

 private:
  AxisTaps TapsFrom(const Dims& index, size_t d, int64_t first) const {
    return source_.axes[d]->Taps(index[d], TapsAtHand(source_, index, d, first));
  }

  Dyadic Numerator(const Dims& index, const std::vector<AxisTaps>& first_taps, size_t d,
                   int64_t offset) const {
    if (d == index.size()) return Dyadic(read_(from_, offset));
    const int64_t count = source_.axes[d]->Count(index[d]);
    Dyadic sum;
    for (int64_t first = 0; first < count; first += kTapsAtHand) {
      const AxisTaps more = first > 0 ? TapsFrom(index, d, first) : AxisTaps();
      const AxisTaps& taps = first > 0 ? more : first_taps[d];
      for (size_t i = 0; i < taps.parts.size(); ++i) {
        sum = sum + taps.parts[i] * Numerator(index, first_taps, d + 1, offset + taps.offsets[i]);
      }
    }
    return sum;
  }

  const WeightedSource& source_;
  const void* from_;
  double (*read_)(const void* elements, int64_t offset);
};

// Computes an element of the output from the taps of its dimensions.
template <typename T>
class ElementSum {
 public:
  explicit ElementSum(const WeightedSource& source)
      : source_(source), from_(source.from.elements<T>()) {}

  // `outer` has the products of the taps of all dimensions but the last. `index` is called only if
  // the rounding is unresolved.
  template <typename Index>
  T Sum(std::span<const Tap> outer, std::span<const Tap> inner, Index&& index) const {
    if constexpr (std::is_integral_v<T>) {
      if (source_.rule == WeightedSource::kWrap) return Wrapped(outer, inner);
    }
    const std::optional<T> plain = PlainSum(outer, inner);
    return plain ? *plain : ResolvedSum(outer, inner, index);
  }

  // Likewise, for more taps than are stored at a time.
  T LongSum(const Dims& index) const {
    std::vector<TapTable> first_taps;
    for (size_t d = 0; d < index.size(); ++d) first_taps.push_back(TableFrom(index, d, 0));
    const auto for_each = [&](auto&& visit) {
      ForEachTap(index, first_taps, 0, {0, 1, {1, 0}, true}, visit);
    };
    if constexpr (std::is_integral_v<T>) {
      uint64_t sum = 0;
      if (source_.rule == WeightedSource::kWrap) {
        for_each([&](const Tap& tap) { sum += static_cast<uint64_t>(from_[tap.offset]); });
        return static_cast<T>(sum);
      }
    }
    return SumOfEach(for_each, [&] { return index; });
  }

 private:
  // Returns taps of dimension d from number `first` on.
  TapTable TableFrom(const Dims& index, size_t d, int64_t first) const {
    return TableOf(*source_.axes[d], index[d], TapsAtHand(source_, index, d, first));
  }

  // Calls visit with the products of `before` and the taps of dimensions d and later.
  template <typename Visit>
  void ForEachTap(const Dims& index, const std::vector<TapTable>& first_taps, size_t d,
                  const Tap& before, Visit&& visit) const {
    if (d == index.size()) return visit(before);
    const int64_t count = source_.axes[d]->Count(index[d]);
    for (int64_t first = 0; first < count; first += kTapsAtHand) {
      const TapTable more = first > 0 ? TableFrom(index, d, first) : TapTable();
      for (const Tap& tap : (first > 0 ? more : first_taps[d]).taps) {
        ForEachTap(index, first_taps, d + 1, Both(before, tap), visit);
      }
    }
  }

  // Adds in binary64; none if the error leaves the result unresolved, or if it may be zero.
  std::optional<T> PlainSum(std::span<const Tap> outer, std::span<const Tap> inner) const {
    double sum = 0;
    double magnitude = 0;
    for (const Tap& one : outer) {
      const T* from = from_ + one.offset;
      for (const Tap& other : inner) {
        const double term = one.weight.head * other.weight.head * AsDouble(from[other.offset]);
        sum += term;
        magnitude += std::fabs(term);
      }
    }
    // Twice the greatest error of the weights, the products and each addition.
    const double roundings = static_cast<double>(outer.size() * inner.size() + kMaxRank + 2);
    const double bound = roundings * 0x1p-52 * magnitude;
    if (!(magnitude > kTinyTerm) || !std::isfinite(magnitude)) return std::nullopt;
    if constexpr (std::is_integral_v<T>) {
      const T least = Truncated<T>(sum - bound);
      return least == Truncated<T>(sum + bound) ? std::optional(least) : std::nullopt;
    } else {
      return RoundWithin<T>({sum, 0}, bound);
    }
  }

  T Wrapped(std::span<const Tap> outer, std::span<const Tap> inner) const {
    uint64_t sum = 0;
    for (const Tap& one : outer) {
      for (const Tap& other : inner) {
        sum += static_cast<uint64_t>(from_[one.offset + other.offset]);
      }
    }
    return static_cast<T>(sum);
  }

  template <typename Index>
  T ResolvedSum(std::span<const Tap> outer, std::span<const Tap> inner, Index&& index) const {
    const auto for_each = [&](auto&& visit) {
      for (const Tap& one : outer) {
        for (const Tap& other : inner) visit(Both(one, other));
      }
    };
    return SumOfEach(for_each, index);
  }

  // `for_each` calls a function with each tap.
  template <typename ForEach, typename Index>
  T SumOfEach(ForEach&& for_each, Index&& index) const {
    BoundedTotal total;
    T least = std::numeric_limits<T>::max();
    T greatest = std::numeric_limits<T>::lowest();
    for_each([&](const Tap& tap) {
      const T value = from_[tap.offset];
      if constexpr (std::is_integral_v<T>) {
        least = std::min(least, value);
        greatest = std::max(greatest, value);
      }
      total.Add(tap, AsDouble(value));
    });
    if constexpr (std::is_integral_v<T>) {
      return least == greatest ? least : TruncatedSum(total, index);
    } else {
      return RoundedSum(total, index);
    }
  }

  template <typename Index>
  T RoundedSum(const BoundedTotal& total, Index&& index) const {
    const bool is_zero = total.bound() == 0 && total.sum().head == 0;
    if (is_zero || !total.specials().are_finite()) return RoundOnce<T>(total.specials().sum());
    if (const auto rounded = RoundWithin<T>(total.sum(), total.bound())) return *rounded;
    const auto [numerator, denominator] = ExactTapSum(source_, from_).At(index());
    return RoundRatio<T>(numerator, denominator);
  }

  template <typename Index>
  T TruncatedSum(const BoundedTotal& total, Index&& index) const {
    const double least = WholePart(total.Least());
    if (least == WholePart(total.Greatest())) return static_cast<T>(least);
    const auto [numerator, denominator] = ExactTapSum(source_, from_).At(index());
    const bool negative = numerator.Sign() < 0;
    const double magnitude =
        FloorQuotient(negative ? -numerator : numerator, denominator).Truncated();
    return static_cast<T>(negative ? -magnitude : magnitude);
  }

  const WeightedSource& source_;
  const T* from_;
};

}  // namespace dmlop
