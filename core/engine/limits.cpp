// SPDX-License-Identifier: Apache-2.0
#include "core/engine/limits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/kernels/copy/stream.h"
#include "core/kernels/reduce/integer_fold.h"
#include "core/kernels/simd/multiply_adds.h"

namespace dmlop {
namespace {

constexpr int64_t kChunk = 1 << 16;
constexpr int64_t kRow = kPageBytes;

// Calls body(begin, size) on parts that together cover `bytes` bytes.
template <typename Body>
void ForParts(size_t bytes, Body&& body) {
  const int64_t size = static_cast<int64_t>(bytes);
  ParallelFor(CeilDiv(size, kChunk), kParallelBytes / kChunk, size,
              [&](int64_t begin, int64_t end) {
                body(begin * kChunk, std::min(end * kChunk, size) - begin * kChunk);
              });
}

// The bytes are not zero: some memory handles zeros faster than anything else.
constexpr std::array<std::byte, kRow> FilledRow() {
  std::array<std::byte, kRow> row{};
  row.fill(std::byte{0x5A});
  return row;
}

alignas(64) constexpr std::array<std::byte, kRow> kSource = FilledRow();

}  // namespace

std::string_view Name(Limit limit) {
  constexpr std::string_view kNames[] = {"copy", "read", "write", "arithmetic"};
  return kNames[static_cast<size_t>(limit)];
}

void CopyBytes(std::span<std::byte> to, std::span<const std::byte> from, WritePath path) {
  ForParts(to.size(), [&](int64_t begin, int64_t size) {
    if (path == WritePath::kCached) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(size));
    } else {
      StreamRowsForIsa()(1, size, to.data() + begin, size, from.data() + begin, size);
      FlushStreams();
    }
  });
}

void WriteBytes(std::span<std::byte> to, WritePath path) {
  ForParts(to.size(), [&](int64_t begin, int64_t size) {
    std::byte* part = to.data() + begin;
    if (path == WritePath::kCached) {
      std::memset(part, 0x5A, static_cast<size_t>(size));
      return;
    }
    const StreamRowsFunction stream = StreamRowsForIsa();
    const int64_t rows = size / kRow;
    stream(rows, kRow, part, kRow, kSource.data(), 0);
    stream(1, size % kRow, part + rows * kRow, kRow, kSource.data(), 0);
    FlushStreams();
  });
}

void ReadBytes(std::span<const std::byte> from, ReadPath path) {
  const auto add_up = IntegerFoldKernelsFor<uint64_t>(IntegerFold::kSum);
  std::atomic<uint64_t> total = 0;  // atomic, so that the compiler cannot drop the reading
  ForParts(from.size(), [&](int64_t begin, int64_t size) {
    const uint64_t* x = reinterpret_cast<const uint64_t*>(from.data() + begin);
    uint64_t sum = 0;
    if (path == ReadPath::kOneStream) {
      // Rows are short because a longer one may be read at several places in turn.
      for (int64_t i = 0; i < size / 8; i += kRow / 8) {
        add_up.fold_row(x + i, std::min(size / 8 - i, kRow / 8), &sum);
      }
    } else {
      add_up.fold_row(x, size / 8, &sum);
    }
    total.fetch_add(sum, std::memory_order_relaxed);
  });
}

void MultiplyAdd(int64_t count) {
  constexpr int64_t kGrain = 1 << 16;
  const MultiplyAddsFunction multiply_add = MultiplyAddsForIsa();
  std::atomic<bool> is_number = true;  // keeps the compiler from dropping the work
  ParallelFor(count, kGrain, 0, [&](int64_t begin, int64_t end) {
    if (multiply_add(end - begin) != 0) return;
    is_number.store(false, std::memory_order_relaxed);
  });
}

}  // namespace dmlop
