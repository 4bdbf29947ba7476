// SPDX-License-Identifier: Apache-2.0
#include "tests/support/literal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "core/tensor/visit_data_type.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/reference/element.h"

namespace dmlop {
namespace {

// The same memory as one row.
template <typename View>
View Flat(View view) {
  view.layout = PackedLayout({Extent(view.layout)});
  return view;
}

}  // namespace

TestTensor ToTensor(const Literal& literal) {
  const Dims strides = literal.strides.empty() ? PackedStrides(literal.sizes) : literal.strides;
  TestTensor tensor(literal.type, {literal.sizes, strides});
  const TensorView flat = Flat(tensor.mutable_view());
  EXPECT_EQ(flat.layout.sizes[0], static_cast<int64_t>(literal.memory.size()));
  VisitDataType(AllTypes(), literal.type, [&]<typename T>() {
    for (size_t i = 0; i < literal.memory.size(); ++i) {
      const T value = FromDouble<T>(literal.memory[i]);
      reference::SetBitsAt(flat, {static_cast<int64_t>(i)}, reference::ToBits(value));
    }
  });
  return tensor;
}

std::string MemoryOf(const TestTensor& tensor) {
  const ConstTensorView flat = Flat(tensor.view());
  std::string text;
  reference::ForEachIndex(flat.layout.sizes, [&](const Dims& index) {
    text += fmt::format("{}{:0{}X}", text.empty() ? "" : " ", reference::BitsAt(flat, index),
                        2 * ByteWidth(flat.type));
  });
  return text;
}

double FromFloatBits(uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits));
}

}  // namespace dmlop
