#include "core/engine/scan/scan.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/scan/prefix_product.h"
#include "core/engine/scan/prefix_sum.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kMostSequences = 32;  // that are gone through side by side
constexpr int64_t kRangeElements = 1 << 13;

// T is the type of the elements, State<T> what is known of those so far.
template <template <typename> typename State, typename T>
class Scan {
 public:
  Scan(const ScanCall& call, const ConstTensorView& input, const TensorView& output)
      : is_exclusive_(call.is_exclusive), to_(output.elements<T>()), from_(input.elements<T>()) {
    LoopNest<2> all{output.layout.sizes, {output.layout.strides, input.layout.strides}};
    length_ = all.sizes[call.axis];
    step_ = all.Step(call.axis);
    sequences_ = Merged(Without(all, call.axis));
    if (!call.from_the_end) return;
    to_ += (length_ - 1) * step_[0];
    from_ += (length_ - 1) * step_[1];
    for (int64_t& step : step_) step = -step;
  }

  void Run() const {
    const int64_t count = Product(sequences_.sizes);
    const int64_t side_by_side = std::clamp(count / ThreadCount(), int64_t{1}, kMostSequences);
    const int64_t groups = (count + side_by_side - 1) / side_by_side;
    const int64_t grain = std::max<int64_t>(1, kRangeElements / (side_by_side * length_));
    const int64_t bytes = count * length_ * static_cast<int64_t>(sizeof(T));
    ParallelFor(groups, grain, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        const int64_t first = group * side_by_side;
        RunSequences(first, std::min(count - first, side_by_side));
      }
    });
  }

 private:
  void RunSequences(int64_t first, int64_t count) const {
    std::array<std::array<int64_t, 2>, kMostSequences> places;
    Walk<2> walk(sequences_, first);
    for (int64_t s = 0; s < count; ++s, walk.Next())
      places[static_cast<size_t>(s)] = walk.offsets();
    std::vector<State<T>> states(static_cast<size_t>(count));
    for (int64_t k = 0; k < length_; ++k) {
      for (size_t s = 0; s < states.size(); ++s) {
        const T x = from_[places[s][1] + k * step_[1]];
        T& to = to_[places[s][0] + k * step_[0]];
        if (is_exclusive_) to = states[s].Value();
        states[s].Add(x);
        if (!is_exclusive_) to = states[s].Value();
      }
    }
  }

  bool is_exclusive_;
  T* to_;
  const T* from_;
  int64_t length_;
  std::array<int64_t, 2> step_;
  LoopNest<2> sequences_;
};

template <template <typename> typename State>
void RunScan(const ScanCall& call, const ConstTensorView& input, const TensorView& output) {
  VisitDataType(Join<Floats, Integers32, Integers64>(), input.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      Scan<State, std::make_unsigned_t<T>>(call, input, output).Run();
    } else {
      Scan<State, T>(call, input, output).Run();
    }
  });
}

}  // namespace

void ScanSums(const ScanCall& call, const ConstTensorView& input, const TensorView& output) {
  RunScan<PrefixSum>(call, input, output);
}

void ScanProducts(const ScanCall& call, const ConstTensorView& input, const TensorView& output) {
  RunScan<PrefixProduct>(call, input, output);
}

}  // namespace dmlop
