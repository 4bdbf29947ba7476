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
#include "core/engine/copy/copy_views.h"
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

 private:
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

// A stable radix sort by keys from the lowest digit on, each counted and moved part by part. Its
// memory is first touched by the threads that fill it.
template <typename Key>
class KeySort {
 public:
  // Sorts what make(place) returns for `count` places.
  template <typename Make>
  std::span<const Candidate<Key>> Sort(int64_t count, int64_t parts, Make&& make) {
    Reserve(static_cast<size_t>(count));
    ForEachPart(count, parts, [&](size_t, int64_t begin, int64_t end) {
      for (int64_t place = begin; place < end; ++place) {
        sorted_[static_cast<size_t>(place)] = make(place);
      }
    });
    for (size_t shift = 0; shift < 8 * sizeof(Key); shift += 8) {
      Count(shift, parts);
      if (!FindPlaces()) continue;
      Move(shift, parts);
      sorted_.swap(spare_);
    }
    return {sorted_.get(), count_};
  }

 private:
  using Places = std::array<size_t, 256>;  // for each digit, first the count, then the place

  static size_t DigitOf(Key key, size_t shift) { return (key >> shift) & 255; }

  void Reserve(size_t count) {
    if (count > room_) {
      sorted_ = std::make_unique_for_overwrite<Candidate<Key>[]>(count);
      spare_ = std::make_unique_for_overwrite<Candidate<Key>[]>(count);
      room_ = count;
    }
    count_ = count;
  }

  void Count(size_t shift, int64_t parts) {
    places_.assign(static_cast<size_t>(parts), Places{});
    ForEachPart(size(), parts, [&](size_t part, int64_t begin, int64_t end) {
      Places counts{};
      for (int64_t i = begin; i < end; ++i) {
        ++counts[DigitOf(sorted_[static_cast<size_t>(i)].key, shift)];
      }
      places_[part] = counts;
    });
  }

  // Turns counts into places; false if all digits are the same.
  bool FindPlaces() {
    Places next{};
    for (const Places& part : places_) {
      for (size_t digit = 0; digit < next.size(); ++digit) next[digit] += part[digit];
    }
    if (std::find(next.begin(), next.end(), count_) != next.end()) return false;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), size_t{0});
    for (Places& part : places_) {
      for (size_t digit = 0; digit < next.size(); ++digit) {
        next[digit] += std::exchange(part[digit], next[digit]);
      }
    }
    return true;
  }

  void Move(size_t shift, int64_t parts) {
    ForEachPart(size(), parts, [&](size_t part, int64_t begin, int64_t end) {
      Places places = places_[part];
      for (int64_t i = begin; i < end; ++i) {
        const Candidate<Key> one = sorted_[static_cast<size_t>(i)];
        spare_[places[DigitOf(one.key, shift)]++] = one;
      }
    });
  }

  int64_t size() const { return static_cast<int64_t>(count_); }

  std::unique_ptr<Candidate<Key>[]> sorted_, spare_;
  size_t room_ = 0;
  size_t count_ = 0;
  std::vector<Places> places_;
};

}  // namespace

// --- the first along an axis ---------------------------------------------------------------------

namespace {

constexpr int64_t kRangeElements = 1 << 12;
constexpr int64_t kPartElements = 1 << 16;    // of a long sequence, for a thread
constexpr int64_t kSortedElements = 1 << 14;  // the same, if all are sorted
constexpr int64_t kSortedPerThread = 4;       // such parts, so that threads end at the same time
constexpr int64_t kColumns = 64;              // columns are a multiple that fills vectors
constexpr int64_t kLeastRows = 4;             // fewer rows are searched directly
constexpr int64_t kLeastSorted = 256;         // shorter sequences gain too little from a radix sort

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
    const int64_t part = SortsAll() ? kSortedElements : kPartElements;
    const int64_t most = SortsAll() ? kSortedPerThread * threads : threads;
    const int64_t parts = sequences < threads ? std::clamp(length_ / part, int64_t{1}, most) : 1;
    // Threads share sequences, or parts of each sequence.
    const int64_t grain = parts > 1 ? sequences : std::max<int64_t>(1, kRangeElements / length_);
    const int64_t bytes = sequences * length_ * static_cast<int64_t>(sizeof(T));
    ParallelFor(sequences, grain, bytes, [&](int64_t begin, int64_t end) {
      KeySort<Key> sort;
      Candidates first;
      Walk<3> walk(sequences_, begin);
      for (int64_t s = begin; s < end; ++s, walk.Next()) {
        Write(walk, Select(input_ + walk.offset(0), parts, sort, first), parts);
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

  std::span<const Candidate<Key>> Select(const T* sequence, int64_t parts, KeySort<Key>& sort,
                                         Candidates& first) const {
    if (SortsAll()) {
      return sort.Sort(length_, parts, [&](int64_t place) { return CandidateAt(sequence, place); });
    }
    if (parts == 1) {
      SelectFew(sequence, 0, length_, first);
      return first;
    }
    std::vector<Candidates> of_parts(static_cast<size_t>(parts));
    ForEachPart(length_, parts, [&](size_t part, int64_t begin, int64_t end) {
      SelectFew(sequence, begin, end, of_parts[part]);
    });
    first.clear();
    for (const Candidates& some : of_parts) first.insert(first.end(), some.begin(), some.end());
    std::sort(first.begin(), first.end());
    return first;
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

  void Write(const Walk<3>& at, std::span<const Candidate<Key>> first, int64_t parts) const {
    ForEachPart(count_, SortsAll() ? parts : 1, [&](size_t, int64_t begin, int64_t end) {
      if (ByteWidth(places_.type) == sizeof(uint64_t)) {
        WritePart<uint64_t>(at, first, begin, end);
      } else {
        WritePart<uint32_t>(at, first, begin, end);
      }
    });
  }

  template <typename Place>
  void WritePart(const Walk<3>& at, std::span<const Candidate<Key>> first, int64_t begin,
                 int64_t end) const {
    const T* const sequence = input_ + at.offset(0);
    Place* const places = places_.elements<Place>() + at.offset(2);
    for (int64_t k = begin; k < end; ++k) {
      const int64_t place = first[static_cast<size_t>(k)].place;
      values_[at.offset(1) + k * step_[1]] = sequence[place * step_[0]];
      places[k * step_[2]] = static_cast<Place>(place);
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

// --- those that are not zero ---------------------------------------------------------------------

namespace {

constexpr int64_t kBlock = 1 << 13;  // elements that are counted together
constexpr int64_t kMaxRun = 256;     // elements that are tested before any is written

// Bits is the unsigned integer with the width of an element.
template <typename Bits>
class NonzeroSearch {
 public:
  NonzeroSearch(const ConstTensorView& input, const TensorView& coordinates)
      : input_(input),
        nest_{input.layout.sizes, {input.layout.strides}},
        step_(input.layout.strides.back()),
        magnitude_(IsFloat(input.type) ? kAll / 2 : kAll),
        coordinates_(coordinates) {}

  // Returns the number of nonzero elements.
  int64_t Run() const {
    const int64_t elements = input_.layout.element_count();
    const int64_t blocks = (elements + kBlock - 1) / kBlock;
    const auto end_of = [&](int64_t block) { return std::min(elements, (block + 1) * kBlock); };
    std::vector<int64_t> rows(static_cast<size_t>(blocks) + 1);  // counts before each block
    ParallelFor(blocks, 1, input_.element_bytes(), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        rows[static_cast<size_t>(block) + 1] = Count(block * kBlock, end_of(block));
      }
    });
    for (size_t block = 1; block < rows.size(); ++block) rows[block] += rows[block - 1];
    ParallelFor(blocks, 1, input_.element_bytes(), [&](int64_t begin, int64_t end) {
      Write(begin * kBlock, end_of(end - 1), rows[static_cast<size_t>(begin)]);
    });
    return rows.back();
  }

 private:
  // Calls visit(elements, count, index) for runs along the last dimension; `index` is their first.
  template <typename Visit>
  void ForEachRun(int64_t begin, int64_t end, Visit&& visit) const {
    const int64_t length = nest_.sizes.back();
    const LoopNest<1> outer = Without(nest_, nest_.rank() - 1);
    Walk<1> walk(outer, begin / length);
    Dims index = IndexOf(nest_.sizes, begin);
    for (int64_t k = begin; k < end;) {
      const int64_t count = std::min({length - index.back(), end - k, kMaxRun});
      visit(input_.elements<Bits>() + walk.offset(0) + index.back() * step_, count, index);
      k += count;
      index.back() += count;
      if (index.back() < length) continue;
      index.back() = length - 1;
      Advance(nest_.sizes, index);
      walk.Next();
    }
  }

  bool IsNonzero(Bits element) const { return (element & magnitude_) != 0; }

  int64_t Count(int64_t begin, int64_t end) const {
    int64_t total = 0;
    ForEachRun(begin, end, [&](const Bits* run, int64_t count, const Dims&) {
      for (int64_t i = 0; i < count; ++i) total += IsNonzero(run[i * step_]) ? 1 : 0;
    });
    return total;
  }

  // Finds the nonzero elements of a run without branches, which would be unpredictable.
  void Write(int64_t begin, int64_t end, int64_t row) const {
    std::array<int64_t, kMaxRun> found;
    ForEachRun(begin, end, [&](const Bits* run, int64_t count, const Dims& first) {
      size_t nonzero = 0;
      for (int64_t i = 0; i < count; ++i) {
        found[nonzero] = i;
        nonzero += IsNonzero(run[i * step_]) ? 1 : 0;
      }
      Dims index = first;
      for (size_t i = 0; i < nonzero; ++i) {
        index.back() = first.back() + found[i];
        WriteRow(row++, index);
      }
    });
  }

  void WriteRow(int64_t row, const Dims& index) const {
    const Layout& layout = coordinates_.layout;
    const size_t rank = layout.rank();
    const size_t columns = static_cast<size_t>(layout.sizes[rank - 1]);
    const size_t first = index.size() - columns;
    uint32_t* const to = coordinates_.elements<uint32_t>() + row * layout.strides[rank - 2];
    for (size_t c = 0; c < columns; ++c) {
      to[static_cast<int64_t>(c) * layout.strides[rank - 1]] =
          static_cast<uint32_t>(index[first + c]);
    }
  }

  static constexpr Bits kAll = std::numeric_limits<Bits>::max();

  ConstTensorView input_;
  LoopNest<1> nest_;
  int64_t step_;
  Bits magnitude_;  // masks the sign of a float
  TensorView coordinates_;
};

}  // namespace

void FindNonzero(const ConstTensorView& input, const TensorView& count,
                 const TensorView& coordinates) {
  VisitElementWidth(input.type, [&]<typename Bits>() {
    const int64_t found = NonzeroSearch<Bits>(input, coordinates).Run();
    *count.elements<uint32_t>() = static_cast<uint32_t>(found);
    const size_t rows = coordinates.layout.rank() - 2;
    const int64_t left = coordinates.layout.sizes[rows] - found;
    if (left > 0) FillView(ElementBytes{}, coordinates.Slice(rows, found, left));
  });
}

}  // namespace dmlop
