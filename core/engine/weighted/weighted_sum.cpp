#include "core/engine/weighted/weighted_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/exact/double_double.h"
#include "core/exact/round_ratio.h"
#include "core/exact/rounding.h"
#include "core/tensor/convert_element.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor_desc.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kBlockTaps = 1 << 13;  // about as many of a dimension are known at a time

// The relative error of a weight, or of its product with others, that is not exact.
constexpr double kWeightError = 0x1p-98;
// What may get lost where numbers become too small for binary64.
constexpr double kTiny = 0x1p-900;

struct Tap {
  int64_t offset;
  DoubleDouble weight;
  bool is_exact;
};

// The taps of indices of one dimension, one after another.
struct TapTable {
  std::vector<size_t> begins;
  std::vector<Tap> taps;

  std::span<const Tap> At(int64_t index) const {
    const size_t i = static_cast<size_t>(index);
    return {taps.data() + begins[i], begins[i + 1] - begins[i]};
  }
};

DoubleDouble ToDoubleDouble(const Dyadic& x) {
  const double head = x.Truncated();
  return FastTwoSum(head, (x - Dyadic(head)).Truncated());
}

Tap TapOf(const AxisTaps& taps, size_t i, const DoubleDouble& whole) {
  const DoubleDouble weight = ToDoubleDouble(taps.parts[i]) / whole;
  const Dyadic error = (Dyadic(weight.head) + Dyadic(weight.tail)) * taps.whole - taps.parts[i];
  return {taps.offsets[i], weight, error.Sign() == 0};
}

TapTable TableOf(const TapFunction& axis, int64_t begin, int64_t end) {
  TapTable table;
  table.begins.push_back(0);
  for (int64_t index = begin; index < end; ++index) {
    const AxisTaps taps = axis(index);
    const DoubleDouble whole = ToDoubleDouble(taps.whole);
    for (size_t i = 0; i < taps.parts.size(); ++i) table.taps.push_back(TapOf(taps, i, whole));
    table.begins.push_back(table.taps.size());
  }
  return table;
}

Tap Both(const Tap& a, const Tap& b) {
  const int64_t offset = a.offset + b.offset;
  if (a.weight.tail != 0 || b.weight.tail != 0) return {offset, a.weight * b.weight, false};
  const HeadTail product = TwoProduct(a.weight.head, b.weight.head);
  return {offset, product, a.is_exact && b.is_exact && product.head > kTiny};
}

// --- sums ----------------------------------------------------------------------------------------

// A sum of weighted numbers in about 106 bits, and how far off it may be: nothing at all, where no
// bit was lost.
class BoundedTotal {
 public:
  void Add(const Tap& tap, double value) {
    is_empty_ = false;
    if (!std::isfinite(value)) {
      special_ += value;
      return;
    }
    all_are_negative_zeros_ &= value == 0 && std::signbit(value);
    if (value == 0) return;
    DoubleDouble term = tap.weight * value;
    if (tap.weight.tail == 0 && tap.is_exact) {
      term = TwoProduct(tap.weight.head, value);
      if (std::fabs(term.head) < kTiny) bound_ += kTiny;
    } else {
      bound_ += std::fabs(term.head) * kWeightError + kTiny;
    }
    const HeadTail heads = TwoSum(sum_.head, term.head);
    const HeadTail tails = TwoSum(sum_.tail, term.tail);
    const HeadTail tail = TwoSum(tails.head, heads.tail);
    bound_ += std::fabs(tails.tail) + std::fabs(tail.tail);
    sum_ = TwoSum(heads.head, tail.head);
  }

  // NaN or an infinity where some number was; else 0.
  double special() const { return special_; }
  bool all_are_negative_zeros() const { return !is_empty_ && all_are_negative_zeros_; }
  const DoubleDouble& sum() const { return sum_; }
  bool is_exact() const { return bound_ == 0; }
  DoubleDouble Least() const { return sum_ + -Bound(); }
  DoubleDouble Greatest() const { return sum_ + Bound(); }

 private:
  double Bound() const { return bound_ * (1 + 0x1p-20); }

  DoubleDouble sum_{0, 0};
  double bound_ = 0;
  double special_ = 0;
  bool is_empty_ = true;
  bool all_are_negative_zeros_ = true;
};

double WholePart(const DoubleDouble& x) {
  const double head = std::trunc(x.head);
  if (head != x.head || x.tail == 0 || (x.head > 0) == (x.tail > 0)) return head;
  return x.head > 0 ? head - 1 : head + 1;
}

// One number of the output from the taps of its dimensions.
template <typename T>
class Element {
 public:
  explicit Element(const WeightedSource& source)
      : source_(source), from_(source.from.elements<T>()) {}

  // `outer`: products of the taps of all dimensions but the last. `index` is asked for only where
  // the rounding is in doubt.
  template <typename Index>
  T Sum(std::span<const Tap> outer, std::span<const Tap> inner, Index&& index) const {
    if constexpr (std::is_integral_v<T>) {
      if (source_.rule == WeightedSource::kWrap) return Wrapped(outer, inner);
    }
    const std::optional<T> plain = PlainSum(outer, inner);
    return plain ? *plain : CarefulSum(outer, inner, index);
  }

 private:
  // By sums of binary64; none where their errors leave the result in doubt, or it may be a zero.
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
    // Twice what the weights, the products and each addition may be off.
    const double roundings = static_cast<double>(outer.size() * inner.size() + kMaxRank + 2);
    const double bound = roundings * 0x1p-52 * magnitude;
    const T least = ResultOf(sum - bound);
    if (!(magnitude > kTiny) || least == T{} || least != ResultOf(sum + bound)) return std::nullopt;
    return least;
  }

  static T ResultOf(double value) {
    if constexpr (std::is_integral_v<T>) {
      return Truncated<T>(value);
    } else {
      return RoundOnce<T>(value, 0);
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
  T CarefulSum(std::span<const Tap> outer, std::span<const Tap> inner, Index&& index) const {
    BoundedTotal total;
    T least = std::numeric_limits<T>::max();
    T greatest = std::numeric_limits<T>::lowest();
    for (const Tap& one : outer) {
      for (const Tap& other : inner) {
        const T value = from_[one.offset + other.offset];
        if constexpr (std::is_integral_v<T>) {
          least = std::min(least, value);
          greatest = std::max(greatest, value);
        }
        total.Add(Both(one, other), AsDouble(value));
      }
    }
    if constexpr (std::is_integral_v<T>) {
      return least == greatest ? least : TruncatedSum(total, index);
    } else {
      return RoundedSum(total, index);
    }
  }

  template <typename Index>
  T RoundedSum(const BoundedTotal& total, Index&& index) const {
    if (total.special() != 0) return RoundOnce<T>(total.special(), 0);
    const DoubleDouble& sum = total.sum();
    if (total.is_exact()) {
      if (sum.head != 0) return RoundOnce<T>(sum.head, sum.tail);
      return RoundOnce<T>(total.all_are_negative_zeros() ? -0.0 : 0.0, 0);
    }
    const T least = RoundOnce<T>(total.Least().head, total.Least().tail);
    const T greatest = RoundOnce<T>(total.Greatest().head, total.Greatest().tail);
    if (ElementBits(least) == ElementBits(greatest)) return least;
    const auto [numerator, denominator] = Exact(index());
    return RoundRatio<T>(numerator, denominator);
  }

  template <typename Index>
  T TruncatedSum(const BoundedTotal& total, Index&& index) const {
    const double least = WholePart(total.Least());
    if (least == WholePart(total.Greatest())) return static_cast<T>(least);
    const auto [numerator, denominator] = Exact(index());
    const bool negative = numerator.Sign() < 0;
    const double magnitude =
        FloorQuotient(negative ? -numerator : numerator, denominator).Truncated();
    return static_cast<T>(negative ? -magnitude : magnitude);
  }

  // The sum as a quotient of exact numbers.
  std::pair<Dyadic, Dyadic> Exact(const Dims& index) const {
    std::vector<AxisTaps> taps;
    Dyadic denominator(1);
    for (size_t d = 0; d < index.size(); ++d) {
      taps.push_back(source_.axes[d](index[d]));
      denominator = denominator * taps.back().whole;
    }
    return {Numerator(taps, 0, 0), denominator};
  }

  Dyadic Numerator(const std::vector<AxisTaps>& taps, size_t axis, int64_t offset) const {
    if (axis == taps.size()) return Dyadic(AsDouble(from_[offset]));
    Dyadic sum;
    for (size_t i = 0; i < taps[axis].parts.size(); ++i) {
      sum = sum + taps[axis].parts[i] * Numerator(taps, axis + 1, offset + taps[axis].offsets[i]);
    }
    return sum;
  }

  const WeightedSource& source_;
  const T* from_;
};

// Bits that are copied from the only tap.
template <typename Bits>
class Copy {
 public:
  explicit Copy(const WeightedSource& source) : from_(source.from.elements<Bits>()) {}

  template <typename Index>
  Bits Sum(std::span<const Tap> outer, std::span<const Tap> inner, Index&&) const {
    return from_[outer.front().offset + inner.front().offset];
  }

 private:
  const Bits* from_;
};

// --- blocks --------------------------------------------------------------------------------------

// A part of the output that is short enough for the taps of all its indices to be at hand.
class Block {
 public:
  Block(const WeightedSource& source, const Dims& begin, const TensorView& part)
      : begin_(begin), part_(part), rows_(part.layout) {
    for (size_t d = 0; d < begin.size(); ++d) {
      tables_.push_back(TableOf(source.axes[d], begin[d], begin[d] + part.layout.sizes[d]));
    }
    rows_.sizes.pop_back();
    rows_.strides.pop_back();
  }

  template <typename T, typename Work>
  void Run(const Work& work) const {
    const int64_t columns = part_.layout.sizes.back();
    ParallelFor(rows_.element_count(), kParallelElements / (8 * columns) + 1, part_.element_bytes(),
                [&](int64_t first, int64_t last) {
                  for (int64_t row = first; row < last; ++row) RunRow<T>(row, work);
                });
  }

 private:
  template <typename T, typename Work>
  void RunRow(int64_t row, const Work& work) const {
    const Dims place = IndexOf(rows_.sizes, row);
    const std::vector<Tap> outer = OuterTaps(place);
    const int64_t stride = part_.layout.strides.back();
    T* to = part_.elements<T>() + OffsetOf(rows_, place);
    for (int64_t column = 0; column < part_.layout.sizes.back(); ++column) {
      to[column * stride] = work.Sum(outer, tables_.back().At(column), [&] {
        Dims index = begin_;
        for (size_t d = 0; d < place.size(); ++d) index[d] += place[d];
        index.back() += column;
        return index;
      });
    }
  }

  std::vector<Tap> OuterTaps(const Dims& place) const {
    std::vector<Tap> all = {{0, {1, 0}, true}};
    for (size_t d = 0; d < place.size(); ++d) {
      std::vector<Tap> products;
      for (const Tap& one : all) {
        for (const Tap& other : tables_[d].At(place[d])) products.push_back(Both(one, other));
      }
      all = std::move(products);
    }
    return all;
  }

  const Dims& begin_;
  const TensorView& part_;
  Layout rows_;  // without the last dimension
  std::vector<TapTable> tables_;
};

void SumBlock(const WeightedSource& source, const Dims& begin, const TensorView& part) {
  const Block block(source, begin, part);
  if (source.rule == WeightedSource::kCopy) {
    return VisitElementWidth(part.type,
                             [&]<typename Bits>() { block.Run<Bits>(Copy<Bits>(source)); });
  }
  VisitDataType(Join<Floats, Integers64, Integers32, Integers16, Integers8>(), part.type,
                [&]<typename T>() { block.Run<T>(Element<T>(source)); });
}

// How many indices of a dimension make a block, by what one of them has to do with.
int64_t BlockLength(const TapFunction& axis, int64_t begin, int64_t size) {
  if (size == 1) return 1;
  const size_t taps = std::max<size_t>(1, axis(begin + size / 2).offsets.size());
  return std::max<int64_t>(1, kBlockTaps / static_cast<int64_t>(taps));
}

}  // namespace

void SumTaps(const WeightedSource& source, const Dims& begin, const TensorView& part) {
  Dims lengths, blocks;
  for (size_t d = 0; d < begin.size(); ++d) {
    const int64_t size = part.layout.sizes[d];
    lengths.push_back(BlockLength(source.axes[d], begin[d], size));
    blocks.push_back((size + lengths[d] - 1) / lengths[d]);
  }
  for (int64_t i = 0; i < Product(blocks); ++i) {
    const Dims number = IndexOf(blocks, i);
    Dims block_begin = begin;
    TensorView block = part;
    for (size_t d = 0; d < number.size(); ++d) {
      const int64_t first = number[d] * lengths[d];
      block_begin[d] += first;
      block = block.Slice(d, first, std::min(lengths[d], part.layout.sizes[d] - first));
    }
    SumBlock(source, block_begin, block);
  }
}

}  // namespace dmlop
