// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_tensor.h"

#include <fmt/format.h>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"

namespace dmlop {
namespace {

constexpr size_t kMargin = 64;                 // guard bytes before and after the tensor
constexpr std::byte kGuard = std::byte{0xFF};  // a NaN in every float type

size_t BytesOf(int64_t elements, DataType type) {
  return static_cast<size_t>(elements) * ByteWidth(type);
}

}  // namespace

TestTensor::TestTensor(DataType type, const Layout& layout, int64_t offset)
    : type_(type),
      layout_(layout),
      first_(kMargin + BytesOf(offset, type)),
      bytes_(first_ + BytesOf(Extent(layout), type) + kMargin, kGuard) {}

TensorDesc TestTensor::Desc() const {
  TensorDesc desc;
  desc.data_type = type_;
  desc.sizes = SizesOf(layout_.sizes);
  desc.strides = SizesOf(layout_.strides);
  return desc;
}

bool TestTensor::GuardsAreIntact() const {
  std::vector<std::byte> others = bytes_;
  reference::ForEachIndex(layout_.sizes, [&](const Dims& index) {
    const size_t at = first_ + BytesOf(OffsetOf(layout_, index), type_);
    std::fill_n(others.begin() + static_cast<ptrdiff_t>(at), ByteWidth(type_), kGuard);
  });
  return others == std::vector<std::byte>(bytes_.size(), kGuard);
}

bool HaveSameElements(const TestTensor& a, const TestTensor& b) {
  bool same = true;
  VisitElementWidth(a.type(), [&]<typename Bits>() {
    const Bits* of_a = a.view().elements<Bits>();
    const Bits* of_b = b.view().elements<Bits>();
    reference::ForEachIndex(a.layout().sizes, [&](const Dims& index) {
      same &= of_a[OffsetOf(a.layout(), index)] == of_b[OffsetOf(b.layout(), index)];
    });
  });
  return same;
}

void CopyElements(const TestTensor& from, TestTensor& to) {
  VisitElementWidth(from.type(), [&]<typename Bits>() {
    const Bits* source = from.view().elements<Bits>();
    Bits* target = to.mutable_view().elements<Bits>();
    reference::ForEachIndex(from.layout().sizes, [&](const Dims& index) {
      target[OffsetOf(to.layout(), index)] = source[OffsetOf(from.layout(), index)];
    });
  });
}

std::vector<uint32_t> SizesOf(const Dims& sizes) {
  std::vector<uint32_t> result;
  for (const int64_t size : sizes) result.push_back(static_cast<uint32_t>(size));
  return result;
}

std::string ToString(const TestTensor& tensor) {
  return fmt::format("{} {} strides {}", Name(tensor.type()),
                     ToString(SizesOf(tensor.layout().sizes)),
                     ToString(SizesOf(tensor.layout().strides)));
}

}  // namespace dmlop
