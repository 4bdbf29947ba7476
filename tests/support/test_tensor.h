// SPDX-License-Identifier: Apache-2.0
// A tensor in its own memory, surrounded and interspersed with guard bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

class TestTensor {
 public:
  // At first every byte is a guard, even those of elements. The first element is `offset` elements
  // into the memory, so that rows need not be aligned.
  TestTensor(DataType type, const Layout& layout, int64_t offset = 0);

  DataType type() const { return type_; }
  const Layout& layout() const { return layout_; }
  TensorDesc Desc() const;

  ConstTensorView view() const { return {bytes_.data() + first_, type_, layout_}; }
  TensorView mutable_view() { return {bytes_.data() + first_, type_, layout_}; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  // True while all bytes outside of elements are guards.
  bool GuardsAreIntact() const;

 private:
  DataType type_;
  Layout layout_;
  size_t first_;  // position of the first element in bytes_
  std::vector<std::byte> bytes_;
};

// True if both have the same bits at every index. The sizes must agree.
bool HaveSameElements(const TestTensor& a, const TestTensor& b);

// Copies the elements of `from`, which has the same sizes, to the same indices.
void CopyElements(const TestTensor& from, TestTensor& to);

// Sizes in the type of a desc.
std::vector<uint32_t> SizesOf(const Dims& sizes);

// Such as "FLOAT32 {2, 3} strides {3, 1}".
std::string ToString(const TestTensor& tensor);

}  // namespace dmlop
