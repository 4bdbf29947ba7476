// SPDX-License-Identifier: Apache-2.0
#include "core/compare/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <type_traits>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/compare/elements.h"
#include "core/exact/double_double.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// Numbers the values of T within a range in ascending order from 0. -0 counts as 0.
template <typename T>
class ValueOrder {
 public:
  ValueOrder(Wide<T> min, Wide<T> max) : base_(Ordered(min)), most_(NumberOf(max)) {}

  uint64_t most() const { return most_; }
  uint64_t NumberOf(Wide<T> value) const { return Ordered(value) - base_; }

  Wide<T> ValueOf(uint64_t number) const {
    const uint64_t ordered = base_ + number;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Wide<T>>(ordered);
    } else {
      const uint64_t bits = ordered & kSign ? ordered ^ kSign : kNegatives - ordered;
      return std::bit_cast<double>(bits << kSpareBits);
    }
  }

 private:
  // Number of trailing bits that are 0 in every double that is a T, and are dropped.
  static constexpr unsigned kSpareBits = std::is_integral_v<T> || sizeof(T) == 8 ? 0
                                         : sizeof(T) == 4                        ? 52 - 23
                                                                                 : 52 - 10;
  static constexpr uint64_t kSign = (uint64_t{1} << 63) >> kSpareBits;
  static constexpr uint64_t kNegatives = 2 * kSign - 1;  // larger bits mean lower values

  // Only differences matter; they follow the order of values, modulo 2^64.
  static uint64_t Ordered(Wide<T> value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<uint64_t>(value);
    } else {
      const uint64_t bits = std::bit_cast<uint64_t>(value + 0.0) >> kSpareBits;  // turns -0 into 0
      return bits & kSign ? kNegatives - bits : bits | kSign;
    }
  }

  uint64_t base_;
  uint64_t most_;
};

// Finds values by rank: counts the values in each part of the range, then in each part of the parts
// that contain one of the ranks, and so on.
template <typename T, typename Source = Elements<T>>
class RankSearch {
 public:
  // [min, max] is the range of the finite values.
  RankSearch(const Source& elements, Wide<T> min, Wide<T> max)
      : elements_(elements), order_(min, max) {}

  // Returns the finite values of these ranks, which are ascending and count from 0.
  std::vector<Wide<T>> Find(const std::vector<int64_t>& ranks) const {
    std::vector<Target> targets;
    for (const int64_t rank : ranks) targets.push_back({0, rank});
    int shift = 0;
    while (shift < 64 && order_.most() >> shift > 0) shift += kPartBits;
    while ((shift -= kPartBits) >= 0) Narrow(shift, targets);
    std::vector<Wide<T>> values;
    for (const Target& target : targets) values.push_back(order_.ValueOf(target.part));
    return values;
  }

 private:
  static constexpr int kPartBits = 12;
  static constexpr size_t kParts = size_t{1} << kPartBits;
  static constexpr int64_t kGrain = int64_t{1} << 18;  // number of elements that are worth a table

  // The known bits of a value's number, and its rank among the values that share them.
  struct Target {
    uint64_t part;
    int64_t rank;
  };

  // The number of values in each part of a part.
  struct Table {
    uint64_t part;
    std::vector<int64_t> counts;
  };

  // Determines the next kPartBits bits of each number, down to bit `shift`.
  void Narrow(int shift, std::vector<Target>& targets) const {
    const std::vector<Table> tables = Count(shift, targets);
    for (Target& target : targets) {
      const Table& table = *std::find_if(tables.begin(), tables.end(),
                                         [&](const Table& one) { return one.part == target.part; });
      size_t part = 0;
      for (; target.rank >= table.counts[part]; ++part) target.rank -= table.counts[part];
      target.part = (target.part << kPartBits) + part;
    }
  }

  std::vector<Table> Count(int shift, const std::vector<Target>& targets) const {
    std::vector<Table> total;
    for (const Target& target : targets) {
      if (!total.empty() && total.back().part == target.part) continue;
      total.push_back({target.part, std::vector<int64_t>(kParts)});
    }
    const std::vector<Table> empty = total;
    std::mutex mutex;
    ParallelFor(elements_.count(), kGrain, elements_.bytes(), [&](int64_t begin, int64_t end) {
      std::vector<Table> part = empty;
      elements_.ForEach(begin, end, [&](Wide<T> value) {
        if (IsFinite(value)) Add(order_.NumberOf(value) >> shift, part);
      });
      const std::lock_guard lock(mutex);
      for (size_t i = 0; i < total.size(); ++i) Add(part[i].counts, total[i].counts);
    });
    return total;
  }

  static void Add(uint64_t number, std::vector<Table>& tables) {
    for (Table& table : tables) {
      if (number >> kPartBits == table.part) ++table.counts[number % kParts];
    }
  }

  static void Add(const std::vector<int64_t>& counts, std::vector<int64_t>& total) {
    for (size_t i = 0; i < kParts; ++i) total[i] += counts[i];
  }

  const Source& elements_;
  const ValueOrder<T> order_;
};

namespace {

constexpr int64_t kChunk = 1 << 16;  // elements summed apart; also the least work of a thread
constexpr int64_t kLooks = 6;        // approximate number of passes over the elements

// A sum that carries its rounding errors along, about as good as twice the precision of double.
class CompensatedSum {
 public:
  void Add(double value) {
    const HeadTail sum = TwoSum(sum_.head, value);
    sum_ = {sum.head, sum_.tail + sum.tail};
  }
  void Add(int64_t value) { AddHalves(value >> 32, value & 0xFFFFFFFF); }
  void Add(uint64_t value) { AddHalves(value >> 32, value & 0xFFFFFFFF); }
  void Add(const CompensatedSum& other) {
    Add(other.sum_.head);
    sum_.tail += other.sum_.tail;
  }

  double DividedBy(double divisor) const {
    const double quotient = sum_.head / divisor;
    return quotient + (std::fma(-quotient, divisor, sum_.head) + sum_.tail) / divisor;
  }

 private:
  // Both halves are exact as doubles, even if the whole integer is not.
  template <typename T>
  void AddHalves(T high, T low) {
    Add(static_cast<double>(high) * 0x1p32);
    Add(static_cast<double>(low));
  }

  HeadTail sum_{0.0, 0.0};
};

// The result of a first pass: counts and the range of finite values, to be merged in any order.
template <typename T>
struct Survey {
  static constexpr double kLeastNormal = sizeof(T) == 2   ? 0x1p-14
                                         : sizeof(T) == 4 ? 0x1p-126
                                                          : 0x1p-1022;

  Statistics counts;
  Wide<T> min = std::numeric_limits<Wide<T>>::max();
  Wide<T> max = std::numeric_limits<Wide<T>>::lowest();

  void Add(Wide<T> value) {
    if (!IsFinite(value)) return AddSpecial(value);
    counts.zero_count += value == 0;
    if constexpr (!std::is_integral_v<T>) {
      counts.subnormal_count += value != 0 && std::abs(value) < kLeastNormal;
    }
    min = std::min(min, value);
    max = std::max(max, value);
  }
  void AddSpecial(Wide<T> value) {
    counts.positive_infinity_count += value > 0;
    counts.negative_infinity_count += value < 0;
    counts.nan_count += value != value;
  }
  void Add(const Survey& other) {
    counts.nan_count += other.counts.nan_count;
    counts.positive_infinity_count += other.counts.positive_infinity_count;
    counts.negative_infinity_count += other.counts.negative_infinity_count;
    counts.zero_count += other.counts.zero_count;
    counts.subnormal_count += other.counts.subnormal_count;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

template <typename T>
Survey<T> SurveyOf(const Elements<T>& elements) {
  Survey<T> total;
  total.counts.count = elements.count();
  std::mutex mutex;
  ParallelFor(elements.count(), kChunk, elements.bytes(), [&](int64_t begin, int64_t end) {
    Survey<T> part;
    elements.ForEach(begin, end, [&](Wide<T> value) { part.Add(value); });
    const std::lock_guard lock(mutex);
    total.Add(part);
  });
  return total;
}

class Histogram {
 public:
  static constexpr size_t kBinCount = FiniteStatistics::kBinCount;
  static_assert(std::has_single_bit(kBinCount));

  // The bins are equal parts of [min, max].
  Histogram(double min, double max) : bin_count_(min == max ? 1 : kBinCount) {
    edges_.fill(std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < bin_count_; ++i) {
      edges_[i] = std::lerp(min, max, static_cast<double>(i) / static_cast<double>(kBinCount));
    }
  }

  // There is one bin for each integer from 0 to `most`.
  explicit Histogram(size_t most) : bin_count_(most + 1) {
    edges_.fill(std::numeric_limits<double>::infinity());
    std::iota(edges_.begin(), edges_.begin() + static_cast<ptrdiff_t>(bin_count_), 0.0);
  }

  void Add(double value) {
    size_t bin = 0;  // a binary search without branches
    for (size_t step = kBinCount / 2; step > 0; step /= 2) {
      bin += value >= edges_[bin + step] ? step : 0;
    }
    ++counts_[bin];
  }
  void Add(const Histogram& other) {
    for (size_t i = 0; i < kBinCount; ++i) counts_[i] += other.counts_[i];
  }

  size_t bin_count() const { return bin_count_; }
  double edge(size_t bin) const { return edges_[bin]; }
  int64_t count(size_t bin) const { return counts_[bin]; }

 private:
  size_t bin_count_;
  std::array<double, kBinCount> edges_;  // lower edges; infinite after the last bin
  std::array<int64_t, kBinCount> counts_{};
};

// Returns a power of two by which the values can be multiplied so that no sum of them overflows.
double SumScale(double min, double max) {
  return std::max(std::abs(min), std::abs(max)) > 0x1p960 ? 0x1p-64 : 1.0;
}

// The result of a second pass, now that the range is known.
template <typename T>
class Distribution {
 public:
  Distribution(const Elements<T>& elements, Wide<T> min, Wide<T> max)
      : elements_(elements),
        scale_(SumScale(static_cast<double>(min), static_cast<double>(max))),
        has_bin_for_each_(HasBinForEach(min, max)),
        base_(has_bin_for_each_ ? min : 0),
        empty_(has_bin_for_each_ ? Histogram(static_cast<size_t>(max - min))
                                 : Histogram(static_cast<double>(min), static_cast<double>(max))),
        histogram_(empty_),
        sums_(static_cast<size_t>(CeilDiv(elements.count(), kChunk))) {
    ParallelFor(static_cast<int64_t>(sums_.size()), 1, elements.bytes(),
                [&](int64_t begin, int64_t end) {
                  Histogram part = empty_;
                  for (int64_t chunk = begin; chunk < end; ++chunk) AddChunk(chunk, part);
                  const std::lock_guard lock(mutex_);
                  histogram_.Add(part);
                });
  }

  std::vector<HistogramBin> histogram() const {
    std::vector<HistogramBin> bins;
    for (size_t bin = 0; bin < histogram_.bin_count(); ++bin) {
      const Number least = has_bin_for_each_ ? Number(base_ + static_cast<Wide<T>>(bin))
                                             : Number(histogram_.edge(bin));
      bins.push_back({least, histogram_.count(bin)});
    }
    return bins;
  }

  // Chunks are summed separately and added in order, so the result does not depend on threads.
  double Mean(int64_t finite_count) const {
    CompensatedSum total;
    for (const CompensatedSum& sum : sums_) total.Add(sum);
    return total.DividedBy(static_cast<double>(finite_count)) / scale_;
  }

 private:
  void AddChunk(int64_t chunk, Histogram& histogram) {
    CompensatedSum sum;
    const int64_t begin = chunk * kChunk;
    elements_.ForEach(begin, std::min(begin + kChunk, elements_.count()), [&](Wide<T> value) {
      if (!IsFinite(value)) return;
      histogram.Add(static_cast<double>(value - base_));
      if constexpr (std::is_integral_v<T>) {
        sum.Add(value);
      } else {
        sum.Add(value * scale_);
      }
    });
    sums_[static_cast<size_t>(chunk)] = sum;
  }

  static bool HasBinForEach(Wide<T> min, Wide<T> max) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<uint64_t>(max) - static_cast<uint64_t>(min) < Histogram::kBinCount;
    } else {
      return false;
    }
  }

  const Elements<T>& elements_;
  const double scale_;
  const bool has_bin_for_each_;
  const Wide<T> base_;  // lower edge of the first bin
  const Histogram empty_;
  Histogram histogram_;
  std::vector<CompensatedSum> sums_;  // sum of each chunk
  std::mutex mutex_;
};

// Computes the standard deviation by sums that do not depend on the threads.
template <typename T>
class Deviation {
 public:
  Deviation(const Elements<T>& elements, Wide<T> min, Wide<T> max, double mean)
      : elements_(elements), base_(std::is_integral_v<T> ? min : 0), scale_(ScaleFor(min, max)) {
    center_ = std::is_integral_v<T> ? mean - static_cast<double>(base_) : mean * scale_;
  }

  double Of(int64_t finite_count) const {
    std::vector<Sums> chunks(static_cast<size_t>(CeilDiv(elements_.count(), kChunk)));
    ParallelFor(static_cast<int64_t>(chunks.size()), 1, elements_.bytes(),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) chunks[static_cast<size_t>(i)] = Chunk(i);
                });
    Sums total;
    for (const Sums& chunk : chunks) {
      total.differences.Add(chunk.differences);
      total.squares.Add(chunk.squares);
    }
    const double count = static_cast<double>(finite_count);
    const double rest = total.differences.DividedBy(count);  // the mean's rounding error
    return std::sqrt(std::max(total.squares.DividedBy(count) - rest * rest, 0.0)) / scale_;
  }

 private:
  struct Sums {
    CompensatedSum differences;  // differences from the mean
    CompensatedSum squares;
  };

  Sums Chunk(int64_t number) const {
    Sums sums;
    const int64_t begin = number * kChunk;
    elements_.ForEach(begin, std::min(begin + kChunk, elements_.count()), [&](Wide<T> value) {
      if (!IsFinite(value)) return;
      const double difference = Scaled(value) - center_;
      sums.differences.Add(difference);
      sums.squares.Add(difference * difference);
    });
    return sums;
  }

  // Counts integers from the least one, so that long ones keep their last digits.
  double Scaled(Wide<T> value) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<double>(static_cast<uint64_t>(value) - static_cast<uint64_t>(base_));
    } else {
      return value * scale_;
    }
  }

  // Returns a power of two by which squares of floats neither overflow nor vanish.
  static double ScaleFor(Wide<T> min, Wide<T> max) {
    if constexpr (std::is_integral_v<T>) {
      return 1.0;
    } else {
      constexpr int kMost = 1000;
      const double largest = std::max(std::abs(min), std::abs(max));
      return largest == 0 ? 1.0 : std::ldexp(1.0, -std::clamp(std::ilogb(largest), -kMost, kMost));
    }
  }

  const Elements<T>& elements_;
  const Wide<T> base_;
  const double scale_;
  double center_;
};

// Returns the value at the rank of each percentage.
template <typename T>
std::vector<Number> PercentilesOf(const Elements<T>& elements, Wide<T> min, Wide<T> max,
                                  int64_t finite_count) {
  std::vector<int64_t> ranks;
  for (const int percent : FiniteStatistics::kPercents) {
    ranks.push_back((percent * finite_count + 99) / 100 - 1);
  }
  const std::vector<Wide<T>> values = RankSearch<T>(elements, min, max).Find(ranks);
  return {values.begin(), values.end()};
}

// The numbers of a sequence as elements.
class SequenceElements {
 public:
  explicit SequenceElements(const NumberSequence& sequence) : sequence_(sequence) {}

  int64_t count() const { return sequence_.count; }
  int64_t bytes() const { return sequence_.bytes; }

  template <typename Visit>
  void ForEach(int64_t begin, int64_t end, Visit&& visit) const {
    constexpr int64_t kBlock = 512;
    std::array<uint64_t, kBlock> block;
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t past = std::min(at + kBlock, end);
      sequence_.read(at, past, block.data());
      for (int64_t i = 0; i < past - at; ++i) visit(block[static_cast<size_t>(i)]);
    }
  }

 private:
  const NumberSequence& sequence_;
};

template <typename T>
Statistics StatisticsOf(const Elements<T>& elements) {
  const Survey<T> survey = SurveyOf(elements);
  Statistics statistics = survey.counts;
  if (statistics.finite_count() == 0) return statistics;
  const Wide<T> min = survey.min + Wide<T>{0};  // turns -0 into 0
  const Wide<T> max = survey.max + Wide<T>{0};
  const Distribution<T> distribution(elements, min, max);
  const int64_t count = statistics.finite_count();
  const double mean = distribution.Mean(count);
  statistics.finite = {min,
                       max,
                       mean,
                       Deviation<T>(elements, min, max, mean).Of(count),
                       PercentilesOf(elements, min, max, count),
                       distribution.histogram()};
  return statistics;
}

}  // namespace

Statistics ComputeStatistics(const ConstTensorView& view) {
  Statistics statistics;
  const Work work("statistics", kLooks * view.element_bytes());
  VisitDataType(AllTypes{}, view.type,
                [&]<typename T>() { statistics = StatisticsOf(Elements<T>(view)); });
  return statistics;
}

std::vector<uint64_t> NumbersOfRanks(const NumberSequence& sequence, uint64_t most,
                                     const std::vector<int64_t>& ranks) {
  const SequenceElements elements(sequence);
  return RankSearch<uint64_t, SequenceElements>(elements, 0, most).Find(ranks);
}

}  // namespace dmlop
