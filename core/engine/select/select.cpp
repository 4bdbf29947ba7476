// SPDX-License-Identifier: Apache-2.0
#include "core/engine/select/select.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/kernels/reduce/min_max.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

template <typename Key>
struct Candidate {
  Key key;
  uint32_t place;  // 32 bits suffice for any size

  // Compares as one number, without a branch that nobody could predict.
  friend bool operator<(const Candidate& a, const Candidate& b) { return a.Rank() < b.Rank(); }

  using Number = std::conditional_t<sizeof(Key) < sizeof(uint64_t), uint64_t, Int128>;
  Number Rank() const { return Number{key} << 32 | place; }
};

// Calls body(part, begin, end) for parts of [0, count) of equal size, whatever the threads.
template <typename Body>
void ForEachPart(int64_t count, int64_t parts, Body&& body) {
  if (parts == 1) return body(size_t{0}, int64_t{0}, count);
  const int64_t size = (count + parts - 1) / parts;
  ParallelFor(parts, 1, 0, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      body(static_cast<size_t>(part), std::min(count, part * size),
           std::min(count, (part + 1) * size));
    }
  });
}

// A stable radix sort by keys from the lowest digit on.
template <typename Key>
class KeySort {
 public:
  // Sorts what make(i) returns for i below `count`.
  template <typename Make>
  std::span<const Candidate<Key>> Sort(size_t count, Make&& make) {
    Reserve(count);
    digits_ = {};
    for (size_t i = 0; i < count; ++i) {
      const Candidate<Key> one = make(i);
      sorted_[i] = one;
      for (size_t d = 0; d < digits_.size(); ++d) ++digits_[d][DigitOf(one.key, d)];
    }
    for (size_t d = 0; d < digits_.size(); ++d) {
      const bool is_same = count == 0 || digits_[d][DigitOf(sorted_[0].key, d)] == count;
      if (!is_same) Move(count, d);
    }
    return {sorted_.get(), count};
  }

 private:
  using Places = std::array<uint32_t, 256>;  // for each value of a digit, first how many have it

  static size_t DigitOf(Key key, size_t digit) { return (key >> (8 * digit)) & 255; }

  void Reserve(size_t count) {
    if (count <= room_) return;
    sorted_ = std::make_unique_for_overwrite<Candidate<Key>[]>(count);
    spare_ = std::make_unique_for_overwrite<Candidate<Key>[]>(count);
    room_ = count;
  }

  void Move(size_t count, size_t digit) {
    Places& places = digits_[digit];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t{0});
    for (size_t i = 0; i < count; ++i) {
      const Candidate<Key> one = sorted_[i];
      spare_[places[DigitOf(one.key, digit)]++] = one;
    }
    sorted_.swap(spare_);
  }

  std::unique_ptr<Candidate<Key>[]> sorted_, spare_;
  size_t room_ = 0;
  std::array<Places, sizeof(Key)> digits_;
};

// Sorts a long sequence by threads: parts of it are moved to buckets, whose bounds are samples, and
// each bucket with any of the first elements is sorted by itself. Its memory is first touched by
// the threads that fill it.
template <typename Key, typename Make>
class BucketSort {
 public:
  // The candidates are what make(place) returns for `count` places.
  BucketSort(int64_t count, const Make& make) : count_(count), make_(make) {
    FindBounds();
    CountParts();
    FindPlaces();
  }

  // Calls visit(begin, some) for ranges of candidates, which come after `begin` others, until there
  // are `wanted` of them.
  template <typename Visit>
  void Run(int64_t wanted, Visit&& visit) {
    const size_t last = BucketOf(wanted - 1);
    MoveParts(last);
    ParallelFor(static_cast<int64_t>(last) + 1, 1, 0, [&](int64_t begin, int64_t end) {
      KeySort<Key> sort;
      for (size_t b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
        const Candidate<Key>* const from = moved_.get() + begins_[b];
        visit(static_cast<int64_t>(begins_[b]),
              sort.Sort(begins_[b + 1] - begins_[b], [from](size_t i) { return from[i]; }));
      }
    });
  }

 private:
  static constexpr size_t kBuckets = 256;
  static constexpr size_t kSamplesOfBucket = 8;
  static constexpr int64_t kParts = 128;
  using Places = std::array<uint32_t, kBuckets>;  // first counts
  using Rank = decltype(Candidate<Key>().Rank());

  void FindBounds() {
    constexpr size_t kSamples = kBuckets * kSamplesOfBucket;
    KeySort<Key> sort;
    const auto samples = sort.Sort(kSamples, [&](size_t i) {
      return make_(count_ / static_cast<int64_t>(kSamples) * static_cast<int64_t>(i));
    });
    for (size_t b = 1; b < kBuckets; ++b) bounds_[b - 1] = samples[b * kSamplesOfBucket].Rank();
  }

  // Finds the buckets of adjacent places. Searches several at once and without branches, which
  // nobody could predict.
  template <size_t... kAt>
  void FindBuckets(int64_t place, uint8_t* buckets, std::index_sequence<kAt...>) const {
    const std::array ranks{make_(place + static_cast<int64_t>(kAt)).Rank()...};
    std::array<size_t, sizeof...(kAt)> found{};
    for (size_t step = kBuckets / 2; step > 0; step /= 2) {
      const auto is_after = [&](size_t at, Rank rank) { return bounds_[at + step - 1] <= rank; };
      ((found[kAt] += step & (size_t{0} - size_t{is_after(found[kAt], ranks[kAt])})), ...);
    }
    ((buckets[kAt] = static_cast<uint8_t>(found[kAt])), ...);
  }

  void CountParts() {
    buckets_ = std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(count_));
    places_.resize(kParts);
    ForEachPart(count_, kParts, [&](size_t part, int64_t begin, int64_t end) {
      constexpr int64_t kAtOnce = 4;
      int64_t place = begin;
      for (; place + kAtOnce <= end; place += kAtOnce) {
        FindBuckets(place, buckets_.get() + place, std::make_index_sequence<kAtOnce>());
      }
      for (; place < end; ++place)
        FindBuckets(place, buckets_.get() + place, std::index_sequence<0>());
      Places counts{};
      std::for_each(buckets_.get() + begin, buckets_.get() + end,
                    [&](uint8_t bucket) { ++counts[bucket]; });
      places_[part] = counts;
    });
  }

  void FindPlaces() {
    Places next{};
    for (const Places& part : places_) {
      for (size_t b = 0; b < kBuckets; ++b) next[b] += part[b];
    }
    std::exclusive_scan(next.begin(), next.end(), next.begin(), uint32_t{0});
    std::copy(next.begin(), next.end(), begins_.begin());
    begins_.back() = static_cast<uint32_t>(count_);
    for (Places& part : places_) {
      for (size_t b = 0; b < kBuckets; ++b) next[b] += std::exchange(part[b], next[b]);
    }
  }

  // Returns the bucket with a candidate's place.
  size_t BucketOf(int64_t place) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), place);
    return static_cast<size_t>(after - begins_.begin()) - 1;
  }

  void MoveParts(size_t last_bucket) {
    moved_ = std::make_unique_for_overwrite<Candidate<Key>[]>(begins_[last_bucket + 1]);
    ForEachPart(count_, kParts, [&](size_t part, int64_t begin, int64_t end) {
      Places places = places_[part];
      std::vector<uint32_t> chosen(static_cast<size_t>(end - begin));
      size_t count = 0;
      for (int64_t place = begin; place < end; ++place) {
        chosen[count] = static_cast<uint32_t>(place);
        count += buckets_[static_cast<size_t>(place)] <= last_bucket ? 1 : 0;
      }
      for (size_t i = 0; i < count; ++i) moved_[places[buckets_[chosen[i]]]++] = make_(chosen[i]);
    });
  }

  int64_t count_;
  const Make& make_;
  std::array<Rank, kBuckets - 1> bounds_;
  std::unique_ptr<uint8_t[]> buckets_;  // of each place
  std::vector<Places> places_;          // for each part
  std::array<uint32_t, kBuckets + 1> begins_;
  std::unique_ptr<Candidate<Key>[]> moved_;
};

// --- the first along an axis ---------------------------------------------------------------------

constexpr int64_t kRangeElements = 1 << 12;
constexpr int64_t kPartElements = 1 << 16;  // of a long sequence, for a thread
constexpr int64_t kColumns = 64;            // columns are a multiple that fills vectors
constexpr int64_t kLeastRows = 4;           // fewer rows are searched directly
constexpr int64_t kLeastSorted = 256;       // shorter sequences gain too little from a radix sort
constexpr int64_t kLeastInBuckets = 1 << 15;

// T is a type that kernels take: the elements of an unsigned type are told apart by the bits to
// flip.
template <typename T>
class Selection {
 public:
  Selection(size_t axis, KeyOf<T> flipped, const ConstTensorView& input, const TensorView& values,
            const TensorView& places)
      : flipped_(flipped),
        input_(input.elements<T>()),
        values_(values.elements<T>()),
        places_(places),
        length_(input.layout.sizes[axis]),
        count_(values.layout.sizes[axis]) {
    LoopNest<3> all{values.layout.sizes,
                    {input.layout.strides, values.layout.strides, places.layout.strides}};
    step_ = all.Step(axis);
    sequences_ = Merged(Without(all, axis));
  }

  void Run() const {
    const int64_t sequences = Product(sequences_.sizes);
    const int64_t threads = ThreadCount();
    const int64_t part = SortsAll() ? kLeastInBuckets : kPartElements;
    const int64_t parts = sequences < threads ? std::clamp(length_ / part, int64_t{1}, threads) : 1;
    // Threads share sequences, or parts of each sequence.
    const int64_t grain = parts > 1 ? sequences : std::max<int64_t>(1, kRangeElements / length_);
    const int64_t bytes = sequences * length_ * static_cast<int64_t>(sizeof(T));
    ParallelFor(sequences, grain, bytes, [&](int64_t begin, int64_t end) {
      KeySort<Key> sort;
      Candidates first;
      Walk<3> walk(sequences_, begin);
      for (int64_t s = begin; s < end; ++s, walk.Next()) {
        if (SortsAll()) {
          WriteSorted(walk, parts, sort);
        } else {
          Select(input_ + walk.offset(0), parts, first);
          Write(walk, 0, first);
        }
      }
    });
  }

 private:
  using ValueOrder = KeyOrder<T>;
  using Order = KeyOrder<T, kKeysForIndex<T>>;
  using BestKey = typename Order::Key;
  using Key = std::make_unsigned_t<BestKey>;
  using Candidates = std::vector<Candidate<Key>>;

  bool SortsAll() const { return length_ >= kLeastSorted && count_ > length_ / 32; }

  void Select(const T* sequence, int64_t parts, Candidates& first) const {
    if (parts == 1) return SelectFew(sequence, 0, length_, first);
    std::vector<Candidates> of_parts(static_cast<size_t>(parts));
    ForEachPart(length_, parts, [&](size_t part, int64_t begin, int64_t end) {
      SelectFew(sequence, begin, end, of_parts[part]);
    });
    first.clear();
    for (const Candidates& some : of_parts) first.insert(first.end(), some.begin(), some.end());
    std::sort(first.begin(), first.end());
  }

  void WriteSorted(const Walk<3>& at, int64_t parts, KeySort<Key>& sort) const {
    const T* const sequence = input_ + at.offset(0);
    const auto candidate = [&](auto place) {
      return CandidateAt(sequence, static_cast<int64_t>(place));
    };
    if (parts == 1) return Write(at, 0, sort.Sort(static_cast<size_t>(length_), candidate));
    BucketSort<Key, decltype(candidate)>(length_, candidate)
        .Run(count_,
             [&](int64_t begin, std::span<const Candidate<Key>> some) { Write(at, begin, some); });
  }

  Candidate<Key> CandidateAt(const T* sequence, int64_t place) const {
    const BestKey key = Order::ToKey(sequence[place * step_[0]], flipped_);
    return {InOrder(key), static_cast<uint32_t>(place)};
  }

  // The best key becomes the least; NaN's key is the greatest.
  static Key InOrder(BestKey key) {
    return static_cast<Key>(std::numeric_limits<BestKey>::max()) - static_cast<Key>(key);
  }

  void SelectFew(const T* sequence, int64_t begin, int64_t end, Candidates& first) const {
    first.clear();
    const int64_t columns = ColumnsOf(end - begin);
    const int64_t rest = begin + (end - begin) / columns * columns;
    if (step_[0] == 1 && rest - begin >= kLeastRows * columns) {
      OfferColumns(sequence, begin, rest, columns, first);
      begin = rest;
    }
    Offer(sequence, {begin, end, 1}, std::numeric_limits<Key>::max(), first);
    std::sort_heap(first.begin(), first.end());
  }

  // Balances the time for choosing columns with the time for searching the chosen ones.
  int64_t ColumnsOf(int64_t length) const {
    const double columns = std::sqrt(static_cast<double>(length) * static_cast<double>(count_));
    return std::max(kColumns, static_cast<int64_t>(columns) / kColumns * kColumns);
  }

  // Takes elements in rows of `columns`: the first elements of all lie in the columns with the best
  // maxima. There are at least count_ columns: length * count is less than 4 * columns^2, and the
  // length is at least kLeastRows * columns.
  void OfferColumns(const T* sequence, int64_t begin, int64_t end, int64_t columns,
                    Candidates& first) const {
    std::vector<BestKey> best(static_cast<size_t>(columns), ValueOrder::kLeast);
    best_of_columns_(sequence + begin, (end - begin) / columns, columns, columns, flipped_,
                     best.data());
    for (BestKey& key : best) key = ValueOrder::ForIndex(key);
    std::vector<BestKey> sorted = best;
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count_ - 1);
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
    for (int64_t c = 0; c < columns; ++c) {
      if (best[static_cast<size_t>(c)] < *last) continue;
      Offer(sequence, {begin + c, end, columns}, InOrder(*last), first);
    }
  }

  // Places from `begin` on that are `step` apart.
  struct Steps {
    int64_t begin, end, step;
  };

  // Keeps the best elements so far in a heap with the worst of them in front, but for those with
  // keys greater than `most`.
  void Offer(const T* sequence, const Steps& places, Key most, Candidates& first) const {
    for (int64_t place = places.begin; place < places.end; place += places.step) {
      const Candidate<Key> one = CandidateAt(sequence, place);
      if (one.key > most) continue;
      if (std::ssize(first) == count_) {
        if (first.front() < one) continue;
        std::pop_heap(first.begin(), first.end());
        first.pop_back();
      }
      first.push_back(one);
      std::push_heap(first.begin(), first.end());
    }
  }

  // Writes those of the first that come after `begin` others.
  void Write(const Walk<3>& at, int64_t begin, std::span<const Candidate<Key>> some) const {
    const auto wanted = some.first(std::min(some.size(), static_cast<size_t>(count_ - begin)));
    if (ByteWidth(places_.type) == sizeof(uint64_t)) {
      WriteAs<uint64_t>(at, begin, wanted);
    } else {
      WriteAs<uint32_t>(at, begin, wanted);
    }
  }

  template <typename Place>
  void WriteAs(const Walk<3>& at, int64_t begin, std::span<const Candidate<Key>> some) const {
    const T* const sequence = input_ + at.offset(0);
    T* value = values_ + at.offset(1) + begin * step_[1];
    Place* place = places_.elements<Place>() + at.offset(2) + begin * step_[2];
    for (const Candidate<Key>& one : some) {
      *value = sequence[one.place * step_[0]];
      *place = static_cast<Place>(one.place);
      value += step_[1];
      place += step_[2];
    }
  }

  BestKey flipped_;
  const T* input_;
  T* values_;
  TensorView places_;
  int64_t length_;
  int64_t count_;
  std::array<int64_t, 3> step_;
  LoopNest<3> sequences_;
  decltype(MinMaxKernels<T>::best_of_columns) best_of_columns_ =
      MinMaxKernelsFor<T>().best_of_columns;
};

}  // namespace

void SelectFirst(size_t axis, bool falling, const ConstTensorView& input, const TensorView& values,
                 const TensorView& places) {
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), input.type, [&]<typename T>() {
    const KeyOf<T> flipped = FlippedBits<T>(falling ? MinMax::kMax : MinMax::kMin);
    Selection<Ordered<T>>(axis, flipped, input, values, places).Run();
  });
}

}  // namespace dmlop
