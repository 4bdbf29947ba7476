// SPDX-License-Identifier: Apache-2.0
// RESAMPLE, its gradient and FOLD: sums of rational numbers, as their rules define them.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/rational.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Sizes = std::vector<uint32_t>;
using Floats = std::vector<float>;

// --- sums ----------------------------------------------------------------------------------------

// A sum of weighted elements of one type.
class Sum {
 public:
  explicit Sum(DataType type) : type_(type) {}

  void Add(const Rational& weight, uint64_t bits) {
    const StoredElement element{type_, bits};
    const double value = Quantity(element);
    is_negative_zero_ &= value == 0 && std::signbit(value);
    is_empty_ = false;
    if (std::isfinite(value)) {
      exact_ = exact_ + weight * Rational(value);
    } else {
      special_ += value;
    }
  }

  // The sum, rounded once or truncated.
  uint64_t Result() const {
    if (!IsFloat(type_)) return Clamped(exact_.ToReal(), type_);
    const bool is_zero = special_ == 0 && exact_.Sign() == 0;
    if (special_ != 0 || is_zero) {
      const double zero = !is_empty_ && is_negative_zero_ ? -0.0 : 0.0;
      const double plain = is_zero ? zero : special_;
      return Rounded(Exact(std::isnan(plain) ? 0.0 : plain), plain, type_);
    }
    const Real real = exact_.ToReal();
    return type_ == DataType::kFloat16 ? uint64_t{BitsOf(RoundReal<Half>(real))}
                                       : uint64_t{BitsOf(RoundReal<float>(real))};
  }

 private:
  DataType type_;
  Rational exact_;
  double special_ = 0;
  bool is_empty_ = true;
  bool is_negative_zero_ = true;
};

// --- weights along a dimension -------------------------------------------------------------------

struct Pixel {
  int64_t index;
  Rational weight;
};
using Pixels = std::vector<Pixel>;

// The fields of the forward operator that concern one dimension, with their defaults.
struct Dimension {
  int64_t size;  // of the forward operator's input
  float scale, input_offset, output_offset;
  bool is_nearest;
  int direction;  // -1 if there is none, which rounds halves up
  bool is_antialiased;
};

Dimension DimensionOf(const OperatorDesc& desc, size_t d, size_t rank, int64_t size) {
  const std::string_view name = desc.name();
  const bool is_upsample = name == "UPSAMPLE_2D";
  Dimension dimension{size, 1,    0.5f, -0.5f, Get<uint32_t>(desc, "InterpolationMode") == 0,
                      -1,   false};
  if (is_upsample) {
    const Size2d& scale = Get<Size2d>(desc, "ScaleSize");
    if (d + 1 == rank) dimension.scale = static_cast<float>(scale.width);
    if (d + 2 == rank) dimension.scale = static_cast<float>(scale.height);
    return dimension;
  }
  dimension.scale = Get<Floats>(desc, "Scales")[d];
  if (name == "RESAMPLE") return dimension;
  dimension.input_offset = Get<Floats>(desc, "InputPixelOffsets")[d];
  dimension.output_offset = Get<Floats>(desc, "OutputPixelOffsets")[d];
  if (name == "RESAMPLE1" || name == "RESAMPLE_GRAD") return dimension;
  dimension.direction = static_cast<int>(Get<uint32_t>(desc, "RoundingDirection"));
  if (name == "RESAMPLE3") dimension.is_antialiased = Get<bool>(desc, "Antialiased");
  return dimension;
}

// RSM-4, RSM-7.
Pixels Nearest(const Dimension& dimension, int64_t output) {
  const float offset =
      dimension.direction < 0 ? dimension.input_offset - 0.5f : dimension.input_offset;
  const float t = static_cast<float>(output) - dimension.output_offset;
  const float q = t / dimension.scale;
  const float x = q - offset;
  const double inside =
      std::min(std::max(static_cast<double>(x), 0.0), static_cast<double>(dimension.size - 1));
  const double pixel = dimension.direction == 0 ? std::ceil(inside) : std::floor(inside);
  return {{static_cast<int64_t>(pixel), Rational(1)}};
}

Rational Exactly(int64_t number) {
  return Rational(static_cast<double>(number));
}

// RSM-3.
Pixels Linear(const Dimension& dimension, const Rational& x) {
  const Rational last = Exactly(dimension.size - 1);
  if (x.Sign() <= 0) return {{0, Rational(1)}};
  if ((last - x).Sign() <= 0) return {{dimension.size - 1, Rational(1)}};
  const int64_t i = x.Floor();
  const Rational w = x - Exactly(i);
  Pixels pixels = {{i, Rational(1) - w}};
  if (w.Sign() != 0) pixels.push_back({i + 1, w});
  return pixels;
}

// RSM-9, tap by tap.
Pixels Antialiased(const Dimension& dimension, const Rational& x) {
  const Rational scale(static_cast<double>(dimension.scale));
  const Rational reach = Rational(1) / scale;
  Pixels pixels;
  Rational sum;
  for (int64_t j = (x - reach).Floor(); j <= (x + reach).Floor() + 1; ++j) {
    Rational distance = Exactly(j) - x;
    if (distance.Sign() < 0) distance = Rational(0) - distance;
    const Rational weight = Rational(1) - distance * scale;
    if (weight.Sign() <= 0) continue;
    pixels.push_back({std::clamp<int64_t>(j, 0, dimension.size - 1), weight});
    sum = sum + weight;
  }
  for (Pixel& pixel : pixels) pixel.weight = pixel.weight / sum;
  return pixels;
}

Pixels PixelsOf(const Dimension& dimension, int64_t output) {
  if (dimension.is_nearest) return Nearest(dimension, output);
  const Rational x = (Exactly(output) - Rational(static_cast<double>(dimension.output_offset))) /
                         Rational(static_cast<double>(dimension.scale)) -
                     Rational(static_cast<double>(dimension.input_offset));
  return dimension.is_antialiased && dimension.scale < 0.5f ? Antialiased(dimension, x)
                                                            : Linear(dimension, x);
}

// Adds the products for all combinations of one pixel per dimension.
void AddProducts(const std::vector<Pixels>& pixels, const ConstTensorView& input, Dims& index,
                 const Rational& weight, Sum& sum) {
  if (index.size() == pixels.size()) return sum.Add(weight, BitsAt(input, index));
  for (const Pixel& pixel : pixels[index.size()]) {
    index.push_back(pixel.index);
    AddProducts(pixels, input, index, weight * pixel.weight, sum);
    index.pop_back();
  }
}

Expectation SumOf(const std::vector<Pixels>& pixels, const ConstTensorView& input) {
  Sum sum(input.type);
  Dims index;
  AddProducts(pixels, input, index, Rational(1), sum);
  return {sum.Result()};
}

Expectation Resample(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                     const Dims& index) {
  std::vector<Pixels> pixels;
  Dims first;
  for (size_t d = 0; d < index.size(); ++d) {
    const Dimension dimension = DimensionOf(desc, d, index.size(), inputs[0].layout.sizes[d]);
    pixels.push_back(PixelsOf(dimension, index[d]));
    first.push_back(pixels.back().front().index);
  }
  if (Get<uint32_t>(desc, "InterpolationMode") == 0) return {BitsAt(inputs[0], first)};
  return SumOf(pixels, inputs[0]);
}

// Sums over every output that uses the pixel, with its weight.
Expectation ResampleGrad(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                         const Dims& index) {
  const Sizes& sizes = *Get<TensorDesc>(desc, "OutputGradientTensor").sizes;
  std::vector<Pixels> outputs;
  for (size_t d = 0; d < index.size(); ++d) {
    const Dimension dimension = DimensionOf(desc, d, index.size(), sizes[d]);
    outputs.emplace_back();
    for (int64_t output = 0; output < inputs[0].layout.sizes[d]; ++output) {
      for (const Pixel& pixel : PixelsOf(dimension, output)) {
        if (pixel.index == index[d]) outputs.back().push_back({output, pixel.weight});
      }
    }
  }
  return SumOf(outputs, inputs[0]);
}

// --- FOLD ----------------------------------------------------------------------------------------

// Number of blocks along a dimension.
int64_t BlocksOf(const OperatorDesc& desc, size_t d) {
  const auto number = [&](std::string_view field) { return int64_t{Get<Sizes>(desc, field)[d]}; };
  const int64_t size = (*Get<TensorDesc>(desc, "OutputTensor").sizes)[d + 2];
  const int64_t padded = size + number("StartPadding") + number("EndPadding");
  return (padded - number("Dilations") * (number("WindowSizes") - 1) - 1) / number("Strides") + 1;
}

// Visits every tap of every block; the taps that fall on the element count.
Expectation Fold(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                 const Dims& index) {
  const ConstTensorView& input = inputs[0];
  const Sizes& window = Get<Sizes>(desc, "WindowSizes");
  const Dims taps(window.begin(), window.end());
  Dims blocks;
  for (size_t d = 0; d < window.size(); ++d) blocks.push_back(BlocksOf(desc, d));
  Sum sum(input.type);
  uint64_t modulo = 0;
  for (int64_t t = 0; t < Product(taps); ++t) {
    const Dims tap = IndexOf(taps, t);
    Dims block;
    for (size_t d = 0; d < tap.size(); ++d) {
      const int64_t begin = index[d + 2] + int64_t{Get<Sizes>(desc, "StartPadding")[d]} -
                            tap[d] * int64_t{Get<Sizes>(desc, "Dilations")[d]};
      const int64_t stride = Get<Sizes>(desc, "Strides")[d];
      if (begin >= 0 && begin % stride == 0 && begin / stride < blocks[d]) {
        block.push_back(begin / stride);
      }
    }
    if (block.size() < tap.size()) continue;
    Dims source = Dims::Filled(input.layout.rank() - 3, 0);
    source.push_back(index[0]);
    source.push_back(index[1] * Product(taps) + t);
    int64_t column = 0;
    for (size_t d = 0; d < block.size(); ++d) column = column * blocks[d] + block[d];
    source.push_back(column);
    const uint64_t bits = BitsAt(input, source);
    modulo += bits;
    sum.Add(Rational(1), bits);
  }
  return {IsFloat(input.type) ? sum.Result() : Wrapped(static_cast<Integer>(modulo), input.type)};
}

constexpr NamedOracle kOracles[] = {
    {"UPSAMPLE_2D", Resample},        {"RESAMPLE", Resample},  {"RESAMPLE1", Resample},
    {"RESAMPLE2", Resample},          {"RESAMPLE3", Resample}, {"RESAMPLE_GRAD", ResampleGrad},
    {"RESAMPLE_GRAD1", ResampleGrad}, {"FOLD", Fold},
};

}  // namespace

std::span<const NamedOracle> ResampleOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
