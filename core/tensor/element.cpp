// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/element.h"

#include <cmath>

#include "core/base/parallel.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

ElementBytes ConvertElement(float value, DataType type) {
  ElementBytes bytes{};
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    T element;
    if constexpr (std::is_same_v<T, Half>) {
      element = ToHalf(value);
    } else if constexpr (std::is_integral_v<T>) {
      element = Truncated<T>(static_cast<double>(value));
    } else if constexpr (std::is_same_v<T, double>) {
      element = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : double{value};
    } else {
      element = value;
    }
    bytes = BytesOf(element);
  });
  return bytes;
}

void CopyElements(const ConstTensorView& from, const TensorView& to) {
  const size_t width = ByteWidth(to.type);
  const LoopNest<2> nest =
      Merged(LoopNest<2>{to.layout.sizes, {to.layout.strides, from.layout.strides}});
  Walk<2> walk(nest, 0);
  for (int64_t i = 0; i < to.layout.element_count(); ++i, walk.Next()) {
    std::memcpy(to.data + walk.offset(0) * static_cast<int64_t>(width),
                from.data + walk.offset(1) * static_cast<int64_t>(width), width);
  }
}

// --- elements of 4 bits --------------------------------------------------------------------------

namespace {

constexpr int64_t kGrain = 1 << 16;  // in bytes; fewer are not worth a second thread
constexpr std::byte kLow{0x0F};

std::byte Widened(std::byte nibble, bool is_signed) {
  const bool is_negative = is_signed && (nibble & std::byte{8}) != std::byte{0};
  return is_negative ? nibble | std::byte{0xF0} : nibble;
}

}  // namespace

uint64_t BufferBytes(DataType type, uint64_t elements) {
  return HasNibbles(type) ? elements / 2 + elements % 2 : elements * ByteWidth(type);
}

void UnpackNibbles(DataType type, std::span<const std::byte> packed,
                   std::span<std::byte> elements) {
  const bool is_signed = IsSigned(type);
  ParallelFor(static_cast<int64_t>(packed.size()), kGrain, /*bytes=*/0,
              [&](int64_t begin, int64_t end) {
                std::byte* to = elements.data();
                for (int64_t i = begin; i < end; ++i) {
                  const std::byte pair = packed[static_cast<size_t>(i)];
                  to[2 * i] = Widened(pair & kLow, is_signed);
                  to[2 * i + 1] = Widened(pair >> 4, is_signed);
                }
              });
}

void PackNibbles(std::span<const std::byte> elements, std::span<std::byte> packed) {
  const int64_t count = static_cast<int64_t>(elements.size());
  ParallelFor((count + 1) / 2, kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    const std::byte* from = elements.data();
    for (int64_t i = begin; i < end; ++i) {
      const std::byte high = 2 * i + 1 < count ? from[2 * i + 1] : std::byte{0};
      packed[static_cast<size_t>(i)] = (from[2 * i] & kLow) | high << 4;
    }
  });
}

UnpackedNibbles::UnpackedNibbles(const ConstTensorView& in_buffer)
    : type_(in_buffer.type),
      layout_(in_buffer.layout),
      elements_(2 * BufferBytes(type_, static_cast<uint64_t>(Extent(layout_)))) {
  UnpackNibbles(type_, {in_buffer.data, elements_.size() / 2},
                {elements_.data(), elements_.size()});
}

void UnpackedNibbles::PackInto(std::byte* data) const {
  const size_t count = static_cast<size_t>(Extent(layout_));
  PackNibbles(elements_.bytes().first(count), {data, BufferBytes(type_, count)});
}

}  // namespace dmlop
