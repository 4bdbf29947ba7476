// SPDX-License-Identifier: Apache-2.0
// Elements of 4 bits, two or one in a byte.

#include "core/tensor/nibbles.h"

#include <gtest/gtest.h>

#include <vector>

namespace dmlop {
namespace {

using enum DataType;

std::vector<std::byte> Bytes(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// Low nibbles come first.
std::vector<std::byte> Pairs(const std::vector<int>& values) {
  std::vector<std::byte> bytes(values.size() / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    bytes[i / 2] |= static_cast<std::byte>((values[i] & 15) << 4 * (i % 2));
  }
  return bytes;
}

TEST(Nibbles, ArePackedAsThePageSays) {
  std::vector<std::byte> packed(3);
  PackNibbles(Bytes({1, 2, 3, 4, 5}), packed);
  EXPECT_EQ(packed, Bytes({0x21, 0x43, 0x05}));
}

TEST(Nibbles, AreTheirValuesWhenUnpacked) {
  // There are so many that several threads share them.
  std::vector<int> values(300'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * i / 7 % 16) - 8;
  const std::vector<std::byte> packed = Pairs(values);
  std::vector<std::byte> elements(values.size());
  UnpackNibbles(kInt4, packed, elements);
  EXPECT_EQ(elements, Bytes(values));
  std::vector<std::byte> again(packed.size());
  PackNibbles(elements, again);
  EXPECT_EQ(again, packed);

  for (int& value : values) value += 8;
  UnpackNibbles(kUint4, Pairs(values), elements);
  EXPECT_EQ(elements, Bytes(values));
}

TEST(Nibbles, HaveTheRangeOfTheirType) {
  EXPECT_EQ(RangeOf<int8_t>(kInt4).least, -8);
  EXPECT_EQ(RangeOf<int8_t>(kInt4).most, 7);
  EXPECT_EQ(RangeOf<uint8_t>(kUint4).least, 0);
  EXPECT_EQ(RangeOf<uint8_t>(kUint4).most, 15);
  EXPECT_EQ(Wrapped(kInt4, int8_t{8}), -8);
  EXPECT_EQ(Wrapped(kUint4, uint8_t{17}), 1);
  EXPECT_EQ(Wrapped(kUint8, uint8_t{17}), 17);
}

TEST(Nibbles, BetweenElementsOfABufferAreKept) {
  std::vector<std::byte> buffer = Bytes({0x8A, 0xBC, 0x7E, 0xF0});
  UnpackedNibbles unpacked({buffer.data(), kInt4, {{2, 2}, {4, 2}}});
  const TensorView view = unpacked.view();
  EXPECT_EQ(view.elements<int8_t>()[0], -6);
  EXPECT_EQ(view.elements<int8_t>()[2], -4);
  EXPECT_EQ(view.elements<int8_t>()[4], -2);
  EXPECT_EQ(view.elements<int8_t>()[6], 0);
  for (const int place : {0, 2, 4, 6}) view.data[place] = std::byte{1};
  unpacked.PackInto(buffer.data());
  EXPECT_EQ(buffer, Bytes({0x81, 0xB1, 0x71, 0x01}));  // the unused half is zero
}

TEST(Nibbles, TakeHalfAByteOfABuffer) {
  EXPECT_EQ(BufferBytes(kUint4, 4), 2u);
  EXPECT_EQ(BufferBytes(kInt4, 5), 3u);
  EXPECT_EQ(BufferBytes(kInt4, uint64_t{0xFFFFFFFF}), uint64_t{0x80000000});
  EXPECT_EQ(BufferBytes(kFloat16, 5), 10u);
}

}  // namespace
}  // namespace dmlop
