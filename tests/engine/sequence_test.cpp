// Sequences, and tensors of 4-bit integers.

#include "core/engine/element_wise/sequence.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "tests/reference/element.h"
#include "tests/reference/element_wise.h"
#include "tests/support/random_tensor.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

using enum DataType;
using enum ElementWiseFunction;

// DxDispatch's example, dml_fill_value_sequence.json.
TEST(Sequence, HasTheValuesOfTheExample) {
  std::vector<float> values(5);
  const ElementParameters parameters{{double{3.2f}, double{1.5f}}, {}};
  FillSequence(parameters, 0, {5, 5, 5, 1},
               {reinterpret_cast<std::byte*>(values.data()), kFloat32, PackedLayout({1, 1, 1, 5})});
  const uint32_t expected[] = {0x404CCCCD, 0x40966666, 0x40C66666, 0x40F66666, 0x41133333};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(std::bit_cast<uint32_t>(values[i]), expected[i]);
}

TEST(Sequence, IsInRowMajorOrderInAnyLayout) {
  const SettingsGuard before;
  ElementParameters parameters{{double{0.1f}, double{-0.7f}}, {-5, 3}};
  for (int number = 0; number < 200; ++number) {
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number);
    SetThreadCount(UniformInt(engine, 1, 4));
    const DataType type = OneOf(engine, std::vector{kFloat32, kFloat16, kUint8, kInt16, kInt64});
    const Dims sizes = OneIn(engine, 10) ? Dims{300, 700} : RandomSizes(engine, 4, 3000);
    TestTensor output = RandomOutput(engine, type, sizes);
    FillSequence(parameters, 7, PackedStrides(sizes), output.mutable_view());
    int64_t place = 7;
    reference::ForEachIndex(sizes, [&](const Dims& index) {
      const double k = static_cast<double>(place);
      const reference::StoredElement element =
          IsFloat(type) ? reference::StoredElement{kFloat64, std::bit_cast<uint64_t>(k)}
                        : reference::StoredElement{kUint64, static_cast<uint64_t>(place)};
      ASSERT_EQ(reference::BitsAt(output.view(), index),
                reference::ElementOf({kSequence, parameters, {}}, {&element, 1}, type));
      ++place;
    });
    ASSERT_TRUE(output.GuardsAreIntact());
  }
}

// Low nibbles come first.
std::vector<uint8_t> PackedNibbles(const std::vector<int>& values) {
  std::vector<uint8_t> bytes((values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | (values[i] & 15) << 4 * (i % 2));
  }
  return bytes;
}

template <typename T>
ConstTensorView ViewOf(const std::vector<T>& values, DataType type, const Layout& layout) {
  return {reinterpret_cast<const std::byte*>(values.data()), type, layout};
}

TEST(Nibbles, AreDequantized) {
  const std::vector<float> scale = {0.5f};
  const Layout one{{2, 3}, {0, 0}};
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
    const std::vector<uint8_t> x = PackedNibbles(c.values);
    const std::vector<uint8_t> zero_point = PackedNibbles({c.zero_point});
    std::vector<float> result(6);
    ComputeElements({kDequantize},
                    std::vector{ViewOf(x, c.type, c.layout), ViewOf(scale, kFloat32, one),
                                ViewOf(zero_point, c.type, one)},
                    {reinterpret_cast<std::byte*>(result.data()), kFloat32, PackedLayout({2, 3})});
    EXPECT_EQ(result, c.expected);
  }
}

TEST(Nibbles, AreWrittenWithoutTheirNeighbours) {
  const std::vector<float> x = {0, 2, 3, 100, -9};
  const std::vector<float> scale = {1};
  const auto quantize = [&](const Dims& sizes, const Layout& layout, std::vector<uint8_t> bytes) {
    const Layout one{sizes, Dims::Filled(sizes.size(), 0)};
    const std::vector<uint8_t> zero = PackedNibbles({0});
    ComputeElements({kQuantize, {{-8, 7}, {}}, {}},
                    std::vector{ViewOf(x, kFloat32, PackedLayout(sizes)),
                                ViewOf(scale, kFloat32, one), ViewOf(zero, kInt4, one)},
                    {reinterpret_cast<std::byte*>(bytes.data()), kInt4, layout});
    return bytes;
  };
  // The last half of a byte becomes zero.
  EXPECT_EQ(quantize({5}, PackedLayout({5}), {0xAA, 0xAA, 0xAA}), PackedNibbles({0, 2, 3, 7, -8}));
  EXPECT_EQ(quantize({4}, {{4}, {2}}, {0xAA, 0xBA, 0xCA, 0xDA}),
            (std::vector<uint8_t>{0xA0, 0xB2, 0xC3, 0x07}));
}

}  // namespace
}  // namespace dmlop
