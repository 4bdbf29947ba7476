// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/matrix_product.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/product_grid.h"
#include "core/engine/matrix/tile_results.h"
#include "core/engine/matrix/window_lines.h"
#include "core/kernels/matrix/product.h"

namespace dmlop {
namespace {

// Number of columns whose sums stay in the first-level cache: many if neighbours are read in place,
// fewer if windows have many taps, because the second-level cache must hold their rows, too.
constexpr int64_t kNeighbours = 22 * kMaxPanelWidth;
constexpr int64_t kLongLines = kMaxPanelWidth;
constexpr int64_t kMostInRows = 1 << 15;  // elements

// A bit for each of kNeighbours columns.
class LaneBits {
 public:
  void Set(Range lanes) {
    for (int64_t i = lanes.begin; i < lanes.end; i = NextWord(i)) {
      const int64_t end = std::min(lanes.end, NextWord(i));
      words_[static_cast<size_t>(i / kWord)] |= Ones(end - i) << i % kWord;
    }
  }

  // A mask of those in a short range that are not set.
  uint32_t Missing(Range lanes) const {
    const size_t word = static_cast<size_t>(lanes.begin / kWord);
    const int64_t shift = lanes.begin % kWord;
    uint64_t bits = words_[word] >> shift;
    if (shift > 0) bits |= words_[word + 1] << (kWord - shift);
    return static_cast<uint32_t>(~bits & Ones(lanes.count()));
  }

 private:
  static constexpr int64_t kWord = 64;

  static int64_t NextWord(int64_t lane) { return (lane / kWord + 1) * kWord; }
  static uint64_t Ones(int64_t count) { return ~uint64_t{0} >> (kWord - count); }

  std::array<uint64_t, kNeighbours / kWord + 2> words_{};
};

class ThinProduct {
 public:
  ThinProduct(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
              const MatrixOutput& output)
      : rows_(rows),
        columns_(columns),
        terms_(terms),
        output_(output),
        plain_(columns.AsPlain()),
        windows_(columns.AsWindows()),
        step_(StepOf()),
        // Enlarged because the magnitudes are rounded, too.
        relative_error_(RelativeErrorOf(Additions()) * (1 + 0x1p-20)),
        vector_(static_cast<size_t>(rows.length())) {
    rows.Extract(0, vector_.data());
    if (!plain_) SortByChannels();
  }

  void Run() const {
    const int64_t grain = std::max<int64_t>(1, kParallelElements / (step_ * rows_.length()));
    ParallelFor(CeilDiv(columns_.count(), step_), grain, 0, [&](int64_t begin, int64_t end) {
      TileResults results(rows_, columns_, terms_, output_);
      std::optional<WindowRows> rows;
      if (!plain_) rows.emplace(*windows_, step_, ChannelsAtOnce());
      for (int64_t i = begin; i < end; ++i) {
        RunPart({i * step_, std::min(step_, columns_.count() - i * step_)}, rows, results);
      }
      results.ResolveAll();
    });
  }

 private:
  using Numbers = std::array<double, kNeighbours + kMaxPanelWidth>;

  int64_t StepOf() const {
    if (plain_) return HasLongLines() ? kLongLines : kNeighbours;
    const int64_t columns = kMostInRows / std::min(rows_.length(), kChainLength);
    return std::clamp(columns / kMaxPanelWidth * kMaxPanelWidth, kMaxPanelWidth, kNeighbours);
  }

  // The additions of a sum that come one after another.
  int64_t Additions() const {
    if (plain_) return ChainedAdditions(rows_.length());
    const int64_t at_once = ChannelsAtOnce() * windows_->taps();
    return ChainedAdditions(at_once) +
           CeilDiv(rows_.length(), at_once) * CeilDiv(at_once, kChainLength);
  }

  // The channels of windows that are summed in one chain.
  int64_t ChannelsAtOnce() const {
    const int64_t channels = rows_.length() / windows_->taps();
    return std::clamp<int64_t>(kChainLength / windows_->taps(), 1, channels);
  }

  // Windows have the channels of a tap together, whereas rows have the taps of a channel.
  void SortByChannels() {
    const size_t taps = static_cast<size_t>(windows_->taps());
    const size_t channels = vector_.size() / taps;
    const std::vector<double> by_taps = vector_;
    for (size_t i = 0; i < vector_.size(); ++i) {
      vector_[i] = by_taps[i % taps * channels + i / taps];
    }
  }

  bool HasLongLines() const { return plain_ && plain_->inner_stride == 1; }

  void RunPart(IndexRange columns, std::optional<WindowRows>& rows, TileResults& results) const {
    alignas(64) Numbers sums;
    alignas(64) Numbers magnitudes;
    LaneBits present;
    if (rows) {
      present = MultiplyWindows(columns, *rows, sums, magnitudes);
    } else {
      present.Set({0, columns.count});
      std::fill(sums.begin(), sums.end(), -0.0);
      std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
      MultiplyPlain(columns, sums, magnitudes);
    }
    const int64_t width = ProductKernelsNow().column_width;
    for (int64_t c = 0; c < columns.count; c += width) {
      TileSums tile{};
      tile.rows = {0, 1};
      tile.columns = {columns.begin + c, std::min(width, columns.count - c)};
      tile.sums = sums.data() + c;
      tile.row_errors[0] = relative_error_;
      tile.column_norms = magnitudes.data() + c;
      tile.absent_columns = present.Missing({c, c + tile.columns.count});
      results.Finish(tile);
    }
  }

  void MultiplyPlain(IndexRange columns, Numbers& sums, Numbers& magnitudes) const {
    if (HasLongLines()) return Add(columns, {0, rows_.length()}, sums, magnitudes);
    for (int64_t k = 0; k < rows_.length(); k += kChainLength) {
      AddChains(columns, {k, std::min(kChainLength, rows_.length() - k)}, sums, magnitudes);
    }
  }

  void AddChains(IndexRange columns, IndexRange elements, Numbers& sums,
                 Numbers& magnitudes) const {
    alignas(64) Numbers chains;
    alignas(64) Numbers chain_magnitudes;
    std::fill_n(chains.begin(), columns.count, -0.0);
    std::fill_n(chain_magnitudes.begin(), columns.count, 0.0);
    Add(columns, elements, chains, chain_magnitudes);
    for (size_t i = 0; i < static_cast<size_t>(columns.count); ++i) {
      sums[i] += chains[i];
      magnitudes[i] += chain_magnitudes[i];
    }
  }

  void Add(IndexRange columns, IndexRange elements, Numbers& sums, Numbers& magnitudes) const {
    const int64_t offset =
        columns.begin * plain_->line_stride + elements.begin * plain_->inner_stride;
    ThinFunctionFor(plain_->type)(
        {plain_->data + offset * static_cast<int64_t>(ByteWidth(plain_->type)), columns.count,
         plain_->line_stride, elements.count, plain_->inner_stride, vector_.data() + elements.begin,
         sums.data(), magnitudes.data()});
  }

  // Returns which columns have all elements.
  LaneBits MultiplyWindows(IndexRange columns, WindowRows& rows, Numbers& sums,
                           Numbers& magnitudes) const {
    LaneBits present;
    const int64_t taps = windows_->taps();
    const int64_t channels = rows_.length() / taps;
    const int64_t at_once = ChannelsAtOnce();
    for (int64_t c = 0; c < channels; c += at_once) {
      const IndexRange some{c, std::min(at_once, channels - c)};
      const int64_t count = some.count * taps;
      rows.ForEachRun(columns, some, [&](const WindowRows::Run& run) {
        for (int64_t k = 0; k < count; k += kChainLength) {
          MultiplyRun(run, c * taps + k, {k, std::min(kChainLength, count - k)}, sums, magnitudes);
        }
        if (c == 0) present.Set({run.lane + run.inside.begin, run.lane + run.inside.end});
      });
    }
    std::fill_n(sums.begin() + columns.count, kMaxPanelWidth, 0.0);
    std::fill_n(magnitudes.begin() + columns.count, kMaxPanelWidth, 0.0);
    return present;
  }

  // The first chain sets the sums, and those of some columns behind the run, which come later.
  void MultiplyRun(const WindowRows::Run& run, int64_t number, IndexRange elements, Numbers& sums,
                   Numbers& magnitudes) const {
    const auto multiply = [&](double* to, double* magnitudes_to) {
      RowsFunctionNow()(run.limit, elements.count, run.rows + elements.begin,
                        vector_.data() + number, to, magnitudes_to);
    };
    double* const to = sums.data() + run.lane;
    double* const magnitudes_to = magnitudes.data() + run.lane;
    if (number == 0) {
      multiply(to, magnitudes_to);
      std::fill(to + run.limit, to + run.count, 0.0);
      std::fill(magnitudes_to + run.limit, magnitudes_to + run.count, 0.0);
      return;
    }
    alignas(64) Numbers chains;
    alignas(64) Numbers chain_magnitudes;
    multiply(chains.data(), chain_magnitudes.data());
    for (size_t i = 0; i < static_cast<size_t>(run.limit); ++i) {
      to[i] += chains[i];
      magnitudes_to[i] += chain_magnitudes[i];
    }
  }

  const MatrixLines& rows_;
  const MatrixLines& columns_;
  const MatrixTerms& terms_;
  const MatrixOutput& output_;
  std::optional<PlainLines> plain_;
  const WindowLines* windows_;  // unless lines are plain
  int64_t step_;                // columns computed at a time
  double relative_error_;
  std::vector<double> vector_;
};

}  // namespace

bool IsThin(const MatrixLines& rows, const MatrixLines& columns) {
  if (rows.count() > 1 || rows.HasAbsent(0)) return false;
  if (columns.AsWindows() != nullptr) return true;
  const std::optional<PlainLines> plain = columns.AsPlain();
  return plain && (plain->line_stride == 1 || plain->inner_stride == 1);
}

void MultiplyThin(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                  const MatrixOutput& output) {
  ThinProduct(rows, columns, terms, output).Run();
}

}  // namespace dmlop
