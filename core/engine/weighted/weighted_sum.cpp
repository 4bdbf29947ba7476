#include "core/engine/weighted/weighted_sum.h"

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/engine/weighted/element_sum.h"
#include "core/engine/weighted/kernel_taps.h"
#include "core/engine/weighted/taps.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kBlockTaps = 1 << 13;  // about as many of a dimension are known at a time

// A row of the output: all but the last of the dimensions have one index.
struct Row {
  Dims begin;              // the index of the first element
  std::vector<Tap> outer;  // products of the taps of the other dimensions
  double whole;            // and of their wholes
};

Dims IndexAt(const Row& row, int64_t column) {
  Dims index = row.begin;
  index.back() += column;
  return index;
}

// Bits that are copied from the only tap.
template <typename Bits>
class CopiedRow {
 public:
  CopiedRow(const WeightedSource& source, std::span<const TapTable> tables)
      : from_(source.from.elements<Bits>()), inner_(tables.back()) {}

  void Run(const Row& row, int64_t stride, Bits* to) {
    const Bits* const from = from_ + row.outer.front().offset;
    for (int64_t i = 0; i < inner_.size(); ++i) to[i * stride] = from[inner_.At(i).front().offset];
  }

 private:
  const Bits* from_;
  const TapTable& inner_;
};

template <typename T>
constexpr bool kHasKernel = !std::is_integral_v<T> || sizeof(T) == 1;

template <typename T>
class SummedRow {
 public:
  SummedRow(const WeightedSource& source, std::span<const TapTable> tables)
      : source_(source), element_(source), inner_(tables.back()) {
    if constexpr (kHasKernel<T>) {
      if (source.rule == WeightedSource::kRound) kernel_taps_ = KernelTaps::Of(tables);
    }
  }

  void Run(const Row& row, int64_t stride, T* to) {
    if constexpr (kHasKernel<T>) {
      if (kernel_taps_ && !row.outer.empty()) return RunKernel(row, stride, to);
    }
    for (int64_t i = 0; i < inner_.size(); ++i) to[i * stride] = At(row, i);
  }

 private:
  T At(const Row& row, int64_t column) const {
    return element_.Sum(row.outer, inner_.At(column), [&] { return IndexAt(row, column); });
  }

  void RunKernel(const Row& row, int64_t stride, T* to) {
    outer_.clear();
    for (const Tap& tap : row.outer) outer_.push_back({tap.offset, tap.part});
    unresolved_.resize(static_cast<size_t>(inner_.size()));
    T* const results = stride == 1 ? to : Scratch();
    const WeightedRow<T> call = kernel_taps_->Row(source_.from.elements<T>(), outer_, row.whole);
    const bool has_unresolved = WeightedRowKernelFor<T>()(call, results, unresolved_.data());
    if (stride != 1) {
      for (int64_t i = 0; i < inner_.size(); ++i) to[i * stride] = results[i];
    }
    if (!has_unresolved) return;
    for (int64_t i = 0; i < inner_.size(); ++i) {
      if (std::exchange(unresolved_[static_cast<size_t>(i)], 0) != 0) to[i * stride] = At(row, i);
    }
  }

  T* Scratch() {
    results_.resize(static_cast<size_t>(inner_.size()));
    return results_.data();
  }

  const WeightedSource& source_;
  ElementSum<T> element_;
  const TapTable& inner_;
  std::optional<KernelTaps> kernel_taps_;
  std::vector<WeightedTap> outer_;
  std::vector<T> results_;
  std::vector<uint8_t> unresolved_;
};

// A part of the output that is short enough for the taps of all its indices to be at hand.
class Block {
 public:
  Block(const WeightedSource& source, const Dims& begin, const TensorView& part)
      : source_(source), begin_(begin), part_(part), rows_(part.layout) {
    for (size_t d = 0; d < begin.size(); ++d) {
      tables_.push_back(TableOf(source.axes[d], begin[d], begin[d] + part.layout.sizes[d]));
    }
    rows_.sizes.pop_back();
    rows_.strides.pop_back();
  }

  // RowWork computes rows of T.
  template <typename T, typename RowWork>
  void Run() const {
    const RowWork first_work(source_, tables_);
    ParallelFor(rows_.element_count(), Grain(), part_.element_bytes(),
                [&](int64_t first, int64_t last) {
                  RowWork work = first_work;
                  for (int64_t row = first; row < last; ++row) RunRow<T>(row, work);
                });
  }

 private:
  // By the taps that an element has.
  int64_t Grain() const {
    double taps = 8;
    for (const TapTable& table : tables_) {
      taps *= static_cast<double>(std::max<int64_t>(table.range.most_taps, 1));
    }
    return static_cast<int64_t>(static_cast<double>(kParallelElements) /
                                (taps * static_cast<double>(tables_.back().size()))) +
           1;
  }

  template <typename T, typename RowWork>
  void RunRow(int64_t number, RowWork& work) const {
    const Dims place = IndexOf(rows_.sizes, number);
    Row row{begin_, {{0, 1, {1, 0}, true}}, 1};
    for (size_t d = 0; d < place.size(); ++d) {
      row.begin[d] += place[d];
      row.whole *= tables_[d].wholes[static_cast<size_t>(place[d])];
      std::vector<Tap> products;
      for (const Tap& one : row.outer) {
        for (const Tap& other : tables_[d].At(place[d])) products.push_back(Both(one, other));
      }
      row.outer = std::move(products);
    }
    work.Run(row, part_.layout.strides.back(), part_.elements<T>() + OffsetOf(rows_, place));
  }

  const WeightedSource& source_;
  const Dims& begin_;
  const TensorView& part_;
  Layout rows_;  // without the last dimension
  std::vector<TapTable> tables_;
};

void SumBlock(const WeightedSource& source, const Dims& begin, const TensorView& part) {
  const Block block(source, begin, part);
  if (source.rule == WeightedSource::kCopy) {
    return VisitElementWidth(part.type,
                             [&]<typename Bits>() { block.Run<Bits, CopiedRow<Bits>>(); });
  }
  VisitDataType(Join<Floats, Integers64, Integers32, Integers16, Integers8>(), part.type,
                [&]<typename T>() { block.Run<T, SummedRow<T>>(); });
}
// How many indices of a dimension make a block, by what one of them has to do with.
int64_t BlockLength(const TapFunction& axis, int64_t begin, int64_t size) {
  if (size == 1) return 1;
  const size_t taps = std::max<size_t>(1, axis(begin + size / 2).offsets.size());
  return std::max<int64_t>(1, kBlockTaps / static_cast<int64_t>(taps));
}

}  // namespace

void SumTaps(const WeightedSource& source, const Dims& begin, const TensorView& part) {
  Dims lengths, blocks;
  for (size_t d = 0; d < begin.size(); ++d) {
    const int64_t size = part.layout.sizes[d];
    lengths.push_back(BlockLength(source.axes[d], begin[d], size));
    blocks.push_back((size + lengths[d] - 1) / lengths[d]);
  }
  for (int64_t i = 0; i < Product(blocks); ++i) {
    const Dims number = IndexOf(blocks, i);
    Dims block_begin = begin;
    TensorView block = part;
    for (size_t d = 0; d < number.size(); ++d) {
      const int64_t first = number[d] * lengths[d];
      block_begin[d] += first;
      block = block.Slice(d, first, std::min(lengths[d], part.layout.sizes[d] - first));
    }
    SumBlock(source, block_begin, block);
  }
}

}  // namespace dmlop
