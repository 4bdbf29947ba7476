// SPDX-License-Identifier: Apache-2.0
#include "core/engine/normalization/normalize.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/engine/normalization/slice_function.h"
#include "core/exact/rounding.h"
#include "core/kernels/normalization/normalize.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// A list of inputs, some of which may be left out.
class InputList {
 public:
  explicit InputList(const ConstTensorView& first) {
    views_.reserve(kMost);
    views_.push_back(first);
  }

  // Returns the input's number; null if it is left out.
  std::optional<size_t> Add(const ConstTensorView& view) {
    if (view.data == nullptr) return std::nullopt;
    views_.push_back(view);
    return views_.size() - 1;
  }
  std::span<const ConstTensorView> views() const { return views_; }

 private:
  static constexpr size_t kMost = 5;

  std::vector<ConstTensorView> views_;
};

template <typename T>
RowTerm<T> TermOf(const SliceChunk& chunk, std::optional<size_t> input) {
  if (!input) return {};
  const SliceChunk::Input& one = chunk.inputs[*input];
  return {one.elements<T>(), one.varies};
}

// --- by moments ----------------------------------------------------------------------------------

// Numbers of the inputs that are terms of NormalizedRow.
struct TermInputs {
  std::optional<size_t> scale, bias, addend;
};

template <typename T>
class ByMoments : public SliceFunction {
 public:
  ByMoments(const MomentNormalization& how, TermInputs terms) : how_(how), terms_(terms) {}

  int passes() const override { return (how_.use_mean ? 1 : 0) + (how_.use_variance ? 1 : 0); }
  int64_t kept_rows() const override { return how_.use_variance && !terms_.addend ? 3 : 0; }

  ChunkFindings Find(int pass, const SliceFacts& facts, const SliceChunk& chunk) const override {
    if (!IsForMean(pass)) return SquaresOf(chunk, MeanIn(facts));
    const T* const x = chunk.inputs[0].elements<T>();
    const HeadTail sum = kernels_.sum(x, chunk.count, chunk.kept);
    return {sum.head, sum.tail};
  }

  void Conclude(int pass, std::span<const ChunkFindings> findings, int64_t length,
                SliceFacts& facts) const override {
    if (IsForMean(pass)) {
      const HeadTail mean = MeanOf(findings, 0, length);
      facts[kMean] = mean.head;
      facts[kMeanTail] = mean.tail;
    } else {
      const HeadTail variance = MeanOf(findings, 0, length);
      facts[kVariance] = variance.head;
      const bool is_finite = std::isfinite(variance.head);
      const HeadTail shifted = is_finite ? variance + how_.epsilon : variance;
      facts[kFactor] = 1 / std::sqrt(shifted.head);
    }
  }

  void Write(const SliceFacts& facts, const SliceChunk& chunk) const override {
    T* const y = reinterpret_cast<T*>(chunk.output);
    if (chunk.kept != nullptr) {
      double one_scale = 0;
      double one_bias = 0;
      const RowTerm<double> scale = Widened(chunk, terms_.scale, kScales, one_scale);
      const RowTerm<double> bias = Widened(chunk, terms_.bias, kBiases, one_bias);
      return kernels_.end_wide(chunk.kept, chunk.count, facts[kFactor], scale, bias, y);
    }
    const double factor = how_.use_variance ? facts[kFactor] : 1.0;
    kernels_.normalize(chunk.inputs[0].elements<T>(), chunk.count, MeanIn(facts), factor,
                       TermOf<T>(chunk, terms_.scale), TermOf<T>(chunk, terms_.bias),
                       TermOf<T>(chunk, terms_.addend), y);
  }

  void Give(const SliceFacts& facts, std::span<std::byte* const> results) const override {
    if (results.empty()) return;
    *reinterpret_cast<T*>(results[0]) = RoundOnce<T>(facts[kVariance]);
  }

 private:
  enum Fact : size_t { kMean, kMeanTail, kVariance, kFactor };
  // The rows that are kept, widened: elements, later less the mean, and terms that vary.
  enum Kept : int64_t { kElements, kScales, kBiases };

  double SumOfSquares(const SliceChunk& chunk, HeadTail mean) const {
    const T* const x = chunk.inputs[0].elements<T>();
    if (chunk.kept == nullptr) return kernels_.sum_squares(x, chunk.count, mean);
    if (!how_.use_mean) kernels_.widen(x, chunk.count, chunk.kept);
    return kernels_.take_mean(chunk.kept, chunk.count, mean, chunk.output, sizeof(T));
  }

  // If epsilon is negative, little of the variance may be left, so the sum gets a tail.
  ChunkFindings SquaresOf(const SliceChunk& chunk, HeadTail mean) const {
    const double squares = SumOfSquares(chunk, mean);
    if (how_.epsilon >= 0 || !std::isfinite(squares)) return {squares, 0};
    const T* const x = chunk.inputs[0].elements<T>();
    HeadTail sum{0, 0};
    for (int64_t i = 0; i < chunk.count; ++i) {
      const HeadTail d = -mean + AsDouble(x[i]);
      sum = sum + d * d;
    }
    return {sum.head, sum.tail};
  }

  // Widens a term, unless that was done for the slice before. `one` is for a term that has one
  // element for all.
  RowTerm<double> Widened(const SliceChunk& chunk, std::optional<size_t> input, Kept row,
                          double& one) const {
    const RowTerm<T> term = TermOf<T>(chunk, input);
    if (!term.varies) {
      if (term.elements == nullptr) return {};
      one = AsDouble(*term.elements);
      return {&one, false};
    }
    double* const wide = chunk.kept + row * chunk.kept_pitch;
    if (!chunk.follows) kernels_.widen(term.elements, chunk.count, wide);
    return {wide, true};
  }

  bool IsForMean(int pass) const { return how_.use_mean && pass == 0; }
  static HeadTail MeanIn(const SliceFacts& facts) { return {facts[kMean], facts[kMeanTail]}; }

  MomentNormalization how_;
  TermInputs terms_;
  const NormalizeKernels<T>& kernels_ = NormalizeKernelsFor<T>();
};

// --- by norms ------------------------------------------------------------------------------------

template <typename T>
class ByNorm : public SliceFunction {
 public:
  explicit ByNorm(const NormDivision& how) : how_(how) {}

  int passes() const override { return 1; }

  ChunkFindings Find(int, const SliceFacts&, const SliceChunk& chunk) const override {
    const T* x = chunk.inputs[0].elements<T>();
    return {how_.squares ? kernels_.sum_squares(x, chunk.count, {0, 0})
                         : kernels_.sum_magnitudes(x, chunk.count)};
  }

  void Conclude(int, std::span<const ChunkFindings> findings, int64_t,
                SliceFacts& facts) const override {
    const double sum = TotalOf(findings, 0);
    const double norm = how_.squares ? std::sqrt(sum) : sum;
    const double divisor = norm < how_.epsilon ? how_.epsilon : norm;
    facts[kFactor] = divisor == 0 ? 1 : 1 / divisor;
  }

  void Write(const SliceFacts& facts, const SliceChunk& chunk) const override {
    kernels_.normalize(chunk.inputs[0].elements<T>(), chunk.count, {0, 0}, facts[kFactor], {}, {},
                       {}, reinterpret_cast<T*>(chunk.output));
  }

 private:
  enum Fact : size_t { kFactor };

  NormDivision how_;
  const NormalizeKernels<T>& kernels_ = NormalizeKernelsFor<T>();
};

// --- by given moments ----------------------------------------------------------------------------

struct GivenInputs {
  std::optional<size_t> mean, variance, scale, bias;
};

// Computes a factor for each element once for all slices that share it.
template <typename T>
class ByGiven : public SliceFunction {
 public:
  ByGiven(double epsilon, GivenInputs inputs) : epsilon_(epsilon), inputs_(inputs) {}

  int64_t kept_rows() const override { return 1; }
  ChunkFindings Find(int, const SliceFacts&, const SliceChunk&) const override { return {}; }
  void Conclude(int, std::span<const ChunkFindings>, int64_t, SliceFacts&) const override {}

  void Write(const SliceFacts&, const SliceChunk& chunk) const override {
    const RowTerm<T> variance = TermOf<T>(chunk, inputs_.variance);
    const RowTerm<T> scale = TermOf<T>(chunk, inputs_.scale);
    const RowTerm<T> mean = TermOf<T>(chunk, inputs_.mean);
    const RowTerm<T> bias = TermOf<T>(chunk, inputs_.bias);
    const T* const x = chunk.inputs[0].elements<T>();
    T* const y = reinterpret_cast<T*>(chunk.output);
    if (!variance.varies && !scale.varies && !mean.varies) {
      const double start = mean.elements == nullptr ? 0 : AsDouble(*mean.elements);
      return kernels_.normalize(x, chunk.count, {start, 0},
                                FactorOf(*variance.elements, *scale.elements), {}, bias, {}, y);
    }
    double factors[kSliceChunk];
    double* const kept = chunk.kept != nullptr ? chunk.kept : factors;
    if (chunk.kept == nullptr || !chunk.follows) {
      for (int64_t i = 0; i < chunk.count; ++i) {
        kept[i] = FactorOf(variance.elements[variance.varies ? i : 0],
                           scale.elements[scale.varies ? i : 0]);
      }
    }
    kernels_.scale(x, chunk.count, mean, kept, bias, y);
  }

 private:
  double FactorOf(T variance, T scale) const {
    return AsDouble(scale) / std::sqrt(AsDouble(variance) + epsilon_);
  }

  double epsilon_;
  GivenInputs inputs_;
  const NormalizeKernels<T>& kernels_ = NormalizeKernelsFor<T>();
};

// Dimensions that are adjacent in memory, taken as long as every parameter has one element for all
// of them or as long as none has.
std::vector<uint32_t> RowsOf(const ConstTensorView& input, std::span<const ConstTensorView> given) {
  LoopNest<1> loops;
  const Layout& layout = input.layout;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] != 1) loops.Push(static_cast<int64_t>(d), {layout.strides[d]});
  }
  loops = SortedByStride(loops, 0);
  std::vector<uint32_t> rows;
  std::optional<bool> varies;
  for (size_t i = loops.rank(); i-- > 0;) {
    const size_t d = static_cast<size_t>(loops.sizes[i]);
    const bool here = std::any_of(given.begin(), given.end(), [d](const ConstTensorView& one) {
      return one.layout.sizes[d] != 1;
    });
    if (varies && *varies != here) break;
    varies = here;
    rows.push_back(static_cast<uint32_t>(d));
  }
  return rows;
}

}  // namespace

void NormalizeByMoments(const MomentNormalization& how, const std::vector<uint32_t>& axes,
                        const ConstTensorView& input, const TensorView& output,
                        const TensorView& variance) {
  InputList inputs(input);
  const TermInputs terms{inputs.Add(how.scale), inputs.Add(how.bias), inputs.Add(how.addend)};
  const size_t results = variance.data == nullptr ? 0 : 1;
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    RunSlices(ByMoments<T>(how, terms), axes, {inputs.views(), output, {&variance, results}});
  });
}

void DivideByNorm(const NormDivision& how, const std::vector<uint32_t>& axes,
                  const ConstTensorView& input, const TensorView& output) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    RunSlices(ByNorm<T>(how), axes, {{&input, 1}, output, {}});
  });
}

void NormalizeByGiven(const GivenMoments& given, const ConstTensorView& input,
                      const TensorView& output) {
  InputList inputs(input);
  const GivenInputs places{inputs.Add(given.mean), inputs.Add(given.variance),
                           inputs.Add(given.scale), inputs.Add(given.bias)};
  const std::vector<uint32_t> rows = RowsOf(input, inputs.views().subspan(1));
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    RunSlices(ByGiven<T>(given.epsilon, places), rows, {inputs.views(), output, {}});
  });
}

}  // namespace dmlop
