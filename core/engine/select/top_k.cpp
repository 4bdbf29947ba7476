#include "core/engine/select/top_k.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kRangeElements = 1 << 12;

// What comes first is less.
struct Candidate {
  uint64_t key;
  int64_t place;

  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// Rises with the number. NaN, which no other type than floats of up to 32 bits has, comes last.
template <typename T>
uint64_t KeyOf(T x, bool falling) {
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(AsDouble(x))) return std::numeric_limits<uint64_t>::max();
  }
  const auto ordinal = Ordinal(x);
  uint64_t key = static_cast<uint64_t>(ordinal);
  if constexpr (std::is_signed_v<decltype(ordinal)>) {
    key = static_cast<uint64_t>(int64_t{ordinal}) ^ uint64_t { 1 } << 63;
  }
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
    const int64_t grain = std::max<int64_t>(1, kRangeElements / length_);
    const int64_t bytes = sequences * length_ * static_cast<int64_t>(sizeof(T));
    ParallelFor(sequences, grain, bytes, [&](int64_t begin, int64_t end) {
      std::vector<Candidate> first;
      Walk<3> walk(sequences_, begin);
      for (int64_t s = begin; s < end; ++s, walk.Next()) {
        Select(input_ + walk.offset(0), first);
        Write(walk, first);
      }
    });
  }

 private:
  // A heap of the best so far has the worst of them in front.
  void Select(const T* sequence, std::vector<Candidate>& first) const {
    first.clear();
    for (int64_t place = 0; place < length_; ++place) {
      const Candidate one{KeyOf(sequence[place * step_[0]], falling_), place};
      if (std::ssize(first) == count_) {
        if (one > first.front()) continue;
        std::pop_heap(first.begin(), first.end());
        first.pop_back();
      }
      first.push_back(one);
      std::push_heap(first.begin(), first.end());
    }
    std::sort_heap(first.begin(), first.end());
  }

  void Write(const Walk<3>& at, const std::vector<Candidate>& first) const {
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
