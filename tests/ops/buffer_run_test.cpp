// SPDX-License-Identifier: Apache-2.0
// Operators on buffers in which 4-bit elements share bytes.

#include "core/ops/pieces.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/desc.h"
#include "tests/support/test_tensor.h"

namespace dmlop {
namespace {

using enum DataType;

// Low nibbles come first.
std::vector<std::byte> PackedNibbles(const std::vector<int>& values) {
  std::vector<std::byte> bytes((values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    bytes[i / 2] |= static_cast<std::byte>((values[i] & 15) << 4 * (i % 2));
  }
  return bytes;
}

std::vector<std::byte> Bytes(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TensorDesc DescOf(DataType type, const Layout& layout) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = SizesOf(layout.sizes);
  desc.strides = SizesOf(layout.strides);
  return desc;
}

// The scale is 0.5 or 1, and the zero point is the same for all elements.
OperatorDesc Quantization(const char* name, const TensorDesc& input, const TensorDesc& output) {
  OperatorDesc desc = OperatorNamed(name);
  const bool quantizes = IsFloat(*input.data_type);
  const Layout one = PackedLayout(Dims::Filled(input.rank(), 1));
  Set(desc, "InputTensor", input);
  Set(desc, "OutputTensor", output);
  Set(desc, "QuantizationType", 2u);
  Set(desc, "QuantizationTensors",
      std::vector<TensorDesc>{DescOf(kFloat32, one),
                              DescOf(*(quantizes ? output : input).data_type, one)});
  Complete(desc);
  return desc;
}

template <typename T>
ConstTensorView ViewOf(const std::vector<T>& values, const TensorDesc& desc) {
  return {reinterpret_cast<const std::byte*>(values.data()), *desc.data_type, LayoutOf(desc)};
}

TEST(BufferRun, DequantizesNibbles) {
  const struct {
    DataType type;
    int zero_point;
    std::vector<int> values;
    Layout layout;
    std::vector<float> expected;
  } kCases[] = {
      {kUint4, 8, {0, 8, 15, 1, 2, 3}, PackedLayout({2, 3}), {-4, 0, 3.5f, -3.5f, -3, -2.5f}},
      {kInt4, -1, {0, -8, 7, 1, -1, 3}, PackedLayout({2, 3}), {0.5f, -3.5f, 4, 1, 0, 2}},
      {kUint4, 0, {9, 1, 2, 3, 4, 5, 6, 7}, {{2, 3}, {4, 1}}, {4.5f, 0.5f, 1, 2, 2.5f, 3}},
      {kUint4, 0, {1, 2, 3, 4, 5, 6}, {{2, 3}, {1, 2}}, {0.5f, 1.5f, 2.5f, 1, 2, 3}},
  };
  for (const auto& c : kCases) {
    const std::vector<std::byte> x = PackedNibbles(c.values);
    const std::vector<float> scale = {0.5f};
    const std::vector<std::byte> zero_point = PackedNibbles({c.zero_point});
    std::vector<float> result(6);
    const TensorDesc output = DescOf(kFloat32, PackedLayout({2, 3}));
    const OperatorDesc desc = Quantization("DEQUANTIZE", DescOf(c.type, c.layout), output);
    const std::vector<TensorDesc> parameters =
        Get<std::vector<TensorDesc>>(desc, "QuantizationTensors");
    const TensorView to{reinterpret_cast<std::byte*>(result.data()), kFloat32, LayoutOf(output)};
    RunOnBuffers(desc,
                 std::vector{ViewOf(x, Get<TensorDesc>(desc, "InputTensor")),
                             ViewOf(scale, parameters[0]), ViewOf(zero_point, parameters[1])},
                 {&to, 1});
    EXPECT_EQ(result, c.expected);
  }
}

TEST(BufferRun, WritesNibblesWithoutTheirNeighbours) {
  const std::vector<float> x = {0, 2, 3, 100, -9};
  const std::vector<float> scale = {1};
  const std::vector<std::byte> zero = PackedNibbles({0});
  const auto quantize = [&](const Layout& layout, std::vector<std::byte> bytes) {
    const OperatorDesc desc = Quantization("QUANTIZE", DescOf(kFloat32, PackedLayout(layout.sizes)),
                                           DescOf(kInt4, layout));
    const std::vector<TensorDesc> parameters =
        Get<std::vector<TensorDesc>>(desc, "QuantizationTensors");
    const TensorView to{bytes.data(), kInt4, layout};
    RunOnBuffers(desc,
                 std::vector{ViewOf(x, Get<TensorDesc>(desc, "InputTensor")),
                             ViewOf(scale, parameters[0]), ViewOf(zero, parameters[1])},
                 {&to, 1});
    return bytes;
  };
  // The unused half of the last byte becomes zero.
  EXPECT_EQ(quantize(PackedLayout({5}), Bytes({0xAA, 0xAA, 0xAA})),
            PackedNibbles({0, 2, 3, 7, -8}));
  EXPECT_EQ(quantize({{4}, {2}}, Bytes({0xAA, 0xBA, 0xCA, 0xDA})), Bytes({0xA0, 0xB2, 0xC3, 0x07}));
}

}  // namespace
}  // namespace dmlop
