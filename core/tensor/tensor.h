// SPDX-License-Identifier: Apache-2.0
// Bytes with a type and a layout: views borrow them, a Buffer owns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "core/base/memory.h"
#include "core/tensor/data_type.h"
#include "core/tensor/layout.h"

namespace dmlop {

// `data` points at the element with index 0, 0, ...; every element is aligned to its own size.
template <typename Byte>
struct BasicTensorView {
  Byte* data = nullptr;
  DataType type = DataType::kUnknown;
  Layout layout;

  template <typename T>
  auto elements() const {
    if constexpr (std::is_const_v<Byte>) {
      return reinterpret_cast<const T*>(data);
    } else {
      return reinterpret_cast<T*>(data);
    }
  }

  // Returns the bytes of all elements, without the gaps between them.
  int64_t element_bytes() const {
    return layout.element_count() * static_cast<int64_t>(ByteWidth(type));
  }

  // Returns the part whose coordinate along `axis` lies in [start, start + size).
  BasicTensorView Slice(size_t axis, int64_t start, int64_t size) const {
    BasicTensorView slice = *this;
    slice.data += start * layout.strides[axis] * static_cast<int64_t>(ByteWidth(type));
    slice.layout.sizes[axis] = size;
    return slice;
  }

  // Returns every step-th element along `axis` from `start` on, `size` of them. A negative step
  // goes back.
  BasicTensorView Stepped(size_t axis, int64_t start, int64_t size, int64_t step) const {
    BasicTensorView stepped = Slice(axis, start, size);
    stepped.layout.strides[axis] *= size == 1 ? 1 : step;
    return stepped;
  }
};

using ConstTensorView = BasicTensorView<const std::byte>;
using TensorView = BasicTensorView<std::byte>;

inline ConstTensorView AsConst(const TensorView& view) {
  return {view.data, view.type, view.layout};
}

// Owned bytes, 64-byte aligned and zero-initialized.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t size)
      : bytes_(static_cast<std::byte*>(operator new(size, kAlignment))), size_(size) {
    PreferHugePages({bytes_.get(), size});
    std::fill_n(bytes_.get(), size, std::byte{0});
  }

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { operator delete(bytes, kAlignment); }
  };

  std::unique_ptr<std::byte, Free> bytes_;
  size_t size_ = 0;
};

}  // namespace dmlop
