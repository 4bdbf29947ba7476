// A tensor in memory of its own, surrounded and interspersed with guard bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

class TestTensor {
 public:
  // Every byte is a guard at first, in elements too. The first element lies `offset` elements into
  // the memory, so that rows need not begin at a multiple of anything.
  TestTensor(DataType type, const Layout& layout, int64_t offset = 0);

  DataType type() const { return type_; }
  const Layout& layout() const { return layout_; }
  TensorDesc Desc() const;

  ConstTensorView view() const { return {bytes_.data() + first_, type_, layout_}; }
  TensorView mutable_view() { return {bytes_.data() + first_, type_, layout_}; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  // True while every byte that belongs to no element is a guard.
  bool GuardsAreIntact() const;

 private:
  DataType type_;
  Layout layout_;
  size_t first_;  // the byte at which element 0, 0, ... lies
  std::vector<std::byte> bytes_;
};

// True when both have the same bits at every index. The sizes agree.
bool HaveSameElements(const TestTensor& a, const TestTensor& b);

// Writes the elements of `from`, of the same sizes, to the same indices.
void CopyElements(const TestTensor& from, TestTensor& to);

// Sizes as descs have them.
std::vector<uint32_t> SizesOf(const Dims& sizes);

// "FLOAT32 {2, 3} strides {3, 1}"
std::string ToString(const TestTensor& tensor);

}  // namespace dmlop
