// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weighted/weighted_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/exact/dyadic.h"

namespace dmlop {
namespace {

DoubleDouble ToDoubleDouble(const Dyadic& x) {
  const double head = x.Truncated();
  return FastTwoSum(head, (x - Dyadic(head)).Truncated());
}

Tap TapOf(const AxisTaps& taps, size_t i, const DoubleDouble& whole) {
  const DoubleDouble part = ToDoubleDouble(taps.parts[i]);
  const DoubleDouble weight = part / whole;
  const Dyadic error = (Dyadic(weight.head) + Dyadic(weight.tail)) * taps.whole - taps.parts[i];
  return {taps.offsets[i], part.head, weight, error.Sign() == 0};
}

// If all wholes are powers of two, divides the parts by them, so that the wholes become 1.
void DivideByPowersOfTwo(std::vector<AxisTaps>& all) {
  for (AxisTaps& taps : all) {
    if (taps.whole.bit_length() != 1) return;
  }
  for (AxisTaps& taps : all) {
    for (Dyadic& part : taps.parts) part = part.TimesPowerOfTwo(-taps.whole.exponent());
    taps.whole = Dyadic(1);
  }
}

// At most five dimensions have weights other than 1, so their products stay within binary64.
bool IsOrdinary(const DoubleDouble& x) {
  return x.head >= 0x1p-150 && x.head <= 0x1p150;
}

void Include(std::span<const Tap> of_index, const DoubleDouble& whole, TapRange& range) {
  double sum = 0;
  for (const Tap& tap : of_index) {
    range.is_ordinary &= IsOrdinary({tap.part, 0});
    sum += tap.part;
  }
  range.most_taps = std::max(range.most_taps, static_cast<int64_t>(of_index.size()));
  range.is_ordinary &= IsOrdinary(whole);
  range.most_sum = std::max(range.most_sum, sum);
}

void IncludeBits(int64_t exponent, int64_t part_bits, TapRange& range) {
  range.least_exponent = std::min(range.least_exponent, exponent);
  range.part_bits = std::max(range.part_bits, part_bits);
}

void EndIndex(const DoubleDouble& whole, int64_t whole_bits, TapTable& table) {
  table.begins.push_back(table.taps.size());
  table.wholes.push_back(whole.head);
  table.range.whole_bits = std::max(table.range.whole_bits, whole_bits);
  Include(table.At(table.size() - 1), whole, table.range);
}

TapTable TableOfLong(std::vector<AxisTaps> all) {
  DivideByPowersOfTwo(all);
  TapTable table;
  for (const AxisTaps& taps : all) {
    const DoubleDouble whole = ToDoubleDouble(taps.whole);
    for (size_t i = 0; i < taps.parts.size(); ++i) {
      table.taps.push_back(TapOf(taps, i, whole));
      IncludeBits(taps.parts[i].exponent(), taps.parts[i].bit_length(), table.range);
    }
    EndIndex(whole, taps.whole.bit_length(), table);
  }
  return table;
}

// --- numbers of 128 bits -------------------------------------------------------------------------

DoubleDouble ToDoubleDouble(Int128 x) {
  const double head = static_cast<double>(x);
  return {head, static_cast<double>(x - static_cast<Int128>(head))};
}

// Takes a positive number.
int64_t TrailingZeros(Int128 x) {
  const uint64_t low = static_cast<uint64_t>(x);
  return low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<uint64_t>(x >> 64));
}
int64_t BitLength(Int128 x) {
  const uint64_t high = static_cast<uint64_t>(x >> 64);
  const auto bits =
      high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(x));
  return static_cast<int64_t>(bits);
}

// A whole and the values that are needed to divide by it.
struct ShortWhole {
  Int128 number;
  int64_t zeros;  // trailing zeros
  DoubleDouble value;
  bool is_power_of_two;

  explicit ShortWhole(Int128 whole)
      : number(whole),
        zeros(TrailingZeros(whole)),
        value(ToDoubleDouble(whole)),
        is_power_of_two(whole >> zeros == 1) {}

  // Returns part / whole, and whether that is exact.
  std::pair<DoubleDouble, bool> WeightOf(Int128 part) const {
    if (part == number) return {{1, 0}, true};
    const DoubleDouble exact = ToDoubleDouble(part);
    if (is_power_of_two) return {Scale(exact, std::ldexp(1.0, static_cast<int>(-zeros))), true};
    const DoubleDouble weight = exact / value;
    if (weight.tail != 0 || exact.tail != 0 || value.tail != 0) return {weight, false};
    const HeadTail product = TwoProduct(weight.head, value.head);
    return {weight, product.head == exact.head && product.tail == 0};
  }
};

TapTable TableOfShort(const ShortTaps& all) {
  const bool divides = !std::all_of(all.wholes.begin(), all.wholes.end(),
                                    [](Int128 whole) { return ShortWhole(whole).is_power_of_two; });
  TapTable table;
  table.taps.reserve(all.offsets.size());
  size_t tap = 0;
  for (size_t index = 0; index < all.wholes.size(); ++index) {
    const ShortWhole whole(all.wholes[index]);
    for (; tap < all.ends[index]; ++tap) {
      const Int128 part = all.parts[tap];
      const auto [weight, is_exact] = whole.WeightOf(part);
      const double number = divides ? static_cast<double>(part) : weight.head;
      table.taps.push_back({all.offsets[tap], number, weight, is_exact});
      const int64_t zeros = TrailingZeros(part);
      IncludeBits(divides ? zeros : zeros - whole.zeros, BitLength(part) - zeros, table.range);
    }
    EndIndex(divides ? whole.value : DoubleDouble{1, 0},
             divides ? BitLength(whole.number) - whole.zeros : 1, table);
  }
  return table;
}

}  // namespace

AxisTaps TapAxis::Taps(int64_t index, Range some) const {
  ShortTaps taps;
  AddTaps(index, some, taps);
  AxisTaps exact{std::move(taps.offsets), {}, Dyadic(taps.wholes[0])};
  for (const Int128 part : taps.parts) exact.parts.push_back(Dyadic(part));
  return exact;
}

bool TapTable::IsPlain() const {
  const auto is_one = [](double x) { return x == 1; };
  return range.most_taps == 1 && std::ssize(taps) == size() &&
         std::all_of(wholes.begin(), wholes.end(), is_one) &&
         std::all_of(taps.begin(), taps.end(), [&](const Tap& tap) { return is_one(tap.part); });
}

TapTable TableOf(const TapAxis& axis, int64_t begin, int64_t end) {
  ShortTaps taps;
  int64_t index = begin;
  while (index < end && axis.AddTaps(index, {0, axis.Count(index)}, taps)) ++index;
  if (index == end) return TableOfShort(taps);
  std::vector<AxisTaps> all;
  for (index = begin; index < end; ++index) all.push_back(axis.Taps(index));
  return TableOfLong(std::move(all));
}

TapTable TableOf(const TapAxis& axis, int64_t index, Range some) {
  ShortTaps taps;
  if (axis.AddTaps(index, some, taps)) return TableOfShort(taps);
  return TableOfLong({axis.Taps(index, some)});
}

Tap Both(const Tap& a, const Tap& b) {
  const int64_t offset = a.offset + b.offset;
  const double part = a.part * b.part;
  if (a.weight.tail != 0 || b.weight.tail != 0) return {offset, part, a.weight * b.weight, false};
  const HeadTail product = TwoProduct(a.weight.head, b.weight.head);
  return {offset, part, product, a.is_exact && b.is_exact && product.head > kTinyTerm};
}

namespace {

constexpr int64_t kMostTaps = 1 << 18;  // including those that are filled in

}  // namespace

std::optional<KernelTaps> KernelTaps::Of(std::span<const TapTable> tables) {
  for (const TapTable& table : tables) {
    if (!table.range.is_ordinary) return std::nullopt;
  }
  const TapTable& inner = tables.back();
  KernelTaps taps;
  taps.count_ = inner.size();
  taps.taps_ = std::max<int64_t>(1, inner.range.most_taps);
  if (taps.taps_ * taps.count_ > kMostTaps) return std::nullopt;
  taps.FillRuns(inner);
  taps.FillTaps(inner);
  taps.FindPattern();
  taps.FillRange(tables);
  return taps;
}

void KernelTaps::FillRuns(const TapTable& inner) {
  for (const Tap& tap : inner.taps) {
    const auto last_two = offsets_.end() - std::min<std::ptrdiff_t>(2, std::ssize(offsets_));
    if (std::find(last_two, offsets_.end(), tap.offset) == offsets_.end()) {
      offsets_.push_back(tap.offset);
    }
  }
  if (!std::is_sorted(offsets_.begin(), offsets_.end())) {
    std::sort(offsets_.begin(), offsets_.end());
  }
  offsets_.erase(std::unique(offsets_.begin(), offsets_.end()), offsets_.end());
  for (const int64_t offset : offsets_) {
    if (runs_.empty() || offset != runs_.back().offset + runs_.back().count) {
      runs_.push_back({offset, 0});
    }
    ++runs_.back().count;
  }
  scratch_.resize(offsets_.size() + 1 + kColumnRoom);
}

// The place is mostly close to that of the previous tap.
int32_t KernelTaps::PlaceOf(int64_t offset, int32_t before) const {
  const auto last = offsets_.begin() + before;
  const auto near =
      std::find(last, last + std::min<std::ptrdiff_t>(4, offsets_.end() - last), offset);
  if (near != offsets_.end() && *near == offset)
    return static_cast<int32_t>(near - offsets_.begin());
  const auto found = std::lower_bound(offsets_.begin(), offsets_.end(), offset);
  return static_cast<int32_t>(found - offsets_.begin());
}

// Taps that an index lacks are replaced by others with the part 0. These repeat an actual tap, so
// that they have its sign if all are zeros. The column after the last one serves indices without
// taps.
void KernelTaps::FillTaps(const TapTable& inner) {
  wholes_.assign(inner.wholes.begin(), inner.wholes.end());
  for (const double whole : wholes_) inverses_.push_back(1 / whole);
  places_.resize(static_cast<size_t>(taps_ * pitch()));
  parts_.resize(places_.size());
  for (int64_t t = 0; t < taps_; ++t) {
    const auto begin = places_.begin() + static_cast<std::ptrdiff_t>(t * pitch());
    int32_t place = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const std::span<const Tap> taps = inner.At(i);
      const bool is_there = t < std::ssize(taps);
      const bool is_none = taps.empty() && t == 0;
      const size_t tap = std::min(static_cast<size_t>(t), std::max<size_t>(1, taps.size()) - 1);
      if (!taps.empty()) place = PlaceOf(taps[tap].offset, place);
      begin[i] = taps.empty() ? static_cast<int32_t>(offsets_.size()) : place;
      parts_[static_cast<size_t>(t * pitch() + i)] = is_there  ? taps[tap].part
                                                     : is_none ? 1.0
                                                               : 0.0;
    }
    const auto is_far = [](int32_t a, int32_t b) { return b < a || b > a + 2; };
    are_near_.push_back(std::adjacent_find(begin, begin + count_, is_far) == begin + count_);
  }
}

// Returns the most adjacent results whose two taps are in adjacent columns, and the first of these
// so many places after that of the result before.
Range KernelTaps::Following(int32_t least_growth, int32_t most_growth) const {
  Range most{0, 0};
  Range current{0, 0};
  for (int64_t i = 0; i < count_; ++i) {
    const int32_t* const place = places_.data() + i;
    if (place[pitch()] != place[0] + 1) {
      current = {i + 1, i + 1};
      continue;
    }
    const int32_t growth = current.count() > 0 ? place[0] - place[-1] : least_growth;
    if (growth < least_growth || growth > most_growth) current.begin = i;
    current.end = i + 1;
    if (current.count() > most.count()) most = current;
  }
  return most;
}

// Edges mostly have other taps.
void KernelTaps::FindPattern() {
  if (taps_ != 2) return;
  const Range neighbours = Following(0, 1);
  const Range pairs = Following(2, 2);
  const bool are_pairs = pairs.count() > neighbours.count();
  patterned_ = are_pairs ? pairs : neighbours;
  pattern_ = are_pairs ? TapPattern::kPairs : TapPattern::kNeighbours;
}

// Elements are multiples of 2^-23 times the power of two below the least one, so terms are
// multiples of that times the least part. Binary64 holds them up to 2^53 times that; the kernel
// divides sums of up to 2^51 times that, by wholes of up to 25 bits.
void KernelTaps::FillRange(std::span<const TapTable> tables) {
  int64_t exponent = 0;
  int64_t whole_bits = 0;
  bool are_exact = true;
  for (const TapTable& table : tables) {
    exponent += table.range.least_exponent;
    whole_bits += table.range.whole_bits;
    most_sum_ *= table.range.most_sum;
    are_exact &= table.range.part_bits <= 53;
    divides_ |= table.range.whole_bits > 1;
  }
  if (!are_exact || exponent < -500 || whole_bits > 25 || most_sum_ == 0) return;
  const int bits = static_cast<int>(exponent) + (divides_ ? 28 : 30);
  exact_range_ = std::ldexp(1 - 0x1p-40, bits) / most_sum_;
}

// Twice the greatest error of parts, wholes, their products, terms and additions.
double KernelTaps::RelativeError(int64_t outer_taps) const {
  constexpr double kOthers = 40;
  return (static_cast<double>(taps_ + outer_taps) + kOthers) * 0x1p-52;
}

}  // namespace dmlop
