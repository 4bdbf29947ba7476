#include "core/engine/select/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/select/key_sort.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kRangeElements = 1 << 12;
constexpr int64_t kPartElements = 1 << 16;  // of a long sequence, for a thread
constexpr int64_t kLeastSorted = 256;       // what shorter ones gain does not pay for digits

// Rises with the number. NaN, which no other type than floats of up to 32 bits has, comes last.
template <typename T>
WideUnsigned<T> KeyOf(T x, bool falling) {
  using Key = WideUnsigned<T>;
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(AsDouble(x))) return std::numeric_limits<Key>::max();
  }
  const auto ordinal = Ordinal(x);
  Key key = static_cast<Key>(ordinal);
  if constexpr (std::is_signed_v<decltype(ordinal)>) key ^= Key{1} << (8 * sizeof(Key) - 1);
  return falling ? ~key : key;
}

template <typename T, typename Place>
class Selection {
 public:
  Selection(size_t axis, bool falling, const ConstTensorView& input, const TensorView& values,
            const TensorView& places)
      : falling_(falling),
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
    // Threads share sequences, or parts of each.
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
  using Key = WideUnsigned<T>;
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
    return {KeyOf(sequence[place * step_[0]], falling_), static_cast<uint32_t>(place)};
  }

  // A heap of the best so far has the worst of them in front. What is as good comes behind it.
  void SelectFew(const T* sequence, int64_t begin, int64_t end, Candidates& first) const {
    first.clear();
    int64_t place = begin;
    for (; place < std::min(end, begin + count_); ++place) {
      first.push_back(CandidateAt(sequence, place));
    }
    std::make_heap(first.begin(), first.end());
    for (Key worst = first.front().key; place < end; ++place) {
      const Candidate<Key> one = CandidateAt(sequence, place);
      if (one.key >= worst) continue;
      std::pop_heap(first.begin(), first.end());
      first.back() = one;
      std::push_heap(first.begin(), first.end());
      worst = first.front().key;
    }
    std::sort_heap(first.begin(), first.end());
  }

  void Write(const Walk<3>& at, const Candidates& first) const {
    const T* const sequence = input_ + at.offset(0);
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t place = first[static_cast<size_t>(k)].place;
      values_[at.offset(1) + k * step_[1]] = sequence[place * step_[0]];
      places_[at.offset(2) + k * step_[2]] = static_cast<Place>(place);
    }
  }

  bool falling_;
  const T* input_;
  T* values_;
  Place* places_;
  int64_t length_;
  int64_t count_;
  std::array<int64_t, 3> step_;
  LoopNest<3> sequences_;
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
