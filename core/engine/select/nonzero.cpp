// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/select/select.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kBlock = 1 << 13;  // elements that are counted together
constexpr int64_t kMaxRun = 256;     // elements that are tested before any is written

// Bits is the unsigned integer with the width of an element.
template <typename Bits>
class NonzeroSearch {
 public:
  NonzeroSearch(const ConstTensorView& input, const TensorView& coordinates)
      : input_(input),
        nest_{input.layout.sizes, {input.layout.strides}},
        step_(input.layout.strides.back()),
        magnitude_(IsFloat(input.type) ? kAll / 2 : kAll),
        coordinates_(coordinates) {}

  // Returns the number of nonzero elements.
  int64_t Run() const {
    const int64_t elements = input_.layout.element_count();
    const int64_t blocks = (elements + kBlock - 1) / kBlock;
    const auto end_of = [&](int64_t block) { return std::min(elements, (block + 1) * kBlock); };
    std::vector<int64_t> rows(static_cast<size_t>(blocks) + 1);  // counts before each block
    ParallelFor(blocks, 1, input_.element_bytes(), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        rows[static_cast<size_t>(block) + 1] = Count(block * kBlock, end_of(block));
      }
    });
    for (size_t block = 1; block < rows.size(); ++block) rows[block] += rows[block - 1];
    ParallelFor(blocks, 1, input_.element_bytes(), [&](int64_t begin, int64_t end) {
      Write(begin * kBlock, end_of(end - 1), rows[static_cast<size_t>(begin)]);
    });
    return rows.back();
  }

 private:
  // Calls visit(elements, count, index) for runs along the last dimension; `index` is their first.
  template <typename Visit>
  void ForEachRun(int64_t begin, int64_t end, Visit&& visit) const {
    const int64_t length = nest_.sizes.back();
    const LoopNest<1> outer = Without(nest_, nest_.rank() - 1);
    Walk<1> walk(outer, begin / length);
    Dims index = IndexOf(nest_.sizes, begin);
    for (int64_t k = begin; k < end;) {
      const int64_t count = std::min({length - index.back(), end - k, kMaxRun});
      visit(input_.elements<Bits>() + walk.offset(0) + index.back() * step_, count, index);
      k += count;
      index.back() += count;
      if (index.back() < length) continue;
      index.back() = length - 1;
      Advance(nest_.sizes, index);
      walk.Next();
    }
  }

  bool IsNonzero(Bits element) const { return (element & magnitude_) != 0; }

  int64_t Count(int64_t begin, int64_t end) const {
    int64_t total = 0;
    ForEachRun(begin, end, [&](const Bits* run, int64_t count, const Dims&) {
      for (int64_t i = 0; i < count; ++i) total += IsNonzero(run[i * step_]) ? 1 : 0;
    });
    return total;
  }

  // Finds the nonzero elements of a run without branches, which would be unpredictable.
  void Write(int64_t begin, int64_t end, int64_t row) const {
    std::array<int64_t, kMaxRun> found;
    ForEachRun(begin, end, [&](const Bits* run, int64_t count, const Dims& first) {
      size_t nonzero = 0;
      for (int64_t i = 0; i < count; ++i) {
        found[nonzero] = i;
        nonzero += IsNonzero(run[i * step_]) ? 1 : 0;
      }
      Dims index = first;
      for (size_t i = 0; i < nonzero; ++i) {
        index.back() = first.back() + found[i];
        WriteRow(row++, index);
      }
    });
  }

  void WriteRow(int64_t row, const Dims& index) const {
    const Layout& layout = coordinates_.layout;
    const size_t rank = layout.rank();
    const size_t columns = static_cast<size_t>(layout.sizes[rank - 1]);
    const size_t first = index.size() - columns;
    uint32_t* const to = coordinates_.elements<uint32_t>() + row * layout.strides[rank - 2];
    for (size_t c = 0; c < columns; ++c) {
      to[static_cast<int64_t>(c) * layout.strides[rank - 1]] =
          static_cast<uint32_t>(index[first + c]);
    }
  }

  static constexpr Bits kAll = std::numeric_limits<Bits>::max();

  ConstTensorView input_;
  LoopNest<1> nest_;
  int64_t step_;
  Bits magnitude_;  // masks the sign of a float
  TensorView coordinates_;
};

}  // namespace

void FindNonzero(const ConstTensorView& input, const TensorView& count,
                 const TensorView& coordinates) {
  VisitElementWidth(input.type, [&]<typename Bits>() {
    const int64_t found = NonzeroSearch<Bits>(input, coordinates).Run();
    *count.elements<uint32_t>() = static_cast<uint32_t>(found);
    const size_t rows = coordinates.layout.rank() - 2;
    const int64_t left = coordinates.layout.sizes[rows] - found;
    if (left > 0) FillView(ElementBytes{}, coordinates.Slice(rows, found, left));
  });
}

}  // namespace dmlop
