// SPDX-License-Identifier: Apache-2.0
#include "core/engine/select/select.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/select/key_sort.h"
#include "core/kernels/reduce/min_max.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kRangeElements = 1 << 12;
constexpr int64_t kPartElements = 1 << 16;  // of a long sequence, for a thread
constexpr int64_t kColumns = 64;            // columns are a multiple that fills vectors
constexpr int64_t kLeastRows = 4;           // fewer rows are searched directly
constexpr int64_t kLeastSorted = 256;       // shorter sequences gain too little from a radix sort

template <typename T, typename Place>
class Selection {
 public:
  Selection(size_t axis, bool falling, const ConstTensorView& input, const TensorView& values,
            const TensorView& places)
      : flipped_(FlippedBits<T>(falling ? MinMax::kMax : MinMax::kMin)),
        input_(input.elements<T>()),
        values_(values.elements<T>()),
        places_(places.elements<Place>()),
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
    const int64_t parts =
        sequences < threads ? std::clamp(length_ / kPartElements, int64_t{1}, threads) : 1;
    // Threads share sequences, or parts of each sequence.
    const int64_t grain = parts > 1 ? sequences : std::max<int64_t>(1, kRangeElements / length_);
    const int64_t bytes = sequences * length_ * static_cast<int64_t>(sizeof(T));
    ParallelFor(sequences, grain, bytes, [&](int64_t begin, int64_t end) {
      KeySort<Key> sort;
      Candidates first;
      Walk<3> walk(sequences_, begin);
      for (int64_t s = begin; s < end; ++s, walk.Next()) {
        Select(input_ + walk.offset(0), parts, sort, first);
        Write(walk, first);
      }
    });
  }

 private:
  using ValueOrder = KeyOrder<Ordered<T>>;
  using Order = KeyOrder<Ordered<T>, kKeysForIndex<T>>;
  using BestKey = typename Order::Key;
  using Key = std::make_unsigned_t<BestKey>;
  using Candidates = std::vector<Candidate<Key>>;

  void Select(const T* sequence, int64_t parts, KeySort<Key>& sort, Candidates& first) const {
    if (length_ >= kLeastSorted && count_ > length_ / 32) {
      SortAll(sequence, parts, sort, first);
    } else if (parts == 1) {
      SelectFew(sequence, 0, length_, first);
    } else {
      std::vector<Candidates> of_parts(static_cast<size_t>(parts));
      ForEachPart(length_, parts, [&](size_t part, int64_t begin, int64_t end) {
        SelectFew(sequence, begin, end, of_parts[part]);
      });
      first.clear();
      for (const Candidates& some : of_parts) first.insert(first.end(), some.begin(), some.end());
      std::sort(first.begin(), first.end());
    }
  }

  void SortAll(const T* sequence, int64_t parts, KeySort<Key>& sort, Candidates& all) const {
    all.resize(static_cast<size_t>(length_));
    ForEachPart(length_, parts, [&](size_t, int64_t begin, int64_t end) {
      for (int64_t place = begin; place < end; ++place) {
        all[static_cast<size_t>(place)] = CandidateAt(sequence, place);
      }
    });
    sort.Sort(all, parts);
  }

  Candidate<Key> CandidateAt(const T* sequence, int64_t place) const {
    const auto x = std::bit_cast<Ordered<T>>(sequence[place * step_[0]]);
    return {InOrder(Order::ToKey(x, flipped_)), static_cast<uint32_t>(place)};
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
    Offer(sequence, begin, end, 1, first);
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
    best_of_columns_(reinterpret_cast<const Ordered<T>*>(sequence + begin), (end - begin) / columns,
                     columns, columns, flipped_, best.data());
    for (BestKey& key : best) key = ValueOrder::ForIndex(key);
    std::vector<BestKey> sorted = best;
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count_ - 1);
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
    for (int64_t c = 0; c < columns; ++c) {
      if (best[static_cast<size_t>(c)] >= *last) Offer(sequence, begin + c, end, columns, first);
    }
  }

  // Keeps the best elements so far in a heap with the worst of them in front.
  void Offer(const T* sequence, int64_t begin, int64_t end, int64_t step, Candidates& first) const {
    for (int64_t place = begin; place < end; place += step) {
      const Candidate<Key> one = CandidateAt(sequence, place);
      if (std::ssize(first) == count_) {
        if (one.key > first.front().key || one > first.front()) continue;
        std::pop_heap(first.begin(), first.end());
        first.pop_back();
      }
      first.push_back(one);
      std::push_heap(first.begin(), first.end());
    }
  }

  void Write(const Walk<3>& at, const Candidates& first) const {
    const T* const sequence = input_ + at.offset(0);
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t place = first[static_cast<size_t>(k)].place;
      values_[at.offset(1) + k * step_[1]] = sequence[place * step_[0]];
      places_[at.offset(2) + k * step_[2]] = static_cast<Place>(place);
    }
  }

  BestKey flipped_;
  const T* input_;
  T* values_;
  Place* places_;
  int64_t length_;
  int64_t count_;
  std::array<int64_t, 3> step_;
  LoopNest<3> sequences_;
  decltype(MinMaxKernels<Ordered<T>>::best_of_columns) best_of_columns_ =
      MinMaxKernelsFor<Ordered<T>>().best_of_columns;
};

}  // namespace

void SelectFirst(size_t axis, bool falling, const ConstTensorView& input, const TensorView& values,
                 const TensorView& places) {
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), input.type, [&]<typename T>() {
    VisitDataType(TypeList<uint64_t, uint32_t>(), places.type, [&]<typename Place>() {
      Selection<T, Place>(axis, falling, input, values, places).Run();
    });
  });
}

}  // namespace dmlop
