// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weighted/weighted_sum.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/copy/row_group.h"
#include "core/engine/weighted/element_sum.h"
#include "core/kernels/copy/copy.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// In a row of the output, each dimension but the last has one index, counted from the block's
// beginning. The classes for rows get these indices.

// Copies bits from the only tap.
template <typename Bits>
class CopiedRow {
 public:
  CopiedRow(const WeightedSource& source, const Dims&, std::span<const TapTable> tables)
      : from_(source.from.elements<Bits>()), tables_(tables) {
    constexpr int64_t kWidth = sizeof(Bits);
    const std::span<const Tap> taps = tables.back().taps;
    std::vector<std::optional<Origin>> origins;
    for (const Tap& tap : taps) origins.push_back(Origin{0, tap.offset * kWidth});
    program_ = PlanShuffle(origins, kWidth, 0, {0});
    if (program_ && program_->terms.size() > taps.size() / 2) program_.reset();
  }

  void Run(const Dims& place, int64_t stride, Bits* to) {
    const Bits* from = from_;
    for (size_t d = 0; d < place.size(); ++d) from += tables_[d].At(place[d]).front().offset;
    const std::span<const Tap> taps = tables_.back().taps;
    if (!program_ || stride != 1) {
      for (const Tap& tap : taps) {
        *to = from[tap.offset];
        to += stride;
      }
    } else if (from == last_from_) {
      std::copy_n(last_to_, taps.size(), to);
    } else {
      const std::byte* const bytes = reinterpret_cast<const std::byte*>(from);
      shuffle_(*program_, 1, reinterpret_cast<std::byte*>(to), &bytes);
      last_from_ = from;
      last_to_ = to;
    }
  }

 private:
  const Bits* from_;
  std::span<const TapTable> tables_;
  std::optional<ShuffleProgram> program_;  // for a row, unless its taps are too far apart
  ShuffleFunction shuffle_ = ShuffleForIsa();
  const Bits* last_from_ = nullptr;  // the row that is in the cache
  const Bits* last_to_ = nullptr;
};

template <typename T>
constexpr bool kHasKernel = !std::is_integral_v<T> || sizeof(T) == 1;

template <typename T>
class SummedRow {
 public:
  SummedRow(const WeightedSource& source, const Dims& begin, std::span<const TapTable> tables)
      : source_(source), begin_(begin), element_(source), tables_(tables) {
    if constexpr (kHasKernel<T>) {
      if (source.rule == WeightedSource::kRound) kernel_taps_ = KernelTaps::Of(tables);
      for (const TapTable& table : tables) are_plain_.push_back(table.IsPlain() ? 1 : 0);
    }
  }

  void Run(const Dims& place, int64_t stride, T* to) {
    if constexpr (kHasKernel<T>) {
      if (kernel_taps_) {
        MultiplyParts(place);
        if (!outer_.empty()) return RunKernel(place, stride, to);
      }
    }
    const std::vector<Tap> outer = Products(place);
    for (int64_t i = 0; i < count(); ++i) to[i * stride] = At(place, outer, i);
  }

 private:
  int64_t count() const { return tables_.back().size(); }

  // Returns the products of the taps of all dimensions but the last.
  std::vector<Tap> Products(const Dims& place) const {
    std::vector<Tap> all = {{0, 1, {1, 0}, true}};
    for (size_t d = 0; d < place.size(); ++d) {
      std::vector<Tap> products;
      for (const Tap& one : all) {
        for (const Tap& other : tables_[d].At(place[d])) products.push_back(Both(one, other));
      }
      all = std::move(products);
    }
    return all;
  }

  // Computes them in the form that the kernel takes.
  void MultiplyParts(const Dims& place) {
    outer_.assign(1, {0, 1});
    whole_ = 1;
    for (size_t d = 0; d < place.size(); ++d) {
      if (are_plain_[d] != 0) {
        const int64_t offset = tables_[d].At(place[d]).front().offset;
        for (WeightedTap& tap : outer_) tap.offset += offset;
        continue;
      }
      whole_ *= tables_[d].wholes[static_cast<size_t>(place[d])];
      products_.clear();
      for (const WeightedTap& one : outer_) {
        for (const Tap& other : tables_[d].At(place[d])) {
          products_.push_back({one.offset + other.offset, one.part * other.part});
        }
      }
      std::swap(outer_, products_);
    }
  }

  T At(const Dims& place, std::span<const Tap> outer, int64_t column) const {
    return element_.Sum(outer, tables_.back().At(column), [&] {
      Dims index = begin_;
      for (size_t d = 0; d < place.size(); ++d) index[d] += place[d];
      index.back() += column;
      return index;
    });
  }

  void RunKernel(const Dims& place, int64_t stride, T* to) {
    unresolved_.resize(static_cast<size_t>(count()));
    T* const results = stride == 1 ? to : Scratch();
    if (!call_) call_ = kernel_taps_->Row(source_.from.elements<T>());
    kernel_taps_->SetOuter(outer_, whole_, *call_);
    const bool has_unresolved = WeightedRowKernelFor<T>()(*call_, results, unresolved_.data());
    if (stride != 1) {
      for (int64_t i = 0; i < count(); ++i) to[i * stride] = results[i];
    }
    if (!has_unresolved) return;
    const std::vector<Tap> outer = Products(place);
    for (int64_t i = 0; i < count(); ++i) {
      if (std::exchange(unresolved_[static_cast<size_t>(i)], 0) != 0) {
        to[i * stride] = At(place, outer, i);
      }
    }
  }

  T* Scratch() {
    results_.resize(static_cast<size_t>(count()));
    return results_.data();
  }

  const WeightedSource& source_;
  const Dims& begin_;  // of the block
  ElementSum<T> element_;
  std::span<const TapTable> tables_;
  std::optional<KernelTaps> kernel_taps_;
  std::vector<uint8_t> are_plain_;      // for each table, see TapTable::IsPlain
  std::optional<WeightedRow<T>> call_;  // made for the first row, as a copy needs its own
  std::vector<WeightedTap> outer_;
  std::vector<WeightedTap> products_;
  double whole_;  // for the outer taps
  std::vector<T> results_;
  std::vector<uint8_t> unresolved_;
};

// A part of the output that is small enough to store the taps of all its indices.
class Block {
 public:
  Block(const WeightedSource& source, const Dims& begin, const TensorView& part)
      : source_(source), begin_(begin), part_(part), rows_(part.layout) {
    for (size_t d = 0; d < begin.size(); ++d) {
      tables_.push_back(TableOf(*source.axes[d], begin[d], begin[d] + part.layout.sizes[d]));
    }
    rows_.sizes.pop_back();
    rows_.strides.pop_back();
  }

  // RowWork computes rows of T.
  template <typename T, typename RowWork>
  void Run() const {
    const RowWork first_work(source_, begin_, tables_);
    ParallelFor(rows_.element_count(), Grain(), part_.element_bytes(),
                [&](int64_t first, int64_t last) {
                  RowWork work = first_work;
                  Dims place = IndexOf(rows_.sizes, first);
                  for (int64_t row = first; row < last; ++row) {
                    work.Run(place, part_.layout.strides.back(),
                             part_.elements<T>() + OffsetOf(rows_, place));
                    Advance(rows_.sizes, place);
                  }
                });
  }

 private:
  // The grain depends on the number of taps of an element.
  int64_t Grain() const {
    double taps = 8;
    for (const TapTable& table : tables_) {
      taps *= static_cast<double>(std::max<int64_t>(table.range.most_taps, 1));
    }
    return static_cast<int64_t>(static_cast<double>(kParallelElements) /
                                (taps * static_cast<double>(tables_.back().size()))) +
           1;
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

// --- elements with so many taps that they are computed while they are added ----------------------

void SumLongElements(const WeightedSource& source, const Dims& begin, const TensorView& part) {
  VisitDataType(
      Join<Floats, Integers64, Integers32, Integers16, Integers8>(), part.type, [&]<typename T>() {
        const ElementSum<T> element(source);
        ParallelFor(part.layout.element_count(), 1, part.element_bytes(),
                    [&](int64_t first, int64_t last) {
                      for (int64_t i = first; i < last; ++i) {
                        const Dims place = IndexOf(part.layout.sizes, i);
                        Dims index = begin;
                        for (size_t d = 0; d < index.size(); ++d) index[d] += place[d];
                        part.elements<T>()[OffsetOf(part.layout, place)] = element.LongSum(index);
                      }
                    });
      });
}

bool HasLongElements(const WeightedSource& source, const Dims& begin) {
  for (size_t d = 0; d < begin.size(); ++d) {
    if (source.axes[d]->Count(begin[d]) > kTapsAtHand) return true;
  }
  return false;
}

// --- blocks --------------------------------------------------------------------------------------

// Returns how many indices of a dimension make a block, judging by the taps of the first, the last
// and the middle one, since those at the edges may have the most.
int64_t BlockLength(const TapAxis& axis, int64_t begin, int64_t size) {
  const int64_t taps = std::max(
      {int64_t{1}, axis.Count(begin), axis.Count(begin + size / 2), axis.Count(begin + size - 1)});
  return std::clamp<int64_t>(kTapsAtHand / taps, 1, size);
}

// Divides an output into blocks.
class Blocks {
 public:
  Blocks(const WeightedSource& source, const Dims& begin, const TensorView& part)
      : source_(source), begin_(begin), part_(part) {
    for (size_t d = 0; d < begin.size(); ++d) {
      const int64_t size = part.layout.sizes[d];
      lengths_.push_back(BlockLength(*source.axes[d], begin[d], size));
      counts_.push_back((size + lengths_[d] - 1) / lengths_[d]);
    }
  }

  // Blocks run in parallel if they are many, or have too few rows to be shared among threads.
  void Run() const {
    const int64_t count = Product(counts_);
    const int64_t rows = Product(lengths_) / lengths_.back();
    const bool are_shared = count >= 2 * ThreadCount() || rows < ThreadCount();
    ParallelFor(count, are_shared ? 1 : count, 0, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) RunBlock(IndexOf(counts_, i));
    });
  }

 private:
  void RunBlock(const Dims& number) const {
    Dims begin = begin_;
    TensorView block = part_;
    for (size_t d = 0; d < number.size(); ++d) {
      const int64_t first = number[d] * lengths_[d];
      begin[d] += first;
      block = block.Slice(d, first, std::min(lengths_[d], part_.layout.sizes[d] - first));
    }
    if (HasLongElements(source_, begin)) return SumLongElements(source_, begin, block);
    SumBlock(source_, begin, block);
  }

  const WeightedSource& source_;
  const Dims& begin_;
  const TensorView& part_;
  Dims lengths_, counts_;
};

}  // namespace

void SumTaps(const WeightedSource& source, const Dims& begin, const TensorView& part) {
  Blocks(source, begin, part).Run();
}

}  // namespace dmlop
