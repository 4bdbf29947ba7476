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

// Rows often begin at the same offset from a page, where a cache has room for a dozen lines.
constexpr int64_t kRowsAtATime = 8;

// Calls vectors(x, rows, c, width) for `width` columns from c on, whole vectors of `lanes`, and at
// most kRowsAtATime rows, and single(x, rows, c) for each of the columns that are left over. The
// rows that come next are asked for meanwhile: a row of a tile is too short for the processor to
// foresee it. They are asked for when the same columns of these rows are done with and can make
// room.
template <typename T, typename Vectors, typename Single>
HWY_INLINE void ForEachLine(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                            int64_t lanes, Vectors&& vectors, Single&& single) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t row = 0; row < rows; row += kRowsAtATime) {
    const int64_t count = std::min(kRowsAtATime, rows - row);
    const int64_t ahead_end = std::min(row + 2 * kRowsAtATime, rows);
    const T* first = x + row * row_stride;
    int64_t c = 0;
    for (; c + kLine <= columns; c += kLine) {
      vectors(first + c, count, c, kLine);
      for (int64_t r = row + count; r < ahead_end; ++r) hwy::Prefetch(x + r * row_stride + c);
    }
    for (; c + lanes <= columns; c += lanes) vectors(first + c, count, c, lanes);
    for (; c < columns; ++c) single(first + c, count, c);
  }
}

// The same with vector(x, rows, c) for one vector of columns at a time.
template <typename T, typename Vector, typename Single>
HWY_INLINE void ForEachColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                               int64_t lanes, Vector&& vector, Single&& single) {
  const auto vectors = [&](const T* from, int64_t count, int64_t c, int64_t width) HWY_ATTR {
    for (int64_t k = 0; k < width; k += lanes) vector(from + k, count, c + k);
  };
  ForEachLine(x, rows, row_stride, columns, lanes, vectors, single);
}

// Rows are worked on in blocks, which are read as a few streams: the first rows of each are taken
// together, then the second ones, and so on. Where rows are contiguous, a stream runs through
// memory without a jump, however short they are, and the streams are far apart, so that the
// processor tells them from each other and reads ahead in each.
constexpr int64_t kStreams = 8;
constexpr int64_t kRowsOfStream = 8;

// Rows that are taken together: `count` of them, at most kStreams, `stride` elements apart.
template <typename T>
struct FewRows {
  const T* first;
  int64_t count;
  int64_t stride;
};

// Which part of a block some rows are. A block that is taken at once is its own last part.
enum class BlockPart { kFirst, kMiddle, kLast, kWhole };

// Calls body(rows, part) for all rows, a few at a time.
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
      body(FewRows<T>{first + turn * row_stride, kStreams, turns * row_stride}, part);
    }
    if (turns == 0) body(FewRows<T>{first, rows - row, row_stride}, BlockPart::kWhole);
    row += turns == 0 ? rows - row : turns * kStreams;
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
