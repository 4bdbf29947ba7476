// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/matrix_product.h"

#include <algorithm>
#include <utility>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/product_grid.h"
#include "core/engine/matrix/tile_results.h"
#include "core/kernels/matrix/product.h"

namespace dmlop {
namespace {

// Number of lines of either operand whose elements, kChainLength of each at a time, stay in the
// second-level cache with their sums.
constexpr int64_t kBlockRows = 128;
constexpr int64_t kBlockColumns = 192;
// So many blocks for each thread are enough if it packs them for itself. One is if few lines stay,
// because packing all others in memory takes nearly as long as their product.
constexpr int64_t kLeastBlocksPerThread = ProductGrid::kBlocksPerThread / 2;
// Size of the lines that are packed for all threads together.
constexpr int64_t kPackedBytes = 1 << 26;

// Number of lines that a thread packs for itself; more if they are short.
int64_t BlockLines(PanelSide side, int64_t length) {
  const int64_t least = side == PanelSide::kRows ? kBlockRows : kBlockColumns;
  return least * std::clamp<int64_t>(kChainLength / length, 1, 16);
}

// Blocks that fit in the cache; those of the passing side are its outer ones.
ProductGrid GridOf(const PackedLines& rows, const PackedLines& columns, PanelSide passing) {
  return ProductGrid(
      {rows.panels(), rows.width(), kBlockRows}, {columns.panels(), columns.width(), kBlockColumns},
      passing == PanelSide::kRows ? ProductGrid::Outer::kRows : ProductGrid::Outer::kColumns,
      rows.length());
}

// The state of a thread. The sums of a block await their next chains.
struct Workspace {
  Workspace(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
            const MatrixOutput& output)
      : sums(rows.length() > kChainLength ? kBlockRows * kBlockColumns : kMaxTile),
        results(rows, columns, terms, output) {}

  AlignedNumbers<double> sums;
  TileResults results;
};

// Evaluates the formula for packed rows and columns.
class PackedProduct {
 public:
  PackedProduct(const PackedLines& rows, const PackedLines& columns, Workspace& workspace)
      : rows_(rows),
        columns_(columns),
        workspace_(workspace),
        kernels_(ProductKernelsNow()),
        tile_(kernels_.row_width * kernels_.column_width),
        exact_below_(kRelativeError * 0x1p53 * (1 - 0x1p-30) * rows.lowest_bit() *
                     columns.lowest_bit()) {}

  // Rounds the sums of a tile while they are in the first-level cache.
  void Run(const ProductGrid::Block& block) const {
    for (int64_t k = 0; k < rows_.length(); k += kChainLength) {
      const IndexRange chain{k, std::min(kChainLength, rows_.length() - k)};
      double* sums = workspace_.sums.data();
      for (int64_t c = block.columns.begin; c < block.columns.end; ++c) {
        const double* next = NextColumns(block, chain, c);
        for (int64_t r = block.rows.begin; r < block.rows.end; ++r) {
          AddChain(chain, r, c, sums, PartOf(next, chain, r - block.rows.begin));
          if (rows_.length() > kChainLength) sums += tile_;
        }
      }
    }
  }

 private:
  static constexpr double kRelativeError = RelativeErrorOf(1);

  // The columns that are multiplied after those of a panel.
  const double* NextColumns(const ProductGrid::Block& block, IndexRange chain,
                            int64_t panel) const {
    if (panel + 1 < block.columns.end) return columns_.Panel(panel + 1, chain.begin);
    const int64_t next = chain.begin + chain.count;
    return columns_.Panel(block.columns.begin, next < rows_.length() ? next : 0);
  }

  // The part of the next columns that a tile prefetches, as many cache lines as a chain is long.
  const double* PartOf(const double* next, IndexRange chain, int64_t number) const {
    constexpr int64_t kNumbers = kLineBytes / sizeof(double);
    return number * kNumbers < kernels_.column_width ? next + number * chain.count * kNumbers
                                                     : next;
  }

  void AddChain(IndexRange chain, int64_t row_panel, int64_t column_panel, double* sums,
                const double* next) const {
    const auto multiply = chain.begin == 0 ? kernels_.begin_sums : kernels_.add_to_sums;
    multiply(chain.count, rows_.LinesIn(row_panel), columns_.LinesIn(column_panel),
             rows_.Panel(row_panel, chain.begin), columns_.Panel(column_panel, chain.begin), sums,
             next);
    const bool is_last = chain.begin + chain.count == rows_.length();
    if (is_last) Finish(row_panel, column_panel, sums);
  }

  void Finish(int64_t row_panel, int64_t column_panel, const double* sums) const {
    TileSums tile{};
    tile.rows = rows_.LinesOf(row_panel);
    tile.columns = columns_.LinesOf(column_panel);
    tile.sums = sums;
    const double* norms = rows_.ErrorNorms(row_panel);
    for (size_t r = 0; r < static_cast<size_t>(kernels_.row_width); ++r) {
      tile.row_errors[r] = norms[r] * kRelativeError;
    }
    tile.column_norms = columns_.ErrorNorms(column_panel);
    tile.exact_below = exact_below_;
    tile.absent_columns = columns_.Absent(column_panel);
    workspace_.results.Finish(tile);
  }

  const PackedLines& rows_;
  const PackedLines& columns_;
  Workspace& workspace_;
  ProductKernels kernels_;
  int64_t tile_;
  double exact_below_;
};

// Packs lines of one operand, which stay while those of the other operand pass by.
class StreamedProduct {
 public:
  StreamedProduct(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                  const MatrixOutput& output)
      : rows_(rows), columns_(columns), terms_(terms), output_(output) {}

  void Run() const {
    const PanelSide side =
        rows_.count() <= columns_.count() ? PanelSide::kRows : PanelSide::kColumns;
    const MatrixLines& lines = LinesOf(side);
    const int64_t chunks = CeilDiv(lines.count(), MostPacked(lines));
    // Every chunk has whole panels, whatever their width.
    const int64_t step = RoundUp(CeilDiv(lines.count(), chunks), kMaxTile);
    for (int64_t first = 0; first < lines.count(); first += step) {
      const IndexRange range{first, std::min(step, lines.count() - first)};
      PassBy(side, PackedLines(lines, range, side));
    }
  }

  // Passes all lines of the other side by the staying ones. Each thread packs blocks of them for
  // itself if there are enough for all; otherwise threads pack them together and share the product.
  void PassBy(PanelSide side, const PackedLines& staying) const {
    const PanelSide other = side == PanelSide::kRows ? PanelSide::kColumns : PanelSide::kRows;
    const MatrixLines& lines = LinesOf(other);
    const int64_t threads = ThreadsAtHand();
    const int64_t block = PassingLines(other, lines, staying);
    const int64_t blocks = CeilDiv(lines.count(), block);
    const int64_t least = FewStay(staying) ? 1 : kLeastBlocksPerThread;
    if (blocks > 1 && (threads == 1 || blocks >= least * threads)) {
      return PassBlocks(other, block, staying);
    }
    const int64_t most = RoundUp(MostPacked(lines), kMaxTile);
    for (int64_t first = 0; first < lines.count(); first += most) {
      PassTogether(staying,
                   PackedLines(lines, {first, std::min(most, lines.count() - first)}, other),
                   other);
    }
  }

 private:
  const MatrixLines& LinesOf(PanelSide side) const {
    return side == PanelSide::kRows ? rows_ : columns_;
  }

  static int64_t MostPacked(const MatrixLines& lines) {
    const int64_t line_bytes = lines.length() * static_cast<int64_t>(sizeof(double));
    return std::max(kPackedBytes / line_bytes, kBlockColumns);
  }

  // The least number of pieces for a thread; a piece has `products` products.
  static int64_t GrainOf(int64_t products) {
    return std::max<int64_t>(1, kParallelElements / products);
  }

  static bool FewStay(const PackedLines& staying) { return staying.range().count <= kBlockRows; }

  // Lines of the passing side that a thread packs at a time. By few staying lines, which are in the
  // cache anyway, shorter blocks pass as fast, unless they do not fill a panel.
  static int64_t PassingLines(PanelSide side, const MatrixLines& lines,
                              const PackedLines& staying) {
    const int64_t threads = ThreadsAtHand();
    const int64_t products = lines.length() * staying.range().count;
    const ProductKernels kernels = ProductKernelsNow();
    const int64_t panel = side == PanelSide::kRows ? kernels.row_width : kernels.column_width;
    int64_t block = BlockLines(side, lines.length());
    if (threads == 1 || !FewStay(staying)) return block;
    while (CeilDiv(lines.count(), block) < ProductGrid::kBlocksPerThread * threads &&
           block % (2 * panel) == 0 && block * products / 2 > ProductGrid::kLeastProducts) {
      block /= 2;
    }
    return block;
  }

  void PassBlocks(PanelSide side, int64_t block, const PackedLines& staying) const {
    const MatrixLines& lines = LinesOf(side);
    const int64_t grain = GrainOf(block * lines.length() * staying.range().count);
    ParallelFor(CeilDiv(lines.count(), block), grain, 0, [&](int64_t begin, int64_t end) {
      const auto range = [&](int64_t i) {
        return IndexRange{i * block, std::min(block, lines.count() - i * block)};
      };
      Workspace workspace(rows_, columns_, terms_, output_);
      PackedLines passing(lines, range(begin), side);
      for (int64_t i = begin; i < end; ++i) {
        if (i > begin) passing.Pack(range(i));
        Multiply(staying, passing, side, workspace);
      }
      workspace.results.ResolveAll();
    });
  }

  // The operands of either pass.
  struct Operands {
    const PackedLines& rows;
    const PackedLines& columns;
  };

  static Operands InOrder(const PackedLines& staying, const PackedLines& passing, PanelSide side) {
    if (side == PanelSide::kRows) return {passing, staying};
    return {staying, passing};
  }

  void PassTogether(const PackedLines& staying, const PackedLines& passing, PanelSide side) const {
    const Operands packed = InOrder(staying, passing, side);
    const ProductGrid grid = GridOf(packed.rows, packed.columns, side);
    ParallelFor(grid.count(), GrainOf(grid.products()), 0, [&](int64_t begin, int64_t end) {
      Workspace workspace(rows_, columns_, terms_, output_);
      const PackedProduct product(packed.rows, packed.columns, workspace);
      for (int64_t i = begin; i < end; ++i) product.Run(grid.At(i));
      workspace.results.ResolveAll();
    });
  }

  static void Multiply(const PackedLines& staying, const PackedLines& passing, PanelSide side,
                       Workspace& workspace) {
    const Operands packed = InOrder(staying, passing, side);
    const ProductGrid grid = GridOf(packed.rows, packed.columns, side);
    const PackedProduct product(packed.rows, packed.columns, workspace);
    for (int64_t i = 0; i < grid.count(); ++i) product.Run(grid.At(i));
  }

  const MatrixLines& rows_;
  const MatrixLines& columns_;
  const MatrixTerms& terms_;
  const MatrixOutput& output_;
};

template <typename Places>
Places Transposed(Places places) {
  std::swap(places.rows, places.columns);
  return places;
}

MatrixTerms Transposed(MatrixTerms terms) {
  for (MatrixAddend& addend : terms.addends) addend.at = Transposed(addend.at);
  return terms;
}

}  // namespace

void MultiplyMatrices(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                      const MatrixOutput& output) {
  if (IsThin(rows, columns)) return MultiplyThin(rows, columns, terms, output);
  if (IsThin(columns, rows)) {
    return MultiplyThin(columns, rows, Transposed(terms), Transposed(output));
  }
  StreamedProduct(rows, columns, terms, output).Run();
}

void MultiplyMatrices(const MatrixLines& rows, const MatrixLines& columns,
                      const PackedLines& packed_columns, const MatrixTerms& terms,
                      const MatrixOutput& output) {
  StreamedProduct(rows, columns, terms, output).PassBy(PanelSide::kColumns, packed_columns);
}

}  // namespace dmlop
