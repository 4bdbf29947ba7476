// SPDX-License-Identifier: Apache-2.0
// Cuts the product of two packed operands into blocks that fit in the cache, and into enough of
// them for all threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

namespace dmlop {

// Returns how many of an operand's panels, each of so many numbers, a thread packs at least: all if
// they are not worth waking a second thread. Those that are awake take less.
inline int64_t PackingGrain(int64_t panels, int64_t numbers) {
  if (panels * numbers <= kParallelElements) return panels;
  return std::max<int64_t>(1, kParallelElements / 8 / numbers);
}

class ProductGrid {
 public:
  // The rows or the columns of the product, in panels of some lines, of which a block takes a step.
  struct Side {
    int64_t panels, width;
    int64_t most_lines;  // of a block

    int64_t step = std::clamp<int64_t>(most_lines / width, 1, panels);

    int64_t lines() const { return step * width; }
    int64_t count() const { return CeilDiv(panels, step); }
    Range At(int64_t i) const { return {i * step, std::min((i + 1) * step, panels)}; }
  };

  // Ranges of panels.
  struct Block {
    Range rows, columns;
  };

  // So many blocks keep each thread busy; a smaller block than this is not worth its start.
  static constexpr int64_t kBlocksPerThread = 8;
  static constexpr int64_t kLeastProducts = 1 << 19;

  // Returns how many of some matrices, with so many products of numbers each, a thread computes at
  // least: all if threads share each one, because these are few and large.
  static int64_t Grain(int64_t matrices, int64_t products) {
    const bool are_shared =
        matrices < ThreadsAtHand() && products > kBlocksPerThread * kLeastProducts;
    return are_shared ? matrices : kParallelElements / (products + 1) + 1;
  }

  // The blocks of the outer side change last, because that side is fetched from further away.
  // `length` is the number of products in a sum.
  enum class Outer { kRows, kColumns };
  ProductGrid(const Side& rows, const Side& columns, Outer outer, int64_t length)
      : rows_(rows), columns_(columns), outer_(outer), length_(length) {
    const int64_t threads = ThreadsAtHand();
    while (threads > 1 && count() < kBlocksPerThread * threads && products() > kLeastProducts) {
      const bool rows_are_longer = rows_.lines() > columns_.lines();
      const bool cuts_rows = columns_.step == 1 || (rows_are_longer && rows_.step > 1);
      Side& side = cuts_rows ? rows_ : columns_;
      if (side.step == 1) break;
      side.step -= side.step / 2;
    }
  }

  int64_t count() const { return rows_.count() * columns_.count(); }
  int64_t products() const { return rows_.lines() * columns_.lines() * length_; }  // of a block

  Block At(int64_t i) const {
    if (outer_ == Outer::kRows) {
      return {rows_.At(i / columns_.count()), columns_.At(i % columns_.count())};
    }
    return {rows_.At(i % rows_.count()), columns_.At(i / rows_.count())};
  }

 private:
  Side rows_, columns_;
  Outer outer_;
  int64_t length_;
};

// --- numbers -------------------------------------------------------------------------------------

// Uninitialized numbers for kernels, aligned to 64 bytes.

template <typename T>
class AlignedNumbers {
 public:
  explicit AlignedNumbers(int64_t count)
      : numbers_(
            static_cast<T*>(operator new(static_cast<size_t>(count) * sizeof(T), kAlignment))) {
    PreferHugePages(std::as_writable_bytes(std::span(data(), static_cast<size_t>(count))));
  }

  T* data() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* numbers) const { operator delete(numbers, kAlignment); }
  };

  std::unique_ptr<T, Free> numbers_;
};

}  // namespace dmlop
