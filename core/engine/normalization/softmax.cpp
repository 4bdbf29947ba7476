// SPDX-License-Identifier: Apache-2.0
#include "core/engine/normalization/normalize.h"

#include <algorithm>
#include <cmath>

#include "core/engine/normalization/slice_function.h"
#include "core/exact/elementary.h"
#include "core/kernels/normalization/normalize.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

double LargestOf(std::span<const ChunkFindings> findings) {
  double max = -INFINITY;
  for (const ChunkFindings& one : findings) max = std::max(max, one[0]);
  return max;
}

// --- SOFTMAX and LOG_SOFTMAX ---------------------------------------------------------------------

// Subtracts the largest element, so that no exponential is greater than 1.
template <typename T>
class Softmax : public SliceFunction {
 public:
  int passes() const override { return 2; }
  int64_t kept_rows() const override { return 1; }

  ChunkFindings Find(int pass, const SliceFacts& facts, const SliceChunk& chunk) const override {
    const T* x = chunk.inputs[0].elements<T>();
    if (pass == 0) return {kernels_.max(x, chunk.count), 0};
    return {kernels_.exp_sum(x, chunk.count, facts[kMax], chunk.kept).sum, 0};
  }

  void Conclude(int pass, std::span<const ChunkFindings> findings, int64_t,
                SliceFacts& facts) const override {
    if (pass == 0) {
      facts[kMax] = LargestOf(findings);
    } else {
      facts[kFactor] = 1 / TotalOf(findings, 0);
    }
  }

  void Write(const SliceFacts& facts, const SliceChunk& chunk) const override {
    T* const y = reinterpret_cast<T*>(chunk.output);
    if (chunk.kept != nullptr) {
      return kernels_.scale_terms(chunk.kept, chunk.count, facts[kFactor], y);
    }
    alignas(64) double terms[kSliceChunk];
    kernels_.exp_sum(chunk.inputs[0].elements<T>(), chunk.count, facts[kMax], terms);
    kernels_.scale_terms(terms, chunk.count, facts[kFactor], y);
  }

 private:
  enum Fact : size_t { kMax, kFactor };

  const SoftmaxKernels<T>& kernels_ = SoftmaxKernelsFor<T>();
};

// The logarithm is 0 - (max - x) - ln S, two terms of the same sign. If there is a single maximum,
// S is 1 + s, and ln S keeps the accuracy of s.
template <typename T>
class LogSoftmax : public SliceFunction {
 public:
  int passes() const override { return 2; }

  ChunkFindings Find(int pass, const SliceFacts& facts, const SliceChunk& chunk) const override {
    const T* x = chunk.inputs[0].elements<T>();
    if (pass == 0) return {kernels_.max(x, chunk.count), 0};
    const ExpTerms terms = kernels_.counted_exp_sum(x, chunk.count, facts[kMax]);
    return {terms.sum, terms.maxima};
  }

  void Conclude(int pass, std::span<const ChunkFindings> findings, int64_t,
                SliceFacts& facts) const override {
    if (pass == 0) {
      facts[kMax] = LargestOf(findings);
    } else {
      facts[kLog] = LogOf(TotalOf(findings, 0), TotalOf(findings, 1));
    }
  }

  void Write(const SliceFacts& facts, const SliceChunk& chunk) const override {
    kernels_.subtract(chunk.inputs[0].elements<T>(), chunk.count, facts[kMax], facts[kLog],
                      reinterpret_cast<T*>(chunk.output));
  }

 private:
  enum Fact : size_t { kMax, kLog };

  static double LogOf(double sum, double maxima) {
    if (std::isnan(sum)) return sum;
    return maxima == 1 && sum <= 0.5 ? Log1p(sum) : Log(maxima + sum);
  }

  const SoftmaxKernels<T>& kernels_ = SoftmaxKernelsFor<T>();
};

// --- HARDMAX -------------------------------------------------------------------------------------

template <typename T>
class Hardmax : public SliceFunction {
 public:
  int passes() const override { return 2; }

  ChunkFindings Find(int pass, const SliceFacts& facts, const SliceChunk& chunk) const override {
    const T* x = chunk.inputs[0].elements<T>();
    if (pass == 0) return {kernels_.max(x, chunk.count), 0};
    const double max = facts[kMax];
    const T* const place =
        std::find_if(x, x + chunk.count, [max](T one) { return AsDouble(one) == max; });
    return {place == x + chunk.count ? INFINITY : static_cast<double>(chunk.begin + (place - x)),
            0};
  }

  // If no element is a number, the first one counts.
  void Conclude(int pass, std::span<const ChunkFindings> findings, int64_t,
                SliceFacts& facts) const override {
    if (pass == 0) {
      facts[kMax] = LargestOf(findings);
      return;
    }
    double first = INFINITY;
    for (const ChunkFindings& one : findings) first = std::min(first, one[0]);
    facts[kPlace] = std::isinf(first) ? 0 : first;
  }

  void Write(const SliceFacts& facts, const SliceChunk& chunk) const override {
    T* const y = reinterpret_cast<T*>(chunk.output);
    std::fill_n(y, chunk.count, T{});
    const int64_t place = static_cast<int64_t>(facts[kPlace]) - chunk.begin;
    if (place < 0 || place >= chunk.count) return;
    if constexpr (std::is_same_v<T, Half>) {
      y[place] = ToHalf(1);
    } else {
      y[place] = 1;
    }
  }

 private:
  enum Fact : size_t { kMax, kPlace };

  const SoftmaxKernels<T>& kernels_ = SoftmaxKernelsFor<T>();
};

}  // namespace

void ApplySoftmax(SoftmaxFunction function, const std::vector<uint32_t>& axes,
                  const ConstTensorView& input, const TensorView& output) {
  const SliceTensors tensors{{&input, 1}, output, {}};
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    switch (function) {
      case SoftmaxFunction::kSoftmax:
        return RunSlices(Softmax<T>(), axes, tensors);
      case SoftmaxFunction::kLogSoftmax:
        return RunSlices(LogSoftmax<T>(), axes, tensors);
      case SoftmaxFunction::kHardmax:
        return RunSlices(Hardmax<T>(), axes, tensors);
    }
  });
}

}  // namespace dmlop
