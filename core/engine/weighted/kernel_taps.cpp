// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weighted/kernel_taps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace dmlop {
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
  wholes_ = inner.wholes;
  for (int64_t t = 0; t < taps_; ++t) {
    const size_t first = places_.size();
    int32_t place = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const std::span<const Tap> taps = inner.At(i);
      const bool is_there = t < std::ssize(taps);
      const bool is_none = taps.empty() && t == 0;
      const size_t tap = std::min(static_cast<size_t>(t), std::max<size_t>(1, taps.size()) - 1);
      if (!taps.empty()) place = PlaceOf(taps[tap].offset, place);
      places_.push_back(taps.empty() ? static_cast<int32_t>(offsets_.size()) : place);
      parts_.push_back(is_there ? taps[tap].part : is_none ? 1.0 : 0.0);
    }
    rise_.push_back(
        std::is_sorted(places_.begin() + static_cast<std::ptrdiff_t>(first), places_.end()));
  }
}

// Elements are multiples of 2^-23 times the power of two below the least one, so terms are
// multiples of that times the least part. Binary64 holds them up to 2^53 times that. A quotient
// halfway between two results has at most 25 bits, so its product with the whole is exact.
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
  if (!are_exact || exponent < -500 || whole_bits > 28 || most_sum_ == 0) return;
  exact_range_ = std::ldexp(1 - 0x1p-40, static_cast<int>(30 + exponent)) / most_sum_;
}

// Twice the greatest error of parts, wholes, their products, terms and additions.
double KernelTaps::RelativeError(int64_t outer_taps) const {
  constexpr double kOthers = 40;
  return (static_cast<double>(taps_ + outer_taps) + kOthers) * 0x1p-52;
}

}  // namespace dmlop
