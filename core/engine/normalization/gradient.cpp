// SPDX-License-Identifier: Apache-2.0
#include "core/engine/normalization/normalize.h"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "core/engine/normalization/slice_function.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/kernels/normalization/normalize.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// --- gradient of the input -----------------------------------------------------------------------

enum GradientInput : size_t { kGradientInput, kXInput, kVarianceInput, kScaleInput };

template <typename T>
class MomentsGradient : public SliceFunction {
 public:
  explicit MomentsGradient(double epsilon) : epsilon_(epsilon) {}

  int passes() const override { return 2; }
  size_t seen_inputs() const override { return 2; }

  ChunkFindings Find(int pass, const SliceFacts& facts, const SliceChunk& chunk) const override {
    const T* const g = chunk.inputs[kGradientInput].elements<T>();
    const T* const x = chunk.inputs[kXInput].elements<T>();
    if (pass == 0) {
      const HeadTail g_sum = kernels_.sum(g, chunk.count, nullptr);
      const HeadTail x_sum = kernels_.sum(x, chunk.count, nullptr);
      return {g_sum.head, g_sum.tail, x_sum.head, x_sum.tail};
    }
    const HeadTail sum = kernels_.sum_products(g, x, chunk.count, InputMean(facts));
    return {sum.head, sum.tail};
  }

  void Conclude(int pass, std::span<const ChunkFindings> findings, int64_t length,
                SliceFacts& facts) const override {
    if (pass == 1) {
      facts[kCovariance] = MeanOf(findings, 0, length).head;
      return;
    }
    const HeadTail g_mean = MeanOf(findings, 0, length);
    const HeadTail x_mean = MeanOf(findings, 2, length);
    facts = {g_mean.head, g_mean.tail, x_mean.head, x_mean.tail};
  }

  void Write(const SliceFacts& facts, const SliceChunk& chunk) const override {
    const double variance = AsDouble(*chunk.inputs[kVarianceInput].elements<T>()) + epsilon_;
    const double scale = AsDouble(*chunk.inputs[kScaleInput].elements<T>());
    kernels_.take_slope(chunk.inputs[kGradientInput].elements<T>(),
                        chunk.inputs[kXInput].elements<T>(), chunk.count, {facts[0], facts[1]},
                        InputMean(facts), facts[kCovariance] / variance,
                        scale / std::sqrt(variance), reinterpret_cast<T*>(chunk.output));
  }

 private:
  static constexpr size_t kCovariance = 4;

  static HeadTail InputMean(const SliceFacts& facts) { return {facts[2], facts[3]}; }

  double epsilon_;
  const NormalizeKernels<T>& kernels_ = NormalizeKernelsFor<T>();
};

// --- gradient of the scale -----------------------------------------------------------------------

// The sum of a slice's terms, as in the formula and exactly without the division.
class ScaleSum {
 public:
  ScaleSum(double mean, double root) : mean_(mean), root_(root) {}

  // Products of FLOAT32 numbers are exact in FLOAT64.
  void Add(double g, double x) {
    const double term = g * (x - mean_) / root_;
    plain_ += term;
    has_only_zeros_ = has_only_zeros_ && term == 0;
    is_finite_ = is_finite_ && std::isfinite(g) && std::isfinite(x);
    if (!is_finite_) return;
    sum_.Add(g * x);
    if (std::isfinite(mean_)) sum_.Add(-g * mean_);
  }

  double Result() const {
    const bool is_usual = is_finite_ && std::isfinite(mean_) && std::isfinite(root_) && root_ > 0;
    if (!is_usual || has_only_zeros_) return plain_;
    return RoundSum<double>(sum_) / root_;
  }

 private:
  double mean_;
  double root_;
  ExactSum sum_;
  double plain_ = -0.0;
  bool has_only_zeros_ = true;
  bool is_finite_ = true;
};

template <typename T>
class ScaleGradient {
 public:
  enum Operand : size_t { kOfGradient, kOfInput, kOfMean, kOfVariance, kOfOutput, kOperands };

  ScaleGradient(const NormalizationGradient& of, const std::vector<uint32_t>& axes,
                const TensorView& output)
      : of_(of), output_(output) {
    const Dims& sizes = of.input.layout.sizes;
    const std::array<const Dims*, kOperands> strides = {
        &of.gradient.layout.strides, &of.input.layout.strides, &of.mean.layout.strides,
        &of.variance.layout.strides, &output.layout.strides};
    LoopNest<kOperands> all{sizes, {}};
    for (size_t k = 0; k < kOperands; ++k) all.strides[k] = *strides[k];
    for (size_t d = 0; d < sizes.size(); ++d) {
      const bool in_slice = std::find(axes.begin(), axes.end(), d) != axes.end();
      (in_slice ? elements_ : slices_).Push(sizes[d], all.Step(d));
    }
    elements_ = Merged(elements_);
    slices_ = Merged(slices_);
  }

  void Run() const {
    const int64_t slices = Product(slices_.sizes);
    const int64_t length = Product(elements_.sizes);
    const int64_t grain = std::max<int64_t>(1, kSmallRange / length);
    ParallelFor(slices, grain, of_.input.element_bytes(), [&](int64_t begin, int64_t end) {
      Walk<kOperands> walk(slices_, begin);
      for (int64_t s = begin; s < end; ++s, walk.Next()) Give(walk, length);
    });
  }

 private:
  static constexpr int64_t kSmallRange = 1 << 12;

  void Give(const Walk<kOperands>& slice, int64_t length) const {
    const double mean = AsDouble(of_.mean.elements<T>()[slice.offset(kOfMean)]);
    const double variance = AsDouble(of_.variance.elements<T>()[slice.offset(kOfVariance)]);
    ScaleSum sum(mean, std::sqrt(variance + of_.epsilon));
    const T* const g = of_.gradient.elements<T>() + slice.offset(kOfGradient);
    const T* const x = of_.input.elements<T>() + slice.offset(kOfInput);
    Walk<kOperands> walk(elements_, 0);
    for (int64_t i = 0; i < length; ++i, walk.Next()) {
      sum.Add(AsDouble(g[walk.offset(kOfGradient)]), AsDouble(x[walk.offset(kOfInput)]));
    }
    output_.elements<T>()[slice.offset(kOfOutput)] = RoundOnce<T>(sum.Result());
  }

  const NormalizationGradient& of_;
  const TensorView& output_;
  LoopNest<kOperands> slices_;
  LoopNest<kOperands> elements_;
};

}  // namespace

void GradientByMoments(const NormalizationGradient& of, const std::vector<uint32_t>& axes,
                       const TensorView& output) {
  const ConstTensorView inputs[] = {of.gradient, of.input, of.variance, of.scale};
  VisitDataType(Floats(), output.type, [&]<typename T>() {
    RunSlices(MomentsGradient<T>(of.epsilon), axes, {inputs, output, {}});
  });
}

void GradientOfScale(const NormalizationGradient& of, const std::vector<uint32_t>& axes,
                     const TensorView& output) {
  VisitDataType(Floats(), output.type,
                [&]<typename T>() { ScaleGradient<T>(of, axes, output).Run(); });
}

}  // namespace dmlop
