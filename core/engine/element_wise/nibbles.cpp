#include "core/engine/element_wise/nibbles.h"

#include <algorithm>

#include "core/base/parallel.h"

namespace dmlop {
namespace {

constexpr int64_t kGrain = 1 << 16;  // bytes; fewer are not worth a second thread

int64_t LowestOffset(const Layout& layout) {
  int64_t lowest = 0;
  for (size_t d = 0; d < layout.rank(); ++d) {
    lowest += (layout.sizes[d] - 1) * std::min<int64_t>(0, layout.strides[d]);
  }
  return lowest;
}

int64_t HighestOffset(const Layout& layout) {
  int64_t highest = 0;
  for (size_t d = 0; d < layout.rank(); ++d) {
    highest += (layout.sizes[d] - 1) * std::max<int64_t>(0, layout.strides[d]);
  }
  return highest;
}

// The even offset before it: where a byte begins.
int64_t ByteStart(int64_t offset) {
  return offset & ~int64_t{1};
}

std::byte Widened(std::byte nibble, bool is_signed) {
  const bool is_negative = is_signed && (nibble & std::byte{8}) != std::byte{0};
  return is_negative ? nibble | std::byte{0xF0} : nibble;
}

}  // namespace

NibbleBytes::NibbleBytes(const ConstTensorView& nibbles)
    : first_(ByteStart(LowestOffset(nibbles.layout))),
      count_(HighestOffset(nibbles.layout) - first_ + 1),
      bytes_(static_cast<size_t>(count_ + count_ % 2)) {
  const bool is_signed = nibbles.type == DataType::kInt4;
  view_ = {bytes_.data() - first_, is_signed ? DataType::kInt8 : DataType::kUint8, nibbles.layout};
  const std::byte* from = nibbles.data + first_ / 2;
  ParallelFor((count_ + 1) / 2, kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    std::byte* to = bytes_.data();
    for (int64_t i = begin; i < end; ++i) {
      to[2 * i] = Widened(from[i] & std::byte{0x0F}, is_signed);
      to[2 * i + 1] = Widened(from[i] >> 4, is_signed);
    }
  });
}

void NibbleBytes::PackInto(const TensorView& nibbles) const {
  std::byte* to = nibbles.data + first_ / 2;
  ParallelFor((count_ + 1) / 2, kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    const std::byte* from = bytes_.data();
    for (int64_t i = begin; i < end; ++i) {
      const std::byte high = 2 * i + 1 < count_ ? from[2 * i + 1] : std::byte{0};
      to[i] = (from[2 * i] & std::byte{0x0F}) | high << 4;
    }
  });
}

}  // namespace dmlop
