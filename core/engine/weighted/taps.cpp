#include "core/engine/weighted/taps.h"

#include <algorithm>
#include <cmath>

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

// The taps of [begin, end). Where all wholes are powers of two, parts are of 1: nothing is to be
// divided then.
std::vector<AxisTaps> TapsOf(const TapFunction& axis, int64_t begin, int64_t end) {
  std::vector<AxisTaps> all;
  for (int64_t index = begin; index < end; ++index) all.push_back(axis(index));
  if (std::any_of(all.begin(), all.end(),
                  [](const AxisTaps& taps) { return taps.whole.bit_length() != 1; })) {
    return all;
  }
  for (AxisTaps& taps : all) {
    for (Dyadic& part : taps.parts) part = part.TimesPowerOfTwo(-taps.whole.exponent());
    taps.whole = Dyadic(1);
  }
  return all;
}

// Five dimensions at most have weights that are not 1.
bool IsOrdinary(const DoubleDouble& x) {
  return x.head >= 0x1p-150 && x.head <= 0x1p150;
}

void Include(const AxisTaps& taps, const DoubleDouble& whole, std::span<const Tap> of_index,
             TapRange& range) {
  double sum = 0;
  for (size_t i = 0; i < of_index.size(); ++i) {
    range.least_exponent = std::min(range.least_exponent, taps.parts[i].exponent());
    range.part_bits = std::max(range.part_bits, taps.parts[i].bit_length());
    range.is_ordinary &= IsOrdinary({of_index[i].part, 0});
    sum += of_index[i].part;
  }
  range.most_taps = std::max(range.most_taps, static_cast<int64_t>(of_index.size()));
  range.whole_bits = std::max(range.whole_bits, taps.whole.bit_length());
  range.is_ordinary &= IsOrdinary(whole);
  range.most_sum = std::max(range.most_sum, sum);
}

}  // namespace

TapTable TableOf(const TapFunction& axis, int64_t begin, int64_t end) {
  TapTable table;
  table.begins.push_back(0);
  for (const AxisTaps& taps : TapsOf(axis, begin, end)) {
    const DoubleDouble whole = ToDoubleDouble(taps.whole);
    for (size_t i = 0; i < taps.parts.size(); ++i) table.taps.push_back(TapOf(taps, i, whole));
    table.begins.push_back(table.taps.size());
    table.wholes.push_back(whole.head);
    Include(taps, whole, table.At(table.size() - 1), table.range);
  }
  return table;
}

Tap Both(const Tap& a, const Tap& b) {
  const int64_t offset = a.offset + b.offset;
  const double part = a.part * b.part;
  if (a.weight.tail != 0 || b.weight.tail != 0) return {offset, part, a.weight * b.weight, false};
  const HeadTail product = TwoProduct(a.weight.head, b.weight.head);
  return {offset, part, product, a.is_exact && b.is_exact && product.head > kTinyTerm};
}

}  // namespace dmlop
