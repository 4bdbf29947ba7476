#include "core/engine/window/pool_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/int128.h"
#include "core/base/parallel.h"
#include "core/engine/copy/fill.h"
#include "core/engine/window/pool_norm.h"
#include "core/exact/exact_sum.h"
#include "core/exact/round_ratio.h"
#include "core/exact/rounding.h"
#include "core/kernels/reduce/sum_finalizers.h"
#include "core/kernels/window/pool_sum.h"
#include "core/tensor/convert_element.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kGrainTaps = 1 << 14;
constexpr int64_t kMostSideBySide = 1024;
constexpr int64_t kMostElements = int64_t{1} << 32;

bool IsAverage(PoolSum function) {
  return function == PoolSum::kAverage || function == PoolSum::kPaddedAverage ||
         function == PoolSum::kShare;
}

ReduceFunction ReductionOf(PoolSum function) {
  if (IsAverage(function)) return ReduceFunction::kAverage;
  return function == PoolSum::kL1 ? ReduceFunction::kL1 : ReduceFunction::kL2;
}

Int128 DivisorOf(const PoolSumCall& call, const PoolBox& box) {
  if (call.function == PoolSum::kShare) return call.divisor;
  return call.function == PoolSum::kPaddedAverage ? CountedTaps(box) : PresentTaps(box);
}

// --- one window, exactly -------------------------------------------------------------------------

using Taps = LoopNest<1>;

// By a count that may be more than the elements of a tensor.
struct Averaged : reduce::LikeSums {
  template <typename T>
  static T Of(const ExactSum& sum, Int128 count) {
    const bool is_small = count <= kMostElements;
    return is_small ? RoundQuotient<T>(sum, static_cast<uint64_t>(count))
                    : RoundRatio<T>(Dyadic(sum), Dyadic(count));
  }
};

template <SumMap kMap, typename Finalizer, typename T, typename Count>
T ExactSumOf(const T* x, const Taps& taps, Count divisor) {
  ExactSum sum;
  double special = 0;
  double zero = -0.0;
  bool has_others = false;
  Walk<1> walk(taps, 0);
  for (int64_t i = 0; i < Product(taps.sizes); ++i, walk.Next()) {
    const double term = MapOf<kMap>(AsDouble(x[walk.offset(0)]));
    if (term == 0) {
      zero += term;
    } else if (!std::isfinite(term)) {
      special += term;
    } else {
      sum.Add(term);
      has_others = true;
    }
  }
  if (special != 0) return Finalizer::template OfSpecial<T>(special);
  if (!has_others) return Finalizer::template OfZero<T>(zero);
  return Finalizer::template Of<T>(sum, divisor);
}

// Of a window whose first tap is x.
template <typename T>
T CarefulResult(const PoolSumCall& call, const T* x, const Taps& taps, Int128 divisor) {
  switch (call.function) {
    case PoolSum::kL1:
      return ExactSumOf<SumMap::kMagnitude, reduce::Rounded>(x, taps, int64_t{1});
    case PoolSum::kL2:
      return ExactSumOf<SumMap::kSquare, reduce::SquareRooted>(x, taps, int64_t{1});
    default:
      return ExactSumOf<SumMap::kItself, Averaged>(x, taps, divisor);
  }
}

template <typename T>
PoolSumKernel<T> KernelFor(PoolSum function) {
  switch (function) {
    case PoolSum::kL1:
      return PoolSumKernelFor<T>(SumMap::kMagnitude, SumFinalizer::kItself);
    case PoolSum::kL2:
      return PoolSumKernelFor<T>(SumMap::kSquare, SumFinalizer::kSquareRoot);
    default:
      return PoolSumKernelFor<T>(SumMap::kItself, SumFinalizer::kAverage);
  }
}

// --- boxes ---------------------------------------------------------------------------------------

// One box of outputs, which has taps.
class SumsOfBox {
 public:
  SumsOfBox(const PoolSumCall& call, const PoolDims& dims, const PoolBox& box,
            const ConstTensorView& input)
      : call_(call),
        input_(input),
        windows_(WindowsOf(dims, box, input.layout)),
        divisor_(DivisorOf(call, box)) {
    for (size_t d = dims.size(); d < windows_.layout.rank(); ++d) {
      taps_.Push(windows_.layout.sizes[d], {windows_.layout.strides[d]});
    }
    taps_ = Merged(taps_);
    by_vectors_ = call.function != PoolSum::kNorm && PresentTaps(box) <= kMaxPoolTaps &&
                  divisor_ <= kMaxPoolDivisor;
    if (by_vectors_) offsets_ = OffsetsOf(TapsOf(windows_, dims.size()));
  }

  template <typename T>
  void Run(const TensorView& sums) const {
    const size_t row = PoolRowDimension(sums.layout.sizes);
    LoopNest<kOperands> outputs;
    for (size_t d = 0; d < sums.layout.rank(); ++d) {
      outputs.Push(sums.layout.sizes[d], {windows_.layout.strides[d], sums.layout.strides[d]});
    }
    const LoopNest<kOperands> rows = Merged(Without(outputs, row));
    const int64_t count = outputs.sizes[row];
    const auto step = outputs.Step(row);
    const int64_t row_taps = count * Product(taps_.sizes);
    const T* from = input_.elements<T>() + windows_.first;
    ParallelFor(Product(rows.sizes), kGrainTaps / row_taps + 1, sums.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  RowWriter<T> writer(*this, count);
                  Walk<kOperands> walk(rows, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    writer.Run(from + walk.offset(kWindow), step[kWindow],
                               sums.elements<T>() + walk.offset(kSum), step[kSum], count);
                  }
                });
  }

 private:
  enum Operand : size_t { kWindow, kSum, kOperands };

  // Computes rows of outputs, some at a time.
  template <typename T>
  class RowWriter {
   public:
    RowWriter(const SumsOfBox& box, int64_t count)
        : box_(box),
          kernel_(KernelFor<T>(box.call_.function)),
          results_(static_cast<size_t>(std::min(count, kMostSideBySide))),
          unresolved_(results_.size()) {}

    void Run(const T* from, int64_t step, T* to, int64_t to_step, int64_t count) {
      for (int64_t i = 0; i < count; i += kMostSideBySide) {
        const int64_t some = std::min(count - i, kMostSideBySide);
        RunSome({from + i * step, step, some, box_.offsets_}, to + i * to_step, to_step);
      }
    }

   private:
    void RunSome(const PoolRow<T>& row, T* to, int64_t to_step) {
      T* results = to_step == 1 ? to : results_.data();
      const size_t count = static_cast<size_t>(row.count);
      if (box_.call_.function == PoolSum::kNorm) {
        NormsOf(row.x, row.step, row.count, box_.taps_, box_.call_.power, results);
      } else if (box_.by_vectors_) {
        kernel_(row, static_cast<int64_t>(box_.divisor_), results, unresolved_.data());
      } else {
        std::fill_n(unresolved_.begin(), count, uint8_t{1});
      }
      if (std::memchr(unresolved_.data(), 1, count) != nullptr) Resolve(row, results);
      if (results == to) return;
      for (size_t i = 0; i < count; ++i) to[static_cast<int64_t>(i) * to_step] = results[i];
    }

    void Resolve(const PoolRow<T>& row, T* results) {
      for (size_t i = 0; i < static_cast<size_t>(row.count); ++i) {
        if (unresolved_[i] == 0) continue;
        const T* x = row.x + static_cast<int64_t>(i) * row.step;
        results[i] = CarefulResult(box_.call_, x, box_.taps_, box_.divisor_);
        unresolved_[i] = 0;
      }
    }

    const SumsOfBox& box_;
    PoolSumKernel<T> kernel_;
    std::vector<T> results_;
    std::vector<uint8_t> unresolved_;
  };

  PoolSumCall call_;
  ConstTensorView input_;
  PoolWindows windows_;
  Int128 divisor_;
  Taps taps_;
  bool by_vectors_ = false;
  std::vector<int64_t> offsets_;  // of the taps, if they are summed by vectors
};

ElementBytes ValueWithoutTaps(const PoolSumCall& call, const PoolBox& box, DataType type) {
  const bool is_nan = IsAverage(call.function) && DivisorOf(call, box) == 0;
  return ConvertElement(is_nan ? NAN : 0.0f, type);
}

// One window of each channel, and those with many taps, are better reduced.
bool IsReduction(const PoolSumCall& call, const PoolBox& box) {
  const int64_t taps = PresentTaps(box);
  if (call.function == PoolSum::kNorm) return false;
  if (IsAverage(call.function) && DivisorOf(call, box) != taps) return false;
  const bool is_one = std::all_of(box.begin() + 2, box.end(),
                                  [](const PoolSegment& segment) { return segment.count == 1; });
  return is_one || taps > kMaxPoolTaps;
}

}  // namespace

void SumWindows(const PoolSumCall& call, const PoolDims& dims, const ConstTensorView& input,
                const Dims& begin, const TensorView& sums) {
  const PoolBoxes boxes(dims, begin, sums.layout.sizes);
  for (int64_t i = 0; i < boxes.count(); ++i) {
    const PoolBox box = boxes.At(i);
    const TensorView part = PartOf(sums, begin, box);
    if (!HasTaps(box)) {
      FillView(ValueWithoutTaps(call, box, sums.type), part);
    } else if (IsReduction(call, box)) {
      ReduceWindows(ReductionOf(call.function), dims, box, input, part);
    } else {
      const SumsOfBox work(call, dims, box, input);
      VisitDataType(Floats(), sums.type, [&]<typename T>() { work.Run<T>(part); });
    }
  }
}

}  // namespace dmlop
