#include "core/engine/matrix/matrix_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/doubtful_sums.h"
#include "core/exact/error_free.h"
#include "core/kernels/matrix/pack.h"
#include "core/kernels/matrix/product.h"
#include "core/kernels/matrix/round_tile.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Lines of both operands that stay in the second-level cache with their sums, kChainLength elements
// of them at a time.
constexpr int64_t kBlockRows = 128;
constexpr int64_t kBlockColumns = 192;
// Lines that are packed for all threads together.
constexpr int64_t kPackedBytes = 1 << 26;

constexpr int64_t kMaxRowWidth = 8;
constexpr int64_t kMaxTile = kMaxRowWidth * kMaxPanelWidth;

int64_t Panels(int64_t lines, int64_t width) {
  return (lines + width - 1) / width;
}

// What the sum of so many products may be off, relative to the product of the norms.
double RelativeError(int64_t length) {
  const double additions =
      static_cast<double>(std::min(kChainLength, length) - 1 + Panels(length, kChainLength));
  return additions * 0x1p-53 * (1 + 0x1p-20);
}

// Panels of both operands, and where their lines lie in the output.
struct BlockRange {
  IndexRange row_panels;
  IndexRange column_panels;
};

// The formula for the rows and columns that are packed. Threads compute blocks of it.
class PackedProduct {
 public:
  PackedProduct(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                const MatrixOutput& output, const PackedLines& packed_rows,
                const PackedLines& packed_columns)
      : rows_(rows),
        columns_(columns),
        terms_(terms),
        output_(output),
        packed_rows_(packed_rows),
        packed_columns_(packed_columns),
        kernels_(ProductKernelsNow()),
        round_(RoundingFunctionFor(output.type)),
        relative_error_(RelativeError(rows.length())),
        exact_below_(relative_error_ * 0x1p53 * (1 - 0x1p-30) * packed_rows.lowest_bit() *
                     packed_columns.lowest_bit()) {}

  // Blocks of panels, each as large as the cache has room for.
  void Run(const BlockRange& range) const {
    const int64_t row_step = std::max<int64_t>(1, kBlockRows / kernels_.row_width);
    const int64_t column_step = std::max<int64_t>(1, kBlockColumns / kernels_.column_width);
    const AlignedNumbers sums(row_step * column_step * kernels_.row_width * kernels_.column_width);
    const auto part = [](IndexRange whole, int64_t first, int64_t step) {
      return IndexRange{whole.begin + first, std::min(step, whole.count - first)};
    };
    for (int64_t c = 0; c < range.column_panels.count; c += column_step) {
      for (int64_t r = 0; r < range.row_panels.count; r += row_step) {
        RunBlock({part(range.row_panels, r, row_step), part(range.column_panels, c, column_step)},
                 sums.data());
      }
    }
  }

 private:
  // The offsets of one panel's lines in a tensor.
  using PanelOffsets = std::array<int64_t, kMaxPanelWidth>;

  IndexRange RowsOf(int64_t panel) const {
    return {packed_rows_.range().begin + panel * kernels_.row_width, packed_rows_.LinesIn(panel)};
  }
  IndexRange ColumnsOf(int64_t panel) const {
    return {packed_columns_.range().begin + panel * kernels_.column_width,
            packed_columns_.LinesIn(panel)};
  }

  void RunBlock(const BlockRange& block, double* sums) const {
    const int64_t tile = kernels_.row_width * kernels_.column_width;
    const int64_t tiles = block.row_panels.count * block.column_panels.count;
    std::fill_n(sums, tiles * tile, -0.0);
    for (int64_t k = 0; k < packed_rows_.length(); k += kChainLength) AddChains(block, k, sums);
    std::vector<MatrixPlace> doubts;
    const double* sum = sums;
    for (int64_t r = 0; r < block.row_panels.count; ++r) {
      for (int64_t c = 0; c < block.column_panels.count; ++c, sum += tile) {
        Finish(block.row_panels.begin + r, block.column_panels.begin + c, sum, doubts);
      }
    }
    if (!doubts.empty()) ComputeCarefully(rows_, columns_, terms_, output_, doubts);
  }

  void AddChains(const BlockRange& block, int64_t k, double* sums) const {
    const int64_t depth = std::min(kChainLength, packed_rows_.length() - k);
    const int64_t tile = kernels_.row_width * kernels_.column_width;
    for (int64_t r = 0; r < block.row_panels.count; ++r) {
      const int64_t row_panel = block.row_panels.begin + r;
      for (int64_t c = 0; c < block.column_panels.count; ++c, sums += tile) {
        kernels_.multiply(depth, packed_rows_.LinesIn(row_panel), packed_rows_.Panel(row_panel, k),
                          packed_columns_.Panel(block.column_panels.begin + c, k), sums);
      }
    }
  }

  // Rounds the sums of a tile and stores the results.
  void Finish(int64_t row_panel, int64_t column_panel, const double* sums,
              std::vector<MatrixPlace>& doubts) const {
    const IndexRange rows = RowsOf(row_panel);
    const IndexRange columns = ColumnsOf(column_panel);
    alignas(64) std::array<double, kMaxTile> addends;
    alignas(64) std::array<double, kMaxTile> addend_errors;
    AddAddends(rows, columns, addends.data(), addend_errors.data());
    alignas(64) std::array<std::byte, kMaxTile * sizeof(float)> results;
    const int64_t width = kernels_.column_width;
    const int64_t row_bytes = width * static_cast<int64_t>(ByteWidth(output_.type));
    for (int64_t r = 0; r < rows.count; ++r) {
      RoundingCall call{};
      call.sums = sums + r * width;
      call.row_error = packed_rows_.Norms(row_panel)[r] * relative_error_;
      call.column_norms = packed_columns_.Norms(column_panel);
      call.exact_below = exact_below_;
      call.factor = terms_.factor;
      call.addends = terms_.addends.empty() ? nullptr : addends.data() + r * width;
      call.addend_errors = terms_.addends.size() < 2 ? nullptr : addend_errors.data() + r * width;
      call.results = results.data() + r * row_bytes;
      for (uint32_t mask = round_(width, call); mask != 0; mask &= mask - 1) {
        const int64_t c = std::countr_zero(mask);
        if (c < columns.count) doubts.push_back({rows.begin + r, columns.begin + c});
      }
    }
    Store(rows, columns, results.data());
    for (uint32_t mask = packed_columns_.Absent(column_panel); mask != 0; mask &= mask - 1) {
      DoubtAbsent(rows, columns.begin, std::countr_zero(mask), results.data(), doubts);
    }
  }

  // The sums of the addends of a tile, and what they may be off.
  void AddAddends(IndexRange rows, IndexRange columns, double* sums, double* errors) const {
    const int64_t width = kernels_.column_width;
    const int64_t count = rows.count * width;
    for (size_t i = 0; i < terms_.addends.size(); ++i) {
      alignas(64) std::array<double, kMaxTile> terms;
      LoadAddend(terms_.addends[i], rows, columns, terms.data());
      if (i == 0) {
        std::copy_n(terms.data(), count, sums);
        std::fill_n(errors, count, 0.0);
        continue;
      }
      for (int64_t k = 0; k < count; ++k) {
        const HeadTail sum = TwoSum(sums[k], terms[static_cast<size_t>(k)]);
        sums[k] = sum.head;
        errors[k] += std::fabs(sum.tail);
      }
    }
  }

  void LoadAddend(const MatrixAddend& addend, IndexRange rows, IndexRange columns,
                  double* to) const {
    const int64_t width = kernels_.column_width;
    PanelOffsets row_offsets, column_offsets;
    FillOffsets(addend.at.rows, rows, row_offsets.data());
    FillOffsets(addend.at.columns, columns, column_offsets.data());
    if (addend.at.type == DataType::kFloat64) {
      std::fill_n(to, rows.count * width, 0.0);
      for (int64_t r = 0; r < rows.count; ++r) {
        for (int64_t c = 0; c < columns.count; ++c) {
          to[r * width + c] = reinterpret_cast<const double*>(
              addend.at.data)[row_offsets[static_cast<size_t>(r)] +
                              column_offsets[static_cast<size_t>(c)]];
        }
      }
    } else {
      PackFunctionFor(addend.at.type)({addend.at.data, column_offsets.data(), columns.count,
                                       row_offsets.data(), rows.count, width, to});
    }
    if (addend.factor == 1) return;
    for (int64_t k = 0; k < rows.count * width; ++k) to[k] *= addend.factor;
  }

  void Store(IndexRange rows, IndexRange columns, const std::byte* results) const {
    PanelOffsets row_offsets, column_offsets;
    FillOffsets(output_.rows, rows, row_offsets.data());
    FillOffsets(output_.columns, columns, column_offsets.data());
    VisitElementWidth(output_.type, [&]<typename Bits>() {
      const Bits* from = reinterpret_cast<const Bits*>(results);
      for (int64_t r = 0; r < rows.count; ++r, from += kernels_.column_width) {
        Bits* to = reinterpret_cast<Bits*>(output_.data) + row_offsets[static_cast<size_t>(r)];
        for (int64_t c = 0; c < columns.count; ++c) {
          to[column_offsets[static_cast<size_t>(c)]] = from[c];
        }
      }
    });
  }

  // Zeros in the place of absent elements may have made a NaN, or changed the sign of a zero.
  void DoubtAbsent(IndexRange rows, int64_t first_column, int64_t c, const std::byte* results,
                   std::vector<MatrixPlace>& doubts) const {
    VisitDataType(Floats(), output_.type, [&]<typename T>() {
      const T* result = reinterpret_cast<const T*>(results) + c;
      for (int64_t r = 0; r < rows.count; ++r, result += kernels_.column_width) {
        const double number = AsDouble(*result);
        if (number == 0 || number != number) doubts.push_back({rows.begin + r, first_column + c});
      }
    });
  }

  const MatrixLines& rows_;
  const MatrixLines& columns_;
  const MatrixTerms& terms_;
  const MatrixOutput& output_;
  const PackedLines& packed_rows_;
  const PackedLines& packed_columns_;
  const ProductKernels kernels_;
  RoundingFunction* const round_;
  double relative_error_;
  double exact_below_;
};

// Lines that are packed by a thread for itself: more of short ones.
int64_t BlockLines(PanelSide side, int64_t length) {
  const int64_t least = side == PanelSide::kRows ? kBlockRows : kBlockColumns;
  return least * std::clamp<int64_t>(kChainLength / length, 1, 16);
}

// Lines that are packed stay while those of the other operand pass by.
class StreamedProduct {
 public:
  StreamedProduct(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                  const MatrixOutput& output)
      : rows_(rows), columns_(columns), terms_(terms), output_(output) {}

  void Run() const {
    const PanelSide side =
        rows_.count() <= columns_.count() ? PanelSide::kRows : PanelSide::kColumns;
    const MatrixLines& lines = LinesOf(side);
    const int64_t line_bytes = lines.length() * static_cast<int64_t>(sizeof(double));
    const int64_t most = std::max(kPackedBytes / line_bytes, kBlockColumns);
    const int64_t chunks = Panels(lines.count(), most);
    const int64_t step = Panels(Panels(lines.count(), chunks), kMaxTile) * kMaxTile;
    for (int64_t first = 0; first < lines.count(); first += step) {
      const IndexRange range{first, std::min(step, lines.count() - first)};
      PassBy(side, PackedLines(lines, range, side));
    }
  }

  // All lines of the other side.
  void PassBy(PanelSide side, const PackedLines& staying) const {
    const PanelSide other = side == PanelSide::kRows ? PanelSide::kColumns : PanelSide::kRows;
    const MatrixLines& lines = LinesOf(other);
    const int64_t block = BlockLines(other, lines.length());
    if (lines.count() <= block) {
      const PackedLines passing(lines, {0, lines.count()}, other);
      const int64_t work = passing.range().count * passing.length() * staying.width();
      const int64_t grain = std::max<int64_t>(1, kParallelElements / work);
      ParallelFor(staying.panels(), grain, 0, [&](int64_t begin, int64_t end) {
        Multiply(side, staying, {begin, end - begin}, passing, {0, passing.panels()});
      });
      return;
    }
    const int64_t work = block * lines.length() * staying.range().count;
    const int64_t grain = std::max<int64_t>(1, kParallelElements / work);
    ParallelFor(Panels(lines.count(), block), grain, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * block;
        const PackedLines passing(lines, {first, std::min(block, lines.count() - first)}, other);
        Multiply(side, staying, {0, staying.panels()}, passing, {0, passing.panels()});
      }
    });
  }

 private:
  const MatrixLines& LinesOf(PanelSide side) const {
    return side == PanelSide::kRows ? rows_ : columns_;
  }

  void Multiply(PanelSide side, const PackedLines& staying, IndexRange staying_panels,
                const PackedLines& passing, IndexRange passing_panels) const {
    const bool rows_stay = side == PanelSide::kRows;
    const PackedProduct product(rows_, columns_, terms_, output_, rows_stay ? staying : passing,
                                rows_stay ? passing : staying);
    product.Run(
        {rows_stay ? staying_panels : passing_panels, rows_stay ? passing_panels : staying_panels});
  }

  const MatrixLines& rows_;
  const MatrixLines& columns_;
  const MatrixTerms& terms_;
  const MatrixOutput& output_;
};

}  // namespace

void MultiplyMatrices(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                      const MatrixOutput& output) {
  StreamedProduct(rows, columns, terms, output).Run();
}

void MultiplyMatrices(const MatrixLines& rows, const MatrixLines& columns,
                      const PackedLines& packed_columns, const MatrixTerms& terms,
                      const MatrixOutput& output) {
  StreamedProduct(rows, columns, terms, output).PassBy(PanelSide::kColumns, packed_columns);
}

}  // namespace dmlop
