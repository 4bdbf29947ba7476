// SPDX-License-Identifier: Apache-2.0
// Normalizations and their gradients: the formulas of their pages in real numbers, and in IEEE
// arithmetic if a number is not finite.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/reduce_float.h"
#include "tests/reference/slices.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Views = std::span<const ConstTensorView>;
using Numbers = std::vector<double>;
using Axes = std::vector<uint32_t>;

double ToDouble(const Exact& x) {
  return mpfr_get_d(x.real().get(), MPFR_RNDN);
}

bool IsZero(const Exact& x) {
  return mpfr_zero_p(x.real().get()) != 0;
}

bool AreFinite(const Numbers& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

double LargestOf(const Numbers& numbers) {
  double largest = 0;
  for (const double x : numbers) largest = std::max(largest, std::fabs(x));
  return largest;
}

// A number by exact arithmetic, and by IEEE arithmetic.
struct Both {
  Exact exact;
  double plain;

  explicit Both(double x) : exact(std::isfinite(x) ? x : 0), plain(x) {}
  Both(const Exact& x, double y) : exact(x), plain(y) {}

  // If everything is finite, intermediate roundings of `y` are ignored.
  static Both Of(const Exact& x, double y, bool is_finite) {
    return {x, is_finite ? ToDouble(x) : y};
  }
};

struct Moments {
  Both mean, variance;
};

// Without a mean, the moment is that of x itself.
Moments MomentsOf(const Numbers& slice, bool use_mean) {
  const bool is_finite = AreFinite(slice);
  const double n = static_cast<double>(slice.size());
  Exact sum(0);
  double plain_sum = 0;
  for (const double x : slice) {
    if (is_finite) sum = sum + Exact(x);
    plain_sum += x;
  }
  Both mean(0);
  if (use_mean) mean = Both::Of(sum / Exact(n), plain_sum / n, is_finite);
  Exact squares(0);
  double plain_squares = 0;
  for (const double x : slice) {
    const double d = x - mean.plain;
    plain_squares += d * d;
    if (!is_finite) continue;
    const Exact exact_d = Exact(x) - mean.exact;
    squares = squares + exact_d * exact_d;
  }
  return {mean, Both::Of(squares / Exact(n), plain_squares / n, is_finite)};
}

// --- scale * (d / root) + bias + addend ----------------------------------------------------------

struct Formula {
  Both d;
  std::optional<Both> square;  // under the root; null for 1
  std::optional<double> scale, bias, addend;
  bool is_finite = true;  // all operands are finite
  bool is_relative = false;
  double largest = 0;  // of the slice whose mean is subtracted
};

double PlainOf(const Formula& f) {
  double y = f.square ? f.d.plain / std::sqrt(f.square->plain) : f.d.plain;
  if (f.scale) y = *f.scale * y;
  if (f.bias) y += *f.bias;
  if (f.addend) y += *f.addend;
  return y;
}

Expectation ResultOf(DataType type, const Formula& f) {
  constexpr double kSlack = 0x1p-46;
  const bool has_root = !f.square || f.square->exact > 0;
  if (!f.is_finite || !has_root) return Special(type, PlainOf(f));
  const Exact root = f.square ? sqrt(f.square->exact) : Exact(1);
  const Exact scale(f.scale.value_or(1));
  const Exact t = scale * f.d.exact / root;
  const Exact y = t + Exact(f.bias.value_or(0)) + Exact(f.addend.value_or(0));
  if (IsZero(t) && IsZero(y)) return Special(type, PlainOf(f));
  const double m = std::fabs(ToDouble(t)) + std::fabs(f.bias.value_or(0)) +
                   std::fabs(f.addend.value_or(0)) +
                   0x1p-27 * std::fabs(ToDouble(scale * Exact(f.largest) / root));
  return Within(type, y.real(), 0.5001, f.is_relative ? 0 : kSlack * m);
}

Both Plus(const Both& variance, double epsilon, bool is_finite) {
  return Both::Of(variance.exact + Exact(epsilon), variance.plain + epsilon, is_finite);
}

double EpsilonOf(const OperatorDesc& desc) {
  const auto* epsilon = std::get_if<float>(&ValueOf(const_cast<OperatorDesc&>(desc), "Epsilon"));
  return epsilon == nullptr ? 0 : static_cast<double>(*epsilon);
}

bool HasTensor(const OperatorDesc& desc, std::string_view field) {
  return std::holds_alternative<TensorDesc>(ValueOf(const_cast<OperatorDesc&>(desc), field));
}

// --- by moments ----------------------------------------------------------------------------------

struct Switches {
  bool mean, variance;
};

Expectation Moved(const OperatorDesc& desc, Views inputs, const Dims& index, const Axes& axes,
                  Switches use) {
  const Numbers slice = SliceAt(inputs[0], index, axes);
  const bool uses_slice = use.mean || use.variance;
  const double x = NumberAt(inputs[0], index);
  Formula f{Both(x), {}, {}, {}, {}};
  f.is_finite = uses_slice ? AreFinite(slice) : std::isfinite(x);
  size_t next = 1;
  for (const auto& [field, term] : {std::pair{"ScaleTensor", &f.scale}, {"BiasTensor", &f.bias}}) {
    if (HasTensor(desc, field)) *term = NumberAt(inputs[next++], index);
  }
  if (desc.name() == "BATCH_NORMALIZATION_TRAINING" && HasTensor(desc, "FusedAddTensor")) {
    f.addend = NumberAt(inputs[next], index);
  }
  f.is_finite = f.is_finite && std::isfinite(f.scale.value_or(0)) &&
                std::isfinite(f.bias.value_or(0)) && std::isfinite(f.addend.value_or(0));
  const bool is_finite = AreFinite(slice);
  const Moments moments = MomentsOf(slice, use.mean);
  if (use.mean) {
    f.d = Both::Of(Exact(std::isfinite(x) ? x : 0) - moments.mean.exact, x - moments.mean.plain,
                   is_finite);
    f.largest = LargestOf(slice);
  }
  if (use.variance) f.square = Plus(moments.variance, EpsilonOf(desc), is_finite);
  return ResultOf(inputs[0].type, f);
}

Expectation OfChannels(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Axes axes = Get<bool>(desc, "CrossChannel") ? Axes{1, 2, 3} : Axes{2, 3};
  return Moved(desc, inputs, index, axes, {true, Get<bool>(desc, "NormalizeVariance")});
}

Expectation OfAxes(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  return Moved(desc, inputs, index, Get<Axes>(desc, "Axes"),
               {true, Get<bool>(desc, "NormalizeVariance")});
}

Expectation OfSwitches(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  return Moved(desc, inputs, index, Get<Axes>(desc, "Axes"),
               {Get<bool>(desc, "UseMean"), Get<bool>(desc, "UseVariance")});
}

// The dimensions along which a parameter is broadcast.
Axes RepeatedIn(const ConstTensorView& parameter) {
  Axes axes;
  for (size_t d = 0; d < parameter.layout.rank(); ++d) {
    if (parameter.layout.sizes[d] == 1) axes.push_back(static_cast<uint32_t>(d));
  }
  return axes;
}

Expectation Reduced(ReduceFunction function, const ConstTensorView& view, const Dims& index,
                    const Axes& axes) {
  std::optional<Expectation> expected;
  VisitDataType(Floats(), view.type, [&]<typename T>() {
    std::vector<T> slice;
    ForSlice(view, index, axes,
             [&](const Dims& at) { slice.push_back(FromBits<T>(BitsAt(view, at))); });
    expected.emplace(ReducedFloats(function, slice));
  });
  return *expected;
}

Expectation Training(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  const Axes axes = RepeatedIn(inputs[1]);
  if (output == 0) return Moved(desc, inputs, index, axes, {true, true});
  if (output == 1) return Reduced(ReduceFunction::kAverage, inputs[0], index, axes);
  const Numbers slice = SliceAt(inputs[0], index, axes);
  const Both variance = MomentsOf(slice, true).variance;
  if (!AreFinite(slice) || IsZero(variance.exact)) return Special(inputs[0].type, variance.plain);
  return Within(inputs[0].type, variance.exact.real(), 0.5001, 0);
}

// --- by given moments ----------------------------------------------------------------------------

Expectation Batch(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  Numbers all;
  for (const ConstTensorView& view : inputs) all.push_back(NumberAt(view, index));
  const bool is_finite = AreFinite(all);
  const auto finite = [&](size_t i) { return Exact(std::isfinite(all[i]) ? all[i] : 0); };
  Formula f{Both::Of(finite(0) - finite(1), all[0] - all[1], is_finite),
            Plus(Both(all[2]), EpsilonOf(desc), is_finite),
            all[3],
            all[4],
            {}};
  f.is_finite = is_finite;
  return ResultOf(inputs[0].type, f);
}

// --- gradients -----------------------------------------------------------------------------------

enum GradientInput : size_t { kX, kDy, kMean, kVariance, kScale };

Expectation DxOfGiven(const OperatorDesc& desc, Views inputs, const Dims& index) {
  const double dy = NumberAt(inputs[kDy], index);
  const double variance = NumberAt(inputs[kVariance], index);
  const double scale = NumberAt(inputs[kScale], index);
  Formula f{
      Both(dy), Plus(Both(variance), EpsilonOf(desc), std::isfinite(variance)), scale, {}, {}};
  f.is_finite = AreFinite({dy, variance, scale});
  f.is_relative = true;
  return ResultOf(inputs[kX].type, f);
}

Expectation DxOfMoments(const OperatorDesc& desc, Views inputs, const Dims& index,
                        const Axes& axes) {
  const DataType type = inputs[kX].type;
  const Numbers xs = SliceAt(inputs[kX], index, axes);
  const Numbers dys = SliceAt(inputs[kDy], index, axes);
  const double variance = NumberAt(inputs[kVariance], index);
  const double scale = NumberAt(inputs[kScale], index);
  const double epsilon = EpsilonOf(desc);
  const double n = static_cast<double>(xs.size());
  const double x = NumberAt(inputs[kX], index);
  const double dy = NumberAt(inputs[kDy], index);
  const Both x_mean = MomentsOf(xs, true).mean;
  const Both dy_mean = MomentsOf(dys, true).mean;
  if (!AreFinite(xs) || !AreFinite(dys)) {
    double c = 0;
    for (size_t i = 0; i < xs.size(); ++i) c += dys[i] * (xs[i] - x_mean.plain);
    const double v = variance + epsilon;
    return Special(type, scale * (1 / std::sqrt(v)) *
                             ((dy - dy_mean.plain) - (x - x_mean.plain) * (c / n) / v));
  }
  Exact c(0);
  Exact magnitudes(0);
  for (size_t i = 0; i < xs.size(); ++i) {
    const Exact product = Exact(dys[i]) * (Exact(xs[i]) - x_mean.exact);
    c = c + product;
    magnitudes = magnitudes + fabs(product);
  }
  const Exact xc = Exact(x) - x_mean.exact;
  const Exact v = Exact(variance) + Exact(epsilon);
  if (!AreFinite({variance, scale}) || v < 0) {
    const double sum = variance + epsilon;
    // What cancels may leave a rest, of which an infinite scale makes infinity in place of NaN.
    if (std::isinf(scale) && !IsZero(magnitudes) &&
        std::fabs(ToDouble(c)) <= 0x1p-46 * ToDouble(magnitudes)) {
      return Within(type, Real(0.0), 0.5001, INFINITY);
    }
    return Special(
        type, scale * (1 / std::sqrt(sum)) *
                  (ToDouble(Exact(dy) - dy_mean.exact) - ToDouble(xc) * (ToDouble(c) / n) / sum));
  }
  if (!(v > 0))
    return Within(type, Real(0.0), 0.5001, INFINITY);  // the bound of what cancels is infinite, too
  const Exact y = Exact(scale) / sqrt(v) * ((Exact(dy) - dy_mean.exact) - xc * (c / Exact(n)) / v);
  const Exact m = fabs(Exact(scale)) / sqrt(v) *
                  (Exact(LargestOf(dys)) + fabs(xc) * (magnitudes / Exact(n)) / v);
  return Within(type, y.real(), 0.5001, 0x1p-46 * ToDouble(m));
}

Expectation ScaleGradient(const OperatorDesc& desc, Views inputs, const Dims& index,
                          const Axes& axes) {
  const DataType type = inputs[kX].type;
  const Numbers xs = SliceAt(inputs[kX], index, axes);
  const Numbers dys = SliceAt(inputs[kDy], index, axes);
  const double mean = NumberAt(inputs[kMean], index);
  const double variance = NumberAt(inputs[kVariance], index);
  const double v = variance + EpsilonOf(desc);
  double plain = -0.0;
  Exact sum(0);
  bool has_only_zeros = true;
  const bool is_finite = AreFinite(xs) && AreFinite(dys) && AreFinite({mean, variance});
  for (size_t i = 0; i < xs.size(); ++i) {
    const double term = dys[i] * (xs[i] - mean) / std::sqrt(v);
    plain += term;
    has_only_zeros = has_only_zeros && term == 0;
    if (is_finite) sum = sum + Exact(dys[i]) * (Exact(xs[i]) - Exact(mean));
  }
  if (!is_finite || has_only_zeros || !(v > 0)) return Special(type, plain);
  if (IsZero(sum)) return Special(type, 0);
  const Exact y = sum / sqrt(Exact(variance) + Exact(EpsilonOf(desc)));
  return Within(type, y.real(), 0.5001, 0);
}

Expectation Gradient(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  const Axes axes = RepeatedIn(inputs[kMean]);
  if (output == 1) return ScaleGradient(desc, inputs, index, axes);
  if (output == 2) return Reduced(ReduceFunction::kSum, inputs[kDy], index, axes);
  if (desc.name() == "BATCH_NORMALIZATION_GRAD") return DxOfGiven(desc, inputs, index);
  return DxOfMoments(desc, inputs, index, axes);
}

// --- LP_NORMALIZATION ----------------------------------------------------------------------------

Expectation LpNorm(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const bool squares = Get<uint32_t>(desc, "P") == 2;
  const Numbers slice = SliceAt(inputs[0], index, {Get<uint32_t>(desc, "Axis")});
  const double x = NumberAt(inputs[0], index);
  const DataType type = inputs[0].type;
  if (!AreFinite(slice)) {
    const bool has_nan =
        std::any_of(slice.begin(), slice.end(), [](double one) { return std::isnan(one); });
    return Special(type, has_nan ? NAN : x / INFINITY);
  }
  Exact norm(0);
  for (const double one : slice) {
    norm = norm + (squares ? Exact(one) * Exact(one) : fabs(Exact(one)));
  }
  if (squares) norm = sqrt(norm);
  if (norm < EpsilonOf(desc)) norm = Exact(EpsilonOf(desc));
  if (x == 0) return Special(type, x);
  return Within(type, (Exact(x) / norm).real(), 0.5001, 0);
}

constexpr NamedOracle kOracles[] = {
    {"BATCH_NORMALIZATION", Batch},
    {"BATCH_NORMALIZATION_GRAD", Gradient},
    {"BATCH_NORMALIZATION_TRAINING", Training},
    {"BATCH_NORMALIZATION_TRAINING_GRAD", Gradient},
    {"LP_NORMALIZATION", LpNorm},
    {"MEAN_VARIANCE_NORMALIZATION", OfChannels},
    {"MEAN_VARIANCE_NORMALIZATION1", OfAxes},
    {"MEAN_VARIANCE_NORMALIZATION2", OfSwitches},
};

}  // namespace

std::span<const NamedOracle> NormalizationOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
