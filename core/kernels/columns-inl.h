// Tiles of columns a few rows at a time, for kernel sources: included once for each instruction
// set, hence the unusual guard.
#if defined(DMLOP_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_COLUMNS_INL_H_
#undef DMLOP_KERNELS_COLUMNS_INL_H_
#else
#define DMLOP_KERNELS_COLUMNS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Rows are worked on in blocks, which are read as a few streams: the first rows of each are taken
// together, then the second ones, and so on. Where rows are contiguous, a stream runs through
// memory without a jump, however short they are, and the streams are far apart, so that the
// processor tells them from each other and reads ahead in each. There are no more of them than a
// cache has room for lines whose addresses end alike.
constexpr int64_t kStreams = 8;
constexpr int64_t kRowsOfStream = 8;

// It reads so many streams ahead too late, so each asks for what it needs next.
constexpr int64_t kStreamBytesAhead = 1 << 8;

// Rows that are taken together: `count` of them, at most kStreams, `stride` elements apart. Their
// numbers begin at `number` and are `step` apart.
template <typename T>
struct FewRows {
  const T* first;
  int64_t count;
  int64_t stride;
  int64_t number;
  int64_t step;

  // The same rows from column c on.
  HWY_INLINE FewRows From(int64_t c) const { return {first + c, count, stride, number, step}; }

  // Asks for what comes after `width` of these columns.
  HWY_INLINE void Prefetch(int64_t width) const {
    constexpr int64_t kSize = static_cast<int64_t>(sizeof(T));
    for (int64_t row = 0; row < count; ++row) {
      const T* next = first + row * stride + kStreamBytesAhead / kSize;
      for (int64_t k = 0; k < width; k += 64 / kSize) hwy::Prefetch(next + k);
    }
  }
};

// Which part of a block some rows are. A block that is taken at once is its own last part.
enum class BlockPart { kFirst, kMiddle, kLast, kWhole };

// Calls body(rows, part) for all rows, a few at a time. The last ones come last.
template <typename T, typename Body>
HWY_INLINE void ForEachFewRows(const T* x, int64_t rows, int64_t row_stride, Body&& body) {
  for (int64_t row = 0; row < rows;) {
    const T* first = x + row * row_stride;
    const int64_t turns = std::min(kRowsOfStream, (rows - row) / kStreams);
    for (int64_t turn = 0; turn < turns; ++turn) {
      const BlockPart part = turns == 1         ? BlockPart::kWhole
                             : turn == 0        ? BlockPart::kFirst
                             : turn < turns - 1 ? BlockPart::kMiddle
                                                : BlockPart::kLast;
      body(FewRows<T>{first + turn * row_stride, kStreams, turns * row_stride, row + turn, turns},
           part);
    }
    if (turns == 0) body(FewRows<T>{first, rows - row, row_stride, row, 1}, BlockPart::kWhole);
    row += turns == 0 ? rows - row : turns * kStreams;
  }
}

// Calls vector(rows, c) for `lanes` columns from c on, and single(rows, c) for each of the columns
// that are left over; rows are a few, and begin at column c.
template <typename T, typename Vector, typename Single>
HWY_INLINE void ForEachColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                               int64_t lanes, Vector&& vector, Single&& single) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    int64_t c = 0;
    for (; c + kLine <= columns; c += kLine) {
      few.From(c).Prefetch(kLine);
      for (int64_t k = c; k < c + kLine; k += lanes) vector(few.From(k), k);
    }
    for (; c + lanes <= columns; c += lanes) vector(few.From(c), c);
    for (; c < columns; ++c) single(few.From(c), c);
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
