#include "core/engine/select/nonzero.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/copy/fill.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kBlock = 1 << 13;  // elements that are counted together

// Bits is the unsigned integer as wide as an element.
template <typename Bits>
class NonzeroSearch {
 public:
  NonzeroSearch(const ConstTensorView& input, const TensorView& coordinates)
      : input_(input),
        nest_{input.layout.sizes, {input.layout.strides}},
        magnitude_(IsFloat(input.type) ? kAll / 2 : kAll),
        coordinates_(coordinates) {}

  // Returns how many there are.
  int64_t Run() const {
    const int64_t elements = input_.layout.element_count();
    const int64_t blocks = (elements + kBlock - 1) / kBlock;
    const auto end_of = [&](int64_t block) { return std::min(elements, (block + 1) * kBlock); };
    std::vector<int64_t> rows(static_cast<size_t>(blocks) + 1);  // before each block
    ParallelFor(blocks, 1, input_.element_bytes(), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        int64_t& count = rows[static_cast<size_t>(block) + 1];
        ForEachNonzero(block * kBlock, end_of(block), [&](const Dims&) { ++count; });
      }
    });
    for (size_t block = 1; block < rows.size(); ++block) rows[block] += rows[block - 1];
    ParallelFor(blocks, 1, input_.element_bytes(), [&](int64_t begin, int64_t end) {
      int64_t row = rows[static_cast<size_t>(begin)];
      ForEachNonzero(begin * kBlock, end_of(end - 1),
                     [&](const Dims& index) { WriteRow(row++, index); });
    });
    return rows.back();
  }

 private:
  template <typename Visit>
  void ForEachNonzero(int64_t begin, int64_t end, Visit&& visit) const {
    const Bits* const elements = input_.elements<Bits>();
    Walk<1> walk(nest_, begin);
    Dims index = IndexOf(nest_.sizes, begin);
    for (int64_t k = begin; k < end; ++k, walk.Next(), Advance(nest_.sizes, index)) {
      if ((elements[walk.offset(0)] & magnitude_) != 0) visit(index);
    }
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
  Bits magnitude_;  // without the sign of a float
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
