// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <stdexcept>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Numbers = std::vector<uint32_t>;

// JOIN-6: the inputs follow one another along the axis.
Expectation Join(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                 const Dims& index) {
  const uint32_t axis = desc[kAxis];
  Dims source = index;
  size_t part = 0;
  while (source[axis] >= inputs[part].layout.sizes[axis]) {
    source[axis] -= inputs[part].layout.sizes[axis];
    ++part;
  }
  return {BitsAt(inputs[part], source)};
}

// SPLIT-5: an output begins where the one before it ends.
Expectation Split(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t output,
                  const Dims& index) {
  const uint32_t axis = desc[kAxis];
  const auto& outputs = Get<std::vector<TensorDesc>>(desc, "OutputTensors");
  Dims source = index;
  for (size_t before = 0; before < output; ++before) source[axis] += (*outputs[before].sizes)[axis];
  return {BitsAt(inputs[0], source)};
}

struct Windows {
  const Numbers& sizes;
  const Numbers& strides;
  const Numbers& dilations;
  const Numbers& padding_before;
  const Numbers& padding_after;

  explicit Windows(const OperatorDesc& desc)
      : sizes(Get<Numbers>(desc, "WindowSizes")),
        strides(Get<Numbers>(desc, "Strides")),
        dilations(Get<Numbers>(desc, "Dilations")),
        padding_before(Get<Numbers>(desc, "StartPadding")),
        padding_after(Get<Numbers>(desc, "EndPadding")) {}

  // Number of positions of the window along each spatial dimension.
  Dims BlocksOf(const Dims& input_sizes) const {
    Dims blocks;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t padded = input_sizes[d + 2] + int64_t{padding_before[d]} + padding_after[d];
      const int64_t reach = int64_t{dilations[d]} * (sizes[d] - 1);
      blocks.push_back((padded - reach - 1) / strides[d] + 1);
    }
    return blocks;
  }
};

// UNF-6 to UNF-9.
Expectation Unfold(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  const Dims& sizes = inputs[0].layout.sizes;
  const Windows windows(desc);
  const Dims window(windows.sizes.begin(), windows.sizes.end());
  const size_t n = index.size() - 3;  // after the leading 1s of an output with the input's rank
  const int64_t row = index[n + 1];
  const Dims tap = IndexOf(window, row % Product(window));
  const Dims block = IndexOf(windows.BlocksOf(sizes), index[n + 2]);

  Dims source = {index[n], row / Product(window)};
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t position = block[d] * windows.strides[d] + tap[d] * windows.dilations[d] -
                             int64_t{windows.padding_before[d]};
    if (position < 0 || position >= sizes[d + 2]) return {0};
    source.push_back(position);
  }
  return {BitsAt(inputs[0], source)};
}

// Output[c] = Input[Offsets + Strides * c].
Expectation Slice(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                  const Dims& index) {
  Dims source;
  for (size_t d = 0; d < index.size(); ++d) {
    source.push_back(Get<Numbers>(desc, "Offsets")[d] +
                     int64_t{Get<Numbers>(desc, "Strides")[d]} * index[d]);
  }
  return {BitsAt(inputs[0], source)};
}

struct Steps {
  int64_t start, stride;
};

// A negative stride starts at the last element of the window.
Steps WindowAlong(const OperatorDesc& desc, size_t d) {
  const int64_t stride = Get<std::vector<int32_t>>(desc, "InputWindowStrides")[d];
  const int64_t window = Get<Numbers>(desc, "InputWindowSizes")[d];
  return {Get<Numbers>(desc, "InputWindowOffsets")[d] + (stride < 0 ? window - 1 : 0), stride};
}

Expectation Slice1(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  Dims source;
  for (size_t d = 0; d < index.size(); ++d) {
    const auto [start, stride] = WindowAlong(desc, d);
    source.push_back(start + stride * index[d]);
  }
  return {BitsAt(inputs[0], source)};
}

// The element of the gradient that SLICE1 would have taken from there, or zero.
Expectation SliceGrad(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                      const Dims& index) {
  Dims source;
  for (size_t d = 0; d < index.size(); ++d) {
    const auto [start, stride] = WindowAlong(desc, d);
    const int64_t way = index[d] - start;
    if (way % stride != 0) return {0};
    source.push_back(way / stride);
    if (source[d] < 0 || source[d] >= inputs[0].layout.sizes[d]) return {0};
  }
  return {BitsAt(inputs[0], source)};
}

int64_t FlooredModulus(int64_t a, int64_t b) {
  return (a % b + b) % b;
}

// The input's element at a place along one axis, which may lie in the padding.
int64_t Folded(uint32_t mode, int64_t i, int64_t n) {
  switch (mode) {
    case 1:  // EDGE
      return i < 0 ? 0 : i >= n ? n - 1 : i;
    case 2: {  // REFLECTION
      if (n == 1) return 0;
      const int64_t k = FlooredModulus(i, 2 * (n - 1));
      return k < n ? k : 2 * (n - 1) - k;
    }
    case 3: {  // SYMMETRIC
      const int64_t k = FlooredModulus(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    default:  // WRAP
      return FlooredModulus(i, n);
  }
}

// The bits of a field that is a FLOAT, or a number with a type of its own.
uint64_t ValueBits(const OperatorDesc& desc, std::string_view field, DataType type) {
  uint64_t bits = 0;
  const FieldValue& value = ValueOf(const_cast<OperatorDesc&>(desc), field);
  if (const auto* scalar = std::get_if<Scalar>(&value)) {
    std::memcpy(&bits, scalar->bytes.data(), ByteWidth(type));
    return bits;
  }
  const float number = std::get<float>(value);  // VAL-3
  if (type == DataType::kFloat32) return ToBits(number);
  return Rounded(Exact(static_cast<double>(number)), static_cast<double>(number), type);
}

Expectation Padding(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  const uint32_t mode = Get<uint32_t>(desc, "PaddingMode");
  Dims source;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t size = inputs[0].layout.sizes[d];
    const int64_t place = index[d] - int64_t{Get<Numbers>(desc, "StartPadding")[d]};
    if (mode == 0 && (place < 0 || place >= size)) {
      return {ValueBits(desc, "PaddingValue", inputs[0].type)};
    }
    source.push_back(mode == 0 ? place : Folded(mode, place, size));
  }
  return {BitsAt(inputs[0], source)};
}

Expectation Tile(const OperatorDesc&, std::span<const ConstTensorView> inputs, size_t,
                 const Dims& index) {
  Dims source;
  for (size_t d = 0; d < index.size(); ++d) {
    source.push_back(index[d] % inputs[0].layout.sizes[d]);
  }
  return {BitsAt(inputs[0], source)};
}

bool IsDepthFirst(const OperatorDesc& desc) {
  return !desc.name().ends_with('1') || Get<uint32_t>(desc, "Order") == 0;
}

// The channel, out of C channels of blocks, of an element in channel c, row u and column v of its
// block.
int64_t DeepChannel(const OperatorDesc& desc, int64_t channels, int64_t c, int64_t u, int64_t v) {
  const int64_t b = Get<uint32_t>(desc, "BlockSize");
  return IsDepthFirst(desc) ? (u * b + v) * channels + c : (c * b + u) * b + v;
}

Expectation DepthToSpace(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                         const Dims& index) {
  const int64_t b = Get<uint32_t>(desc, "BlockSize");
  const int64_t channels = inputs[0].layout.sizes[1] / (b * b);
  const int64_t q = DeepChannel(desc, channels, index[1], index[2] % b, index[3] % b);
  return {BitsAt(inputs[0], {index[0], q, index[2] / b, index[3] / b})};
}

// The only element that DEPTH_TO_SPACE would put there.
Expectation SpaceToDepth(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                         const Dims& index) {
  const int64_t b = Get<uint32_t>(desc, "BlockSize");
  const int64_t channels = inputs[0].layout.sizes[1];
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t u = 0; u < b; ++u) {
      for (int64_t v = 0; v < b; ++v) {
        if (DeepChannel(desc, channels, c, u, v) != index[1]) continue;
        return {BitsAt(inputs[0], {index[0], c, index[2] * b + u, index[3] * b + v})};
      }
    }
  }
  throw std::logic_error("no element is there");
}

// The diagonal's number: the column minus the row.
int64_t DiagonalOf(const Dims& index) {
  return index.back() - index[index.size() - 2];
}

Expectation DiagonalMatrix(const OperatorDesc& desc, std::span<const ConstTensorView>, size_t,
                           const Dims& index) {
  if (DiagonalOf(index) != Get<int32_t>(desc, "Offset")) return {0};
  return {ValueBits(desc, "Value", *Get<TensorDesc>(desc, "OutputTensor").data_type)};
}

Expectation DiagonalMatrix1(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                            size_t, const Dims& index) {
  const int64_t t = DiagonalOf(index);
  const int64_t begin = Get<int32_t>(desc, "DiagonalFillBegin");
  const int64_t end = Get<int32_t>(desc, "DiagonalFillEnd");
  const bool fills = (end >= begin) != ((t >= begin) != (t < end));
  if (fills) return {ValueBits(desc, "Value", *Get<TensorDesc>(desc, "OutputTensor").data_type)};
  return {inputs.empty() ? 0 : BitsAt(inputs[0], index)};
}

// FILL-1.
Expectation Fill(const OperatorDesc& desc, std::span<const ConstTensorView>, size_t, const Dims&) {
  const Scalar& value = Get<Scalar>(desc, "Value");
  uint64_t bits = 0;
  std::memcpy(&bits, value.bytes.data(), ByteWidth(value.type));
  return {bits};
}

constexpr NamedOracle kOracles[] = {{"JOIN", Join},
                                    {"SPLIT", Split},
                                    {"UNFOLD", Unfold},
                                    {"SLICE", Slice},
                                    {"SLICE1", Slice1},
                                    {"SLICE_GRAD", SliceGrad},
                                    {"PADDING", Padding},
                                    {"PADDING1", Padding},
                                    {"TILE", Tile},
                                    {"DEPTH_TO_SPACE", DepthToSpace},
                                    {"DEPTH_TO_SPACE1", DepthToSpace},
                                    {"SPACE_TO_DEPTH", SpaceToDepth},
                                    {"SPACE_TO_DEPTH1", SpaceToDepth},
                                    {"DIAGONAL_MATRIX", DiagonalMatrix},
                                    {"DIAGONAL_MATRIX1", DiagonalMatrix1},
                                    {"FILL_VALUE_CONSTANT", Fill}};

}  // namespace

std::span<const NamedOracle> MovementOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
