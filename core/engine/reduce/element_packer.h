// SPDX-License-Identifier: Apache-2.0
// Copies strided elements so that they lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/engine/reduce/reduce_loop.h"
#include "core/kernels/copy/copy.h"

namespace dmlop {

class ElementPacker {
 public:
  // `width` is the size of an element in bytes.
  explicit ElementPacker(size_t width)
      : width_(static_cast<int64_t>(width)), copy_(CopyTileFor(width)) {}

  // Packs the elements of a run.
  template <typename T>
  void Pack(const ElementRun<T>& run, T* to) const {
    copy_({1, run.count, 0, 1, 0, run.stride}, reinterpret_cast<std::byte*>(to),
          reinterpret_cast<const std::byte*>(run.first));
  }

  // Packs columns row by row.
  template <typename T>
  void Pack(const ColumnRun& columns, const ElementRun<T>& run, T* to) const {
    PackColumns(columns, run.count, run.stride, reinterpret_cast<std::byte*>(to),
                reinterpret_cast<const std::byte*>(run.first));
  }

 private:
  void PackColumns(const ColumnRun& columns, int64_t rows, int64_t row_stride, std::byte* to,
                   const std::byte* from) const;

  int64_t width_;
  CopyTileFunction copy_;
};

}  // namespace dmlop
